#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Alerts, held to promtool (Prometheus' own), which takes minutes to build the first time.

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PROMTOOL=$("$TOP/tests/tools/tool" promtool)
	export TOP PROMTOOL
}

@test "promtool takes the rules, and each alert fires when it should" {
	cp "$TOP/manifests/prometheus/rules.yaml" "$BATS_TEST_DIRNAME/rules_test.yaml" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	"$PROMTOOL" check rules --lint=all --lint-fatal rules.yaml
	"$PROMTOOL" test rules rules_test.yaml
}

@test "promtool takes the webhook's metrics" {
	build=${BUILD:-$TOP/build}
	case $build in /*) ;; *) build=$TOP/$build ;; esac
	"$build/tests/bench/webhook_server" --listen=127.0.0.1:0 --health-listen=127.0.0.1:19591 \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	server=$!
	for _ in $(seq 100); do
		grep -q ready "$BATS_TEST_TMPDIR/out" && break
		sleep 0.1
	done
	port=$(sed -n 's/^ready //p' "$BATS_TEST_TMPDIR/out")
	"$TOP/tests/bench/review.py" 20480 >"$BATS_TEST_TMPDIR/review"
	for path in mutate validate nowhere; do
		curl -sk -H Content-Type:application/json --data-binary "@$BATS_TEST_TMPDIR/review" \
			"https://127.0.0.1:$port/$path" >/dev/null
	done
	curl -s http://127.0.0.1:19591/metrics >"$BATS_TEST_TMPDIR/metrics"
	kill "$server"
	grep -q 'result="patched"} 1' "$BATS_TEST_TMPDIR/metrics"
	run "$PROMTOOL" check metrics <"$BATS_TEST_TMPDIR/metrics"
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
}
