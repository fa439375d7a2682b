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
