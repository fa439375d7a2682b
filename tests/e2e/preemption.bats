#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Workers that go, with Horovod for real and at the job's minimum, where a wrong list is a deadlock:
# each test goes on where the one before ended.

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
	kubectl uncordon -l kubernetes.io/os=linux >/dev/null 2>&1 || kubectl uncordon "$(node)"
	drop_namespace
}

node() {
	kubectl get nodes -o 'jsonpath={.items[?(@.status.nodeInfo.kubeletVersion!="kwok")].metadata.name}' |
		cut -d' ' -f1
}

hosts_are() {
	[ "$(field configmap/pre-config '{.data.hostfile}' | cut -d. -f1 | paste -sd' ')" = "$1" ]
}

condition() {
	field trainingjob/pre "{.status.conditions[?(@.type==\"$1\")].status}"
}

condition_is() {
	[ "$(condition "$1")" = "$2" ]
}

goes_on() {
	local before
	before=$(last_batch pre)
	until_true "$1" "training goes on beyond $before" batch_beyond pre "$before"
}

@test "two workers train, and two is the minimum" {
	submit pre --min-workers=2 --max-workers=4
	until_true 90 "the job is Running" phase_is pre Running
	until_true 90 "training with 2 workers" size_is pre 2
}

@test "a worker with notice is swapped for its replacement, in one update" {
	k delete pod pre-worker-1 --grace-period=100 --wait=false
	until_true 60 "the lines are swapped" hosts_are "pre-worker-0 pre-worker-2"
	goes_on 60
	until_true 100 "the old pod is gone" gone pre-worker-1
	condition_is BelowMinimum ""
	# The size was never another one: there was no moment with one line.
	sizes_were pre "2"
}

gone() {
	! k get pod "$1" >/dev/null 2>&1
}

@test "a worker without a replacement keeps its line until there is one, and the job says that it waits" {
	kubectl cordon "$(node)"
	k delete pod pre-worker-2 --grace-period=20 --wait=false
	until_true 15 "a replacement is asked for" is pod/pre-worker-3 '{.status.phase}' Pending
	hosts_are "pre-worker-0 pre-worker-2"
	k wait --for=delete pod/pre-worker-2 --timeout=60s
	until_true 15 "the job says so" condition_is BelowMinimum True
	hosts_are "pre-worker-0 pre-worker-2"
	phase_is pre Running
}

@test "when a worker comes back the training goes on" {
	kubectl uncordon "$(node)"
	until_true 90 "the replacement is listed" hosts_are "pre-worker-0 pre-worker-3"
	goes_on 150
	until_true 10 "enough workers" condition_is BelowMinimum False
	phase_is pre Running
	is trainingjob/pre '{.status.restartCount}' 0
}

@test "a worker that is killed without notice is replaced, and the training goes on" {
	k delete pod pre-worker-3 --force --grace-period=0
	until_true 60 "the replacement is listed" hosts_are "pre-worker-0 pre-worker-4"
	goes_on 150
	is trainingjob/pre '{.status.restartCount}' 0
}

@test "a worker whose sshd ends is replaced under a new name" {
	k exec pre-worker-4 -- sh -c 'kill -TERM 1'
	until_true 60 "the replacement is listed" hosts_are "pre-worker-0 pre-worker-5"
	goes_on 150
}

@test "a launcher that is killed is made again, and the workers stay" {
	k delete pod pre-launcher --force --grace-period=0
	until_true 20 "it counts" is trainingjob/pre '{.status.restartCount}' 1
	until_true 90 "the job is Running" phase_is pre Running
	workers_are "pre" "pre-worker-0 pre-worker-5"
	until_true 120 "training with 2 workers" size_is pre 2
}

@test "it ends well" {
	stop_training pre
	until_true 90 "the job Succeeded" phase_is pre Succeeded
}
