#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Commands that change a running job or wait for it.

load common

setup_file() {
	clean_environment
	start_api
}

teardown_file() {
	stop_api
}

setup() {
	fresh_api
}

JOBS=/apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs

# in_background ARGS…: runs the plugin; its output is in $BATS_TEST_TMPDIR.
in_background() {
	"$ETJOB" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	PID=$!
}

# ended STATUS: it ends so.
ended() {
	local got=0
	wait "$PID" || got=$?
	same status "$got" "$1"
}

@test "scale goes through the scale subresource" {
	put "$(job a)"
	etjob 0 scale a --replicas=5
	out_is 'trainingjob.kai.alibabacloud.com/a scaled'
	same requests "$(requests)" "GET $JOBS/a 200
PATCH $JOBS/a/scale?fieldManager=kubectl-etjob 200"
	same replicas "$(control GET /objects | jq '.[0].spec.etReplicaSpecs.worker.replicas')" 5
}

@test "scale makes a scaler where the spec says the number already" {
	put "$(job a '.status.replicas = 5 | .status.targetWorkers += ["a-worker-3", "a-worker-4"]')"
	etjob 0 scale a --replicas=3
	[[ $output =~ ^scalein.kai.alibabacloud.com/a-[0-9]+\ created$ ]]
	[[ $stderr == *'The spec of a says 3 already, scalings made it 5: a ScaleIn takes it back'* ]]
	same count "$(control GET /objects | jq '.[] | select(.kind == "ScaleIn").spec.toDelete.count')" 2
}

@test "scale is refused outside of the bounds and on another present size" {
	put "$(job a)"
	etjob 1 scale a --replicas=10
	[[ $stderr == *'spec.etReplicaSpecs.worker.replicas: '* || $stderr == *'spec.etReplicaSpecs.worker.maxReplicas: '* ]]
	etjob 1 scale a --replicas=4 --current-replicas=2
	err_is 'error: Expected replicas to be 2, was 3'
	etjob 2 scale a
	err_is 'error: --replicas is required'
	etjob 2 scale a --replicas=0
	[[ $stderr == 'error: '*'--replicas'* ]]
	same writes "$(requests | grep -c PATCH || true)" 0
}

@test "scalein --pods takes whole names and their ends" {
	put "$(job a)"
	etjob 0 scalein a --pods=a-worker-2,worker-1 -q
	same pods "$(control GET /objects | jq -c '.[] | select(.kind == "ScaleIn").spec.toDelete')" '{"podNames":["a-worker-2","a-worker-1"]}'
	etjob 1 scalein a --pods=a-worker-7
	[[ $stderr == 'error: spec.toDelete.podNames[0]: '* ]]
}

@test "scaleout --wait follows to the end" {
	put "$(job a)"
	in_background scaleout a --wait
	wait_until 10 grep -q created "$BATS_TEST_TMPDIR/out"
	local scaler
	scaler=$(control GET /objects | jq -c '.[] | select(.kind == "ScaleOut")')
	put "$(jq -c '.status = {phase: "Scaling", conditions: [{type: "Scaling", status: "True", reason: "Waiting", message: "0 of 1 workers ready"}]}' <<<"$scaler")"
	wait_until 10 grep -q '0 of 1 workers ready' "$BATS_TEST_TMPDIR/err"
	put "$(jq -c '.status = {phase: "ScaleSucceeded", conditions: [{type: "ScaleSucceeded", status: "True", reason: "Done"}]}' <<<"$scaler")"
	ended 0
	grep -q 'The job a has been scaled out' "$BATS_TEST_TMPDIR/err"
}

@test "scaleout --wait fails with the reason" {
	put "$(job a)"
	in_background scaleout a --wait -q
	wait_until 10 grep -q created "$BATS_TEST_TMPDIR/out"
	put "$(control GET /objects | jq -c '.[] | select(.kind == "ScaleOut") | .status = {phase: "ScaleFailed", conditions: [{type: "ScaleFailed", status: "True", reason: "TimedOut", message: "rolled back: 0/1 nodes are available"}]}')"
	ended 1
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" 'error: scale-out of job "a" failed: TimedOut: rolled back: 0/1 nodes are available'
}

@test "wait: reached, not to be reached any more, too late" {
	put "$(job a)"
	etjob 0 wait a --for=Running
	out_is 'trainingjob.kai.alibabacloud.com/a condition met'
	etjob 124 wait a --for=Succeeded --timeout=1 -q
	[[ $stderr == 'error: timed out after 1s waiting for the job to succeed'* ]]
	in_background wait a --for=Succeeded -q
	put "$(job a '.status = {phase: "Failed", conditions: [{type: "Failed", status: "True", reason: "DeadlineExceeded", message: "ran longer than 60 s"}]}')"
	ended 1
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" 'error: job "a" failed: DeadlineExceeded: ran longer than 60 s'
	etjob 0 wait a --for=Finished
	etjob 1 wait nope
	err_is 'Error from server (NotFound): trainingjobs.kai.alibabacloud.com "nope" not found'
}

@test "Ctrl-C ends a wait, says what goes on, and leaves 130" {
	put "$(job a)"
	in_background wait a --for=Succeeded
	wait_until 10 grep -q 'workers ready' "$BATS_TEST_TMPDIR/err"
	kill -TERM "$PID"
	ended 130
	same last "$(tail -1 "$BATS_TEST_TMPDIR/err")" 'error: interrupted: the job goes on in the cluster, see kubectl etjob get a'
}

@test "suspend, resume and restart" {
	put "$(job a)"
	etjob 0 suspend a
	out_is 'trainingjob.kai.alibabacloud.com/a suspended'
	same suspend "$(control GET /objects | jq '.[0].spec.suspend')" true
	etjob 0 resume a
	out_is 'trainingjob.kai.alibabacloud.com/a resumed'
	same suspend "$(control GET /objects | jq '.[0].spec.suspend')" false
	in_background restart a -q
	wait_until 10 bash -c "curl -sS $(cat "$API/control")/objects | jq -e '.[0].spec.suspend'"
	put "$(job a '.spec.suspend = true | .status = {phase: "Suspended"}')"
	ended 0
	same stdout "$(cat "$BATS_TEST_TMPDIR/out")" 'trainingjob.kai.alibabacloud.com/a restarted'
	same suspend "$(control GET /objects | jq '.[0].spec.suspend')" false
}

@test "a finished job is not suspended" {
	put "$(job a '.status = {phase: "Succeeded"}')"
	etjob 1 suspend a
	err_is 'error: job "a" has finished (Succeeded): submit it anew'
}

@test "delete by label, all, dry run, and waiting" {
	put "$(job a '.metadata.labels = {x: "1"}')" "$(job b)" "$(job c)"
	etjob 0 delete -l x=1 -q
	out_is 'trainingjob.kai.alibabacloud.com "a" deleted'
	etjob 0 delete b --dry-run
	out_is 'trainingjob.kai.alibabacloud.com "b" deleted (dry run)'
	etjob 0 delete b --dry-run=server
	out_is 'trainingjob.kai.alibabacloud.com "b" deleted (server dry run)'
	etjob 0 delete --all --wait -q
	out_is 'trainingjob.kai.alibabacloud.com "b" deleted
trainingjob.kai.alibabacloud.com "c" deleted'
	same left "$(control GET /objects)" '[]'
	etjob 2 delete
	err_is 'error: delete needs NAME..., or -l LABELS, or --all'
	etjob 2 delete a --all
	err_is 'error: give names, or --all, or -l LABELS'
}

@test "prune takes only what ended long ago, and asks" {
	put "$(job old '.status = {phase: "Succeeded", startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T01:00:00Z"}')" \
		"$(job new "$(printf '.status = {phase: "Failed", startTime: "2026-01-01T00:00:00Z", completionTime: "%s"}' "$(date -u +%FT%TZ)")")" \
		"$(job pending '.status = {phase: "Created"}')" "$(job scaling '.status.phase = "Scaling"')"
	etjob 0 prune --since=7d --dry-run
	out_is 'trainingjob.kai.alibabacloud.com "old" deleted from default namespace (dry run)'
	etjob 1 prune --since=7d </dev/null
	err_is 'default/old
Delete 1 finished job? [y/N]
error: nothing was deleted: answer y, or give --yes'
	etjob 0 prune --since=7d --yes
	out_is 'trainingjob.kai.alibabacloud.com "old" deleted from default namespace'
	same left "$(control GET /objects | jq -c '[.[].metadata.name] | sort')" '["new","pending","scaling"]'
	etjob 0 prune --since=7d
	err_is 'No finished jobs to delete'
	etjob 2 prune
	err_is 'error: --since is required: --since=7d'
}

@test "submit --wait waits for the job to run" {
	in_background submit a --image=i --wait --no-preflight -q run
	wait_until 10 grep -q created "$BATS_TEST_TMPDIR/out"
	put "$(job a '.status = {phase: "Created"}')"
	put "$(job a)"
	ended 0
}

@test "a ConfigMap that can not be made takes the job back" {
	printf x >"$BATS_TEST_TMPDIR/f"
	control POST /rules '[{"method": "POST", "path": ".*/configmaps", "status": 403, "reason": "Forbidden", "message": "configmaps is forbidden"}]'
	etjob 1 submit a --image=i --no-preflight --config-file="$BATS_TEST_TMPDIR/f:/etc/f" -q run
	err_is 'job "a" was taken back
Error from server (Forbidden): configmaps is forbidden'
	same left "$(control GET /objects)" '[]'
}

@test "children belong to the job" {
	printf x >"$BATS_TEST_TMPDIR/f"
	etjob 0 submit a --image=i --no-preflight --config-file="$BATS_TEST_TMPDIR/f:/etc/f" -q run
	out_is 'trainingjob.kai.alibabacloud.com/a created
configmap/a-files created'
	same owner "$(control GET /objects | jq -c '(map(select(.kind == "TrainingJob"))[0].metadata.uid) as $u | .[] | select(.kind == "ConfigMap").metadata.ownerReferences | map(.uid == $u)')" '[true]'
}
