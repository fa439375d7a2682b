#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The documented walk, word for word.

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

COMMAND='horovodrun -np $((${workers}*${gpus})) --min-np $((${minWorkers}*${gpus})) --max-np $((${maxWorkers}*${gpus})) --host-discovery-script /etc/edl/discover_hosts.sh python /examples/x.py'

submit() {
	etjob 0 submit etjob --name=elastic-training --gpus=1 --workers=3 --max-workers=9 --min-workers=1 \
		--image=IMG --no-preflight "$COMMAND" "$@"
}

@test "submit says what arena says" {
	submit
	out_is 'trainingjob.kai.alibabacloud.com/elastic-training created'
	[[ ${stderr_lines[0]} =~ ^time=\"20[0-9-]+T[0-9:]+Z\"\ level=info\ msg=\"The\ Job\ elastic-training\ has\ been\ submitted\ successfully\"$ ]]
	[[ ${stderr_lines[1]} == *'msg="You can run `kubectl etjob get elastic-training` to check the job status"' ]]
	same requests "$(requests)" 'POST /apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs?fieldManager=kubectl-etjob&fieldValidation=Strict 201'
}

@test "the command reaches the launcher as it was typed" {
	submit -q
	err_is ''
	same command "$(control GET /objects | jq -r '.[0].spec.etReplicaSpecs.launcher.template.spec.containers[0].command[2]')" "$COMMAND"
}

@test "submit looks for quota and GPUs in one round trip, and warns" {
	put '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"default"},"status":{"hard":{"requests.nvidia.com/gpu":"4"},"used":{"requests.nvidia.com/gpu":"2"}}}' \
		'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"nvidia.com/gpu":"1"}}}'
	etjob 0 submit a --image=i --gpus=2 --workers=3 -q 'python x.py'
	out_is 'trainingjob.kai.alibabacloud.com/a created'
	err_is 'Warning: quota "q" leaves 2 of requests.nvidia.com/gpu, the job needs 6: some pods will not be made
Warning: no node has 2 GPUs (the largest has 1): the workers will stay Pending'
	same requests "$(requests | sort)" 'GET /api/v1/namespaces/default/resourcequotas 200
GET /api/v1/nodes?limit=200 200
POST /apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs?fieldManager=kubectl-etjob&fieldValidation=Strict 201'
}

@test "who may read neither quota nor nodes can submit" {
	control POST /rules '[{"path": "/api/v1/.*", "times": -1, "status": 403, "reason": "Forbidden", "message": "no"}]'
	etjob 0 submit a --image=i --gpus=2 -q 'python x.py'
	out_is 'trainingjob.kai.alibabacloud.com/a created'
	err_is ''
}

@test "a second submit is refused in kubectl's words" {
	submit
	etjob 1 submit elastic-training --image=i --no-preflight x
	out_is ''
	err_is 'Error from server (AlreadyExists): trainingjobs.kai.alibabacloud.com "elastic-training" already exists'
}

@test "get shows arena's layout and what arena does not show" {
	put "$(job elastic-training)" "$(pod elastic-training launcher 0)" "$(pod elastic-training worker 0)" \
		"$(pod elastic-training worker 1 '.status = {phase: "Pending", conditions: [{type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]} | del(.spec.nodeName)')" \
		"$(pod elastic-training worker 10)"
	etjob 0 get elastic-training
	err_is ''
	[[ $output =~ Duration:\ +[0-9]+d ]]
	same screen "$(sed -E 's/(Duration: +).*/\1D/; s/ [0-9]+d[0-9h]*  ( *)(true|false)/ AGE  \1\2/' <<<"$output")" \
'Name:        elastic-training
Status:      RUNNING
Namespace:   default
Priority:    N/A
Trainer:     ETJOB
Duration:    D
Workers:     2 ready, 3 wanted, 1 to 9
Restarts:    0 of 6
Reason:      elastic-training-worker-1: Unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.

Instances:
  NAME                        STATUS   AGE   IS_CHIEF  GPU(Requested)  NODE
  ----                        ------   ---   --------  --------------  ----
  elastic-training-launcher   Running  AGE  true      0               node-1
  elastic-training-worker-0   Running  AGE  false     1               node-1
  elastic-training-worker-1   Pending  AGE  false     1               N/A
  elastic-training-worker-10  Running  AGE  false     1               node-1'
	same requests "$(requests | sort)" 'GET /api/v1/namespaces/default/pods?labelSelector=training-job-name=elastic-training 200
GET /apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs/elastic-training 200'
}

@test "logs prints the launcher's last lines" {
	put "$(job elastic-training)" "$(pod elastic-training launcher 0)"
	control POST /logs '{"namespace": "default", "pod": "elastic-training-launcher", "container": "et", "lines": ["one", "two", "three"], "end": true}'
	etjob 0 logs elastic-training --tail 2
	out_is 'two
three'
	err_is ''
}

@test "logs of a job that waits says for what" {
	put "$(job a '.status = {phase: "Created"}')" \
		"$(pod a worker 0 '.status = {phase: "Pending", conditions: [{type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes"}]}')"
	etjob 1 logs a
	err_is 'error: the launcher of job "a" has not started: the job is PENDING, a-worker-0: Unschedulable: 0/1 nodes'
}

@test "scaleout and scalein, in arena's three forms" {
	put "$(job elastic-training)"
	etjob 0 scaleout --name=elastic-training --count=1 --timeout=10m
	[[ $output =~ ^scaleout.kai.alibabacloud.com/elastic-training-[0-9]+\ created$ ]]
	[[ $stderr == *'msg="The scaleout job elastic-training-'*' has been submitted successfully"' ]]
	etjob 0 scaleout etjob --name=elastic-training
	etjob 0 scalein elastic-training --count=2 -q
	[[ $output =~ ^scalein.kai.alibabacloud.com/elastic-training-[0-9]+\ created$ ]]
	err_is ''
	same specs "$(control GET /objects | jq -c 'map(select(.kind != "TrainingJob")) | sort_by(.metadata.name, .kind) | .[] | [.kind, .spec]' | sort)" \
'["ScaleIn",{"selector":{"name":"elastic-training"},"timeout":600,"toDelete":{"count":2}}]
["ScaleOut",{"selector":{"name":"elastic-training"},"timeout":600,"toAdd":{"count":1}}]
["ScaleOut",{"selector":{"name":"elastic-training"},"timeout":600,"toAdd":{"count":1}}]'
}

@test "a scale beyond the bounds is refused before it is sent, in the webhook's words" {
	put "$(job a)"
	etjob 1 scaleout a --count=7
	err_is 'error: spec.toAdd.count: 7 more would make 10 workers, more than maxReplicas (9; now 3): add at most 6'
	etjob 1 scalein a --count=3
	[[ $stderr == 'error: spec.toDelete.count: '*'minReplicas'* ]]
	same requests "$(requests | grep -c POST || true)" 0
}

@test "a job that is not there" {
	for verb in 'get nope' 'logs nope' 'scaleout nope' 'scalein nope' 'delete nope' 'describe nope' 'history nope' 'suspend nope' 'scale nope --replicas=2'; do
		# shellcheck disable=SC2086 # two words
		etjob 1 $verb
		out_is ''
		err_is 'Error from server (NotFound): trainingjobs.kai.alibabacloud.com "nope" not found'
	done
}

@test "delete tries every name and then fails" {
	put "$(job a)" "$(job c)"
	etjob 1 delete a b c -q
	out_is 'trainingjob.kai.alibabacloud.com "a" deleted
trainingjob.kai.alibabacloud.com "c" deleted'
	err_is 'Error from server (NotFound): trainingjobs.kai.alibabacloud.com "b" not found'
	etjob 0 delete b --ignore-not-found
	out_is ''
	err_is ''
}
