#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The webhook's Deployment is replaced while applies go on: none may fail.

load helper

setup_file() {
	new_namespace
	kubectl proxy --port=19595 >"$BATS_FILE_TMPDIR/proxy.log" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/proxy.pid"
	until_true 10 "the proxy answers" curl -sf http://127.0.0.1:19595/version
	cat >"$BATS_FILE_TMPDIR/job.json" <<-J
	{"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "TrainingJob",
	 "metadata": {"generateName": "load-"}, "spec": {"etReplicaSpecs": {
	  "launcher": {"template": {"spec": {"containers": [{"name": "l", "image": "i"}]}}},
	  "worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "w", "image": "i"}]}}}}}}
	J
}

teardown_file() {
	kill "$(cat "$BATS_FILE_TMPDIR/proxy.pid")"
	drop_namespace
}

# A steady 40 dry-run creates a second for $1 seconds, in the background; prints its pid.
creates() {
	local build=${BUILD:-build}
	case $build in /*) ;; *) build=$BATS_TEST_DIRNAME/../../$build ;; esac
	"$build/tests/bench/load" --plain --connect=127.0.0.1:19595 --connections=4 --rate=40 \
		--seconds="$1" --status=201 --expect=minWorkers --body="$BATS_FILE_TMPDIR/job.json" \
		--path="/apis/kai.alibabacloud.com/v1alpha1/namespaces/$NS/trainingjobs?dryRun=All" \
		>"$BATS_TEST_TMPDIR/load.out" 2>&1 3>&- &
	echo $!
}

@test "a rolling update fails no call" {
	load=$(creates 45)
	kubectl -n etjob-system rollout restart deployment etjob-webhook
	kubectl -n etjob-system rollout status deployment etjob-webhook --timeout=40s
	while kill -0 "$load" 2>/dev/null; do sleep 0.2; done
	cat "$BATS_TEST_TMPDIR/load.out"
	grep -q "requests=1800 failed=0 " "$BATS_TEST_TMPDIR/load.out"
}

@test "a replica that is deleted fails no call" {
	load=$(creates 20)
	pod=$(kubectl -n etjob-system get pods -l app.kubernetes.io/name=etjob-webhook -o name | head -n 1)
	kubectl -n etjob-system delete "$pod" --wait=false
	kubectl -n etjob-system rollout status deployment etjob-webhook --timeout=40s
	while kill -0 "$load" 2>/dev/null; do sleep 0.2; done
	cat "$BATS_TEST_TMPDIR/load.out"
	grep -q "requests=800 failed=0 " "$BATS_TEST_TMPDIR/load.out"
}

ready_replicas() {
	[ "$(kubectl -n etjob-system get deployment etjob-webhook -o jsonpath='{.status.readyReplicas}')" = 2 ]
}

@test "a replica that is killed without notice is replaced, and calls go on" {
	pod=$(kubectl -n etjob-system get pods -l app.kubernetes.io/name=etjob-webhook -o name | head -n 1)
	kubectl -n etjob-system delete "$pod" --force --grace-period=0
	until_true 40 "both are ready again" ready_replicas
	load=$(creates 5)
	while kill -0 "$load" 2>/dev/null; do sleep 0.2; done
	cat "$BATS_TEST_TMPDIR/load.out"
	grep -q "failed=0 " "$BATS_TEST_TMPDIR/load.out"
}
