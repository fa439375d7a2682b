#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# One job through its life, with Horovod for real: each test goes on where the one before ended.

load helper

setup_file() {
	new_namespace
}

setup() {
	story_step
}

teardown() {
	story_step_ended
}

teardown_file() {
	drop_namespace
}

@test "submit creates the job, and it trains with two workers" {
	run --separate-stderr submit walk
	[ "$status" -eq 0 ]
	[ "$output" = "trainingjob.kai.alibabacloud.com/walk created" ]
	until_true 60 "the job is Running" phase_is walk Running
	[ "$(workers_of walk)" = "walk-worker-0 walk-worker-1" ]
	until_true 60 "training with 2 workers" size_is walk 2
}

@test "the launcher has the four variables and the host list" {
	run k exec walk-launcher -c et -- sh -c 'echo $workers $gpus $minWorkers $maxWorkers; /etc/edl/discover_hosts.sh | sort'
	[ "$status" -eq 0 ]
	[ "$output" = "2 1 1 3
walk-worker-0.walk-workers:1
walk-worker-1.walk-workers:1" ]
}

@test "get and list show it" {
	run etjob get walk
	[ "$status" -eq 0 ]
	[[ "$output" =~ Status:\ +RUNNING ]]
	[[ "$output" == *walk-launcher* && "$output" == *walk-worker-0* && "$output" == *walk-worker-1* ]]
	run etjob list
	[ "$status" -eq 0 ]
	[[ "${lines[1]}" =~ ^walk\ +RUNNING\ +ETJOB ]]
}

@test "logs has the training's own lines" {
	run etjob logs walk --tail=3
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	[[ "$output" == *event=batch* ]]
}

@test "scaleout adds a worker, and the training goes on with three" {
	before=$(ranks walk walk-worker-0 walk-worker-1)
	run --separate-stderr etjob scaleout walk --count=1 --timeout=2m --wait
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" =~ ^scaleout\.kai\.alibabacloud\.com/walk-[0-9]+\ created$ ]]
	[ "$(workers_of walk)" = "walk-worker-0 walk-worker-1 walk-worker-2" ]
	until_true 60 "training with 3 workers" size_is walk 3
	phase_is walk Running
	[ "$(ranks walk walk-worker-0 walk-worker-1)" = "$before" ]
	[ "$(rank_of walk walk-worker-2)" = 2 ]
}

@test "scalein takes it away again, and the training goes on with two" {
	before=$(ranks walk walk-worker-0 walk-worker-1)
	run --separate-stderr etjob scalein walk --count=1 --timeout=2m --wait
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" =~ ^scalein\.kai\.alibabacloud\.com/walk-[0-9]+\ created$ ]]
	[ "$(workers_of walk)" = "walk-worker-0 walk-worker-1" ]
	until_true 60 "training with 2 workers" size_is walk 2
	[ "$(ranks walk walk-worker-0 walk-worker-1)" = "$before" ]
}

@test "so far the sizes were 2, 3, 2 and the batch counter never went back" {
	sizes_were walk "2 3 2"
	batches_only_grow walk
	[ "$(field trainingjob/walk '{.status.restartCount}')" = "" ] ||
		[ "$(field trainingjob/walk '{.status.restartCount}')" = 0 ]
}

@test "a ScaleOut that cannot be placed is rolled back with the scheduler's reason" {
	kubectl patch node node1 --subresource=status --type=json -p '[
		{"op": "replace", "path": "/status/capacity/nvidia.com~1gpu", "value": "2"},
		{"op": "replace", "path": "/status/allocatable/nvidia.com~1gpu", "value": "2"}]'
	run --separate-stderr etjob scaleout walk --count=1 --timeout=20s --wait
	kubectl patch node node1 --subresource=status --type=json -p '[
		{"op": "replace", "path": "/status/capacity/nvidia.com~1gpu", "value": "8"},
		{"op": "replace", "path": "/status/allocatable/nvidia.com~1gpu", "value": "8"}]'
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"Insufficient nvidia.com/gpu"* ]]
	until_true 30 "the job is Running" phase_is walk Running
	until_true 30 "the pods of the ScaleOut are gone" workers_are walk "walk-worker-0 walk-worker-1"
	name=${lines[0]% created}
	name=scaleout/${name#*/}
	is "$name" '{.status.phase}' ScaleFailed
	[[ "$(field "$name" '{.status.conditions[?(@.type=="ScaleFailed")].message}')" == \
		*"Insufficient nvidia.com/gpu"* ]]
	before=$(last_batch walk)
	until_true 30 "training goes on" batch_beyond walk "$before"
	size_is walk 2
}

@test "a worker that is killed is replaced under a new name, and training goes on" {
	lost=$(workers_of walk)
	lost=${lost##* }
	k delete pod "$lost" --force --grace-period=0
	until_true 30 "the worker is replaced" replaced walk "$lost"
	new=$(workers_of walk)
	until_true 150 "${new##* } trains" joined walk "${new##* }" "$(last_batch walk)"
	# The latest batch in the log may still be one of the survivor alone.
	until_true 30 "training with 2 workers" size_is walk 2
	batches_only_grow walk
	phase_is walk Running
}

@test "no worker name was ever used twice" {
	scheduled=$(k get events --field-selector reason=Scheduled \
		-o jsonpath='{range .items[*]}{.involvedObject.name}{"\n"}{end}' | grep worker)
	[ "$(wc -l <<<"$scheduled")" -ge 4 ]
	[ "$(sort <<<"$scheduled" | uniq -d)" = "" ]
}

@test "the training ends, the job Succeeded and its workers go" {
	stop_training walk
	until_true 60 "the job Succeeded" phase_is walk Succeeded
	until_true 60 "the workers are gone" workers_are walk ""
	training_log walk | grep -q 'event=done rank=0'
	batches_only_grow walk
	run etjob get walk
	[ "$status" -eq 0 ]
	[[ "$output" =~ Status:\ +SUCCEEDED ]]
}

@test "delete leaves nothing" {
	run --separate-stderr etjob delete walk
	[ "$status" -eq 0 ]
	until_true 60 "everything of the job is gone" nothing_left
}

nothing_left() {
	! k get trainingjobs,scaleouts,scaleins,pods,services,secrets,configmaps -o name |
		grep -q walk
}
