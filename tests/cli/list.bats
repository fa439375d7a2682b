#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# get and list: rows, formats, selectors, watching.

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

ages() {
	sed -E 's/[0-9]+d[0-9]*h?/AGE/g; s/ +/ /g; s/ $//'
}

@test "list tells what is wrong with each job" {
	put "$(job a)" "$(pod a launcher 0)" "$(pod a worker 0)" \
		"$(pod a worker 1 '.status = {phase: "Pending", containerStatuses: [{name: "et", state: {waiting: {reason: "ImagePullBackOff", message: "Back-off pulling image \"i\""}}}]}')" \
		"$(pod a worker 2 '.status.containerStatuses[0].state = {terminated: {reason: "OOMKilled", exitCode: 137}} | .status.phase = "Failed" | .status.conditions = []')" \
		"$(job b '.status = {phase: "Failed", conditions: [{type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "the launcher exited with 1"}]}')" \
		"$(job c '.status = {phase: "Succeeded", startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T01:30:00Z"}')" \
		"$(job d '.status = {phase: "Suspended"} | .spec.suspend = true')"
	etjob 0 list
	err_is ''
	same table "$(ages <<<"$output")" \
'NAME STATUS TRAINER DURATION GPU(Requested) GPU(Allocated) NODE WORKERS REASON
a RUNNING ETJOB AGE 3 1 node-1 1/3 2 pods: a-worker-1: ImagePullBackOff: Back-off pulling image "i"
b FAILED ETJOB AGE 0 0 N/A 0/3 BackoffLimitExceeded: the launcher exited with 1
c SUCCEEDED ETJOB 90m 0 0 N/A 0/3
d SUSPENDED ETJOB AGE 3 0 N/A 0/3'
	same requests "$(requests)" 'GET /api/v1/namespaces/default/pods?labelSelector=group-name=kai.alibabacloud.com&limit=500 200
GET /apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs?limit=500 200'
}

@test "list -A -o wide" {
	put "$(job a)" "$(job z '.metadata.namespace = "other" | del(.spec.etReplicaSpecs.worker.maxReplicas)')"
	etjob 0 list -A -o wide
	same table "$(ages <<<"$output")" \
'NAMESPACE NAME STATUS TRAINER DURATION GPU(Requested) GPU(Allocated) NODE WORKERS MIN MAX RESTARTS AGE REASON
default a PENDING ETJOB AGE 3 0 N/A 0/3 1 9 0 AGE
other z PENDING ETJOB AGE 3 0 N/A 0/3 1 - 0 AGE'
}

@test "list without jobs, and get without a name" {
	etjob 0 list
	out_is ''
	err_is 'No resources found in default namespace.'
	etjob 0 list -A
	err_is 'No resources found'
	put "$(job a)"
	etjob 0 get -o name
	out_is 'trainingjob.kai.alibabacloud.com/a'
}

@test "formats of get and list" {
	put "$(job b)" "$(job a '.metadata.managedFields = [{}]')"
	etjob 0 get a -o json
	same kind "$(jq -c '[.kind, .metadata.name, .metadata.managedFields]' <<<"$output")" '["TrainingJob","a",null]'
	etjob 0 get a -o yaml
	[[ $output == $'apiVersion: kai.alibabacloud.com/v1alpha1\nkind: TrainingJob\nmetadata:\n'* ]]
	etjob 0 list -o name
	out_is 'trainingjob.kai.alibabacloud.com/a
trainingjob.kai.alibabacloud.com/b'
	etjob 0 list -o json
	same list "$(jq -c '[.kind, (.items[].metadata.name)]' <<<"$output")" '["List","a","b"]'
	etjob 2 get a -o table
	err_is 'error: unable to match a printer suitable for the output format "table": use json, yaml, name, wide or jsonpath=TEMPLATE'
}

@test "jsonpath as kubectl has it" {
	put "$(job a)"
	local -A cases=(
		['{.status.phase}']='Running'
		['{.spec.etReplicaSpecs.worker.replicas}/{.spec.etReplicaSpecs.worker.maxReplicas}{"\n"}']='3/9'
		['{range .status.targetWorkers[*]}{@}{","}{end}']='a-worker-0,a-worker-1,a-worker-2,'
		['{.status.targetWorkers[-1]}']='a-worker-2'
		['{.status.targetWorkers[0:2]}']='a-worker-0 a-worker-1'
		["{.metadata['name']}"]='a'
		['{..image}']='i i'
		['{.spec.etReplicaSpecs.*.replicas}']='1 3'
		['{.spec.etReplicaSpecs.worker.template.spec.containers[?(@.name=="et")].image}']='i'
		['{.spec.etReplicaSpecs.worker.template.spec.containers[?(@.name!="et")].image}']=''
		['{.nothing.here}']=''
		['{.spec.etReplicaSpecs.worker.template.spec.containers[0].resources.limits}']='{"nvidia.com/gpu":"1"}'
		['{.spec.etReplicaSpecs.worker.template.spec.containers[0].resources.limits.nvidia\.com/gpu}']='1'
	)
	local path
	for path in "${!cases[@]}"; do
		etjob 0 get a -o "jsonpath=$path"
		same "$path" "$output" "${cases[$path]}"
	done
	etjob 2 get a -o 'jsonpath={.a'
	err_is 'error: jsonpath: unclosed action at "{.a"'
	etjob 2 get a -o 'jsonpath={range .x[*]}'
	err_is 'error: jsonpath: {range} without {end}'
}

@test "selectors and order go where they belong" {
	put "$(job a '.metadata.labels = {team: "x"} | .spec.etReplicaSpecs.worker.replicas = 10')" "$(job b '.metadata.labels = {team: "y"}')"
	etjob 0 list -l team=y -o name
	out_is 'trainingjob.kai.alibabacloud.com/b'
	etjob 0 list --field-selector metadata.name=a -o name
	out_is 'trainingjob.kai.alibabacloud.com/a'
	etjob 0 list --sort-by=.spec.etReplicaSpecs.worker.replicas --no-headers
	same order "$(awk '{print $1}' <<<"$output")" 'b
a'
	etjob 2 list --sort-by='.a['
	[[ $stderr == 'error: jsonpath: '* ]]
}

@test "-A with a name is wrong use" {
	etjob 2 get a -A
	err_is 'error: a resource cannot be retrieved by name across all namespaces: leave -A out'
}

@test "pods that may not be read cost only the pods" {
	put "$(job a)"
	control POST /rules '[{"path": "/api/v1/.*", "times": -1, "status": 403, "reason": "Forbidden", "message": "pods is forbidden"}]'
	etjob 0 list
	[[ $stderr == 'Warning: the pods are not shown: Error from server (Forbidden): pods is forbidden' ]]
	[[ ${lines[1]} == a* ]]
	etjob 0 get a
	[[ $stderr == 'Warning: the pods are not shown: Error from server (Forbidden): pods is forbidden' ]]
}

@test "control characters of the cluster do not reach the terminal" {
	put "$(job a '.status = {phase: "Failed", conditions: [{type: "Failed", status: "True", reason: "X", message: "\u001b[31mred"}]}')"
	etjob 0 list
	[[ $output == *'\x1b[31mred'* ]]
	[[ $output != *$'\e'* ]]
}

@test "list reads page by page" {
	local i objects=''
	for i in $(seq 1001); do
		objects+="${objects:+,}$(printf '{"apiVersion":"kai.alibabacloud.com/v1alpha1","kind":"TrainingJob","metadata":{"name":"j%04d","namespace":"default"},"spec":{}}' "$i")"
	done
	printf '{"items":[%s]}' "$objects" >"$BATS_TEST_TMPDIR/objects"
	curl -sS -f -H 'Content-Type: application/json' --data-binary "@$BATS_TEST_TMPDIR/objects" "$(cat "$API/control")/objects" >/dev/null
	etjob 0 list -o name
	same count "${#lines[@]}" 1001
	same pages "$(requests | grep -c trainingjobs)" 3
}

@test "get -w ends when the job does, and prints what changed" {
	put "$(job a)" "$(pod a launcher 0)"
	"$ETJOB" get a -w >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	local pid=$!
	wait_until 10 grep -q RUNNING "$BATS_TEST_TMPDIR/out"
	put "$(job a '.status.phase = "Scaling"')"
	wait_until 10 grep -q SCALING "$BATS_TEST_TMPDIR/out"
	put "$(job a '.status.phase = "Succeeded"')"
	wait "$pid"
	same rows "$(awk '{print $1, $2}' "$BATS_TEST_TMPDIR/out")" 'NAME STATUS
a RUNNING
a SCALING
a SUCCEEDED'
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" ''
}

@test "get -w of a job that is not there" {
	etjob 1 get nope -w
	err_is 'Error from server (NotFound): trainingjobs.kai.alibabacloud.com "nope" not found'
}

@test "get lists the troubles when there are several" {
	put "$(job a)" "$(pod a launcher 0)" \
		"$(pod a worker 0 '.status = {phase: "Pending", containerStatuses: [{name: "et", state: {waiting: {reason: "ErrImagePull", message: "no such image"}}}]}')" \
		"$(pod a worker 1 '.status = {phase: "Failed", reason: "Evicted", message: "The node was low on memory"}')" \
		"$(pod a worker 2 '.status.containerStatuses[0] = {name: "et", restartCount: 3, state: {waiting: {reason: "CrashLoopBackOff", message: "back-off"}}, lastState: {terminated: {exitCode: 137, reason: "OOMKilled"}}}')"
	etjob 0 get a
	[[ $output == *$'\nReason:      3 pods: ErrImagePull: no such image\n'* ]]
	same troubles "$(sed -n '/^Troubles:/,$p' <<<"$output")" 'Troubles:
  a-worker-0: ErrImagePull: no such image
  a-worker-1: Evicted: The node was low on memory
  a-worker-2: CrashLoopBackOff: back-off (last exit code 137, OOMKilled)'
	same status "$(awk '/worker-2/ {print $2; exit}' <<<"$output")" CrashLoopBackOff
}

@test "get tells why the last scaling was rolled back" {
	put "$(job a '.status.scaleHistory = [{time: "2026-01-01T00:10:00Z", from: 3, to: 3, cause: "ScaleOut a-1", result: "Failed"}]')" \
		'{"apiVersion":"kai.alibabacloud.com/v1alpha1","kind":"ScaleOut","metadata":{"name":"a-1","namespace":"default"},"spec":{"selector":{"name":"a"},"toAdd":{"count":2}},"status":{"phase":"ScaleFailed","conditions":[{"type":"ScaleFailed","status":"True","reason":"TimedOut","message":"rolled back: 0/1 nodes are available"}]}}'
	etjob 0 get a
	same end "$(tail -3 <<<"$output")" 'Scaling:
  2026-01-01T00:10:00Z  3 -> 3  ScaleOut a-1  Failed
  last failure: TimedOut: rolled back: 0/1 nodes are available'
	same requests "$(requests | wc -l)" 3
}

@test "quota and a job below its minimum are seen without looking at pods" {
	put "$(job a '.status.conditions = [{type: "WorkersReady", status: "False", reason: "CreateFailed", message: "2 of 3 ready; a worker could not be made: exceeded quota: q"}]')" \
		"$(job b '.status.conditions = [{type: "BelowMinimum", status: "True", reason: "BelowMinimum", message: "0 of at least 1"}]')" \
		"$(job c '.status.conditions = [{type: "WorkersReady", status: "False", reason: "WorkersStarting", message: "0 of 3 ready"}]')"
	etjob 0 list
	[[ ${lines[1]} == *'CreateFailed: 2 of 3 ready; a worker could not be made: exceeded quota: q' ]]
	[[ ${lines[2]} == *'BelowMinimum: 0 of at least 1' ]]
	[[ ${lines[3]} != *ready* ]]
}

@test "a list is read whatever the order of its members, and refused when it is broken" {
	local list='{ "items" : [ {"metadata":{"name":"a","annotations":{"x":"]},{\"[\\\\"}}} , {"metadata":{"name":"b"}} ] ,"kind":"TrainingJobList","metadata":{"resourceVersion":"1"}}'
	control POST /rules "$(jq -nc --arg body "$list" '[{path: ".*/trainingjobs", body: $body, content_type: "application/json"}]')" >/dev/null
	etjob 0 list -o name
	out_is 'trainingjob.kai.alibabacloud.com/a
trainingjob.kai.alibabacloud.com/b'
	local body
	for body in '{"metadata":{},"items":[{}' '{"metadata":{},"items":[{},]}' '{"metadata":{},"items":[{} {}]}' '{"metadata":{},"items":[1]}' '{"metadata":{},"items":[{"a":}]}' '{"items":[]}' '[]' '{"metadata":{}' '"items"' '{'; do
		control POST /rules "$(jq -nc --arg body "$body" '[{path: ".*/trainingjobs", body: $body, content_type: "application/json"}]')" >/dev/null
		etjob 1 list
		out_is ''
		[ -n "$stderr" ]
	done
	control POST /rules '[{"path": ".*/trainingjobs", "body": "{\"metadata\":{},\"items\":null}", "content_type": "application/json"}]' >/dev/null
	etjob 0 list -o name
	out_is ''
}
