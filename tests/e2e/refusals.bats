#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What cannot work is refused by the webhook on `kubectl apply`, and by the plugin, in the same
# words.

load helper

setup_file() {
	new_namespace
	kubectl delete namespace "$NS-other" --ignore-not-found --wait --timeout=60s
	kubectl create namespace "$NS-other"
	job taken | k create -f -
}

teardown_file() {
	kubectl delete namespace "$NS-other" --wait=false
	drop_namespace
}

# job NAME [WORKERS MIN MAX]: on a node that does not exist, so that no pod ever starts.
job() {
	cat <<-J
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: $1}
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec:
	          nodeSelector: {none: such}
	          containers: [{name: l, image: localhost/busybox:1, command: [sh, -c, sleep 1000]}]
	    worker:
	      replicas: ${2:-2}
	      minReplicas: ${3:-1}
	      maxReplicas: ${4:-3}
	      template:
	        spec:
	          nodeSelector: {none: such}
	          containers: [{name: w, image: localhost/busybox:1, command: [sh, -c, sleep 1000]}]
	J
}

scaleout() {
	cat <<-S
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleOut
	metadata: {name: $1}
	spec: {selector: {name: taken}, toAdd: {count: $2}}
	S
}

scalein() {
	cat <<-S
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleIn
	metadata: {name: $1}
	spec: {selector: {name: taken}, toDelete: {count: $2}}
	S
}

# refused WORDS: the last `run` failed, and said WORDS on stderr.
refused() {
	[ "$status" -ne 0 ] || {
		echo "was not refused"
		return 1
	}
	[[ "$stderr" == *"$1"* ]] || {
		echo "wanted: $1"
		echo "stderr: $stderr"
		return 1
	}
}

submit_with() {
	etjob submit etjob --name="$1" --workers="$2" --min-workers="$3" --max-workers="$4" \
		--image="$IMAGE" "true"
}

@test "minWorkers above workers" {
	words="spec.etReplicaSpecs.worker.minReplicas: 4 is more than replicas (3): lower it or start with more workers"
	run --separate-stderr k apply -f <(job small 3 4 9)
	refused "$words"
	run --separate-stderr submit_with small 3 4 9
	refused "$words"
}

@test "workers above maxWorkers" {
	words="spec.etReplicaSpecs.worker.maxReplicas: 3 is less than replicas (5): raise it or start with fewer workers"
	run --separate-stderr k apply -f <(job big 5 1 3)
	refused "$words"
	run --separate-stderr submit_with big 5 1 3
	refused "$words"
}

@test "all faults of an object are told at once" {
	words="spec.etReplicaSpecs.worker.minReplicas: 6 is more than replicas (5): lower it or start with more workers"
	more="spec.etReplicaSpecs.worker.maxReplicas: 3 is less than replicas (5): raise it or start with fewer workers"
	run --separate-stderr k apply -f <(job two 5 6 3)
	refused "$words"
	refused "$more"
	run --separate-stderr submit_with two 5 6 3
	refused "$words"
	refused "$more"
}

@test "a name that is taken in another namespace" {
	run --separate-stderr kubectl -n "$NS-other" apply -f <(job taken)
	[ "$status" -ne 0 ]
	[[ "$stderr" == *"$NS"* && "$stderr" == *taken* ]]
	words=$(grep -o 'metadata\.name: .*' <<<"$stderr")
	[ -n "$words" ]
	run --separate-stderr kubectl etjob -n "$NS-other" submit etjob --name=taken --workers=2 \
		--image="$IMAGE" "true"
	refused "$words"
	run kubectl -n "$NS-other" get trainingjobs -o name
	[ "$output" = "" ]
}

@test "a scale-out beyond maxWorkers" {
	run --separate-stderr k create -f <(scaleout beyond 2)
	[ "$status" -ne 0 ]
	words=$(grep -o 'spec\.toAdd\.count: .*' <<<"$stderr")
	[[ "$words" == *3* ]]
	run --separate-stderr etjob scaleout taken --count=2
	refused "$words"
}

@test "a scale-in below minWorkers" {
	run --separate-stderr k create -f <(scalein below 2)
	[ "$status" -ne 0 ]
	words=$(grep -o 'spec\.toDelete\.count: .*' <<<"$stderr")
	[ -n "$words" ]
	run --separate-stderr etjob scalein taken --count=2
	refused "$words"
}

@test "kubectl scale beyond the bounds" {
	run --separate-stderr k scale trainingjob taken --replicas=9
	[ "$status" -ne 0 ]
	[ "$(field trainingjob/taken '{.spec.etReplicaSpecs.worker.replicas}')" = 2 ]
}

@test "a scaler of a job that is not there" {
	run --separate-stderr etjob scaleout nosuch --count=1
	[ "$status" -eq 1 ]
	[[ "$stderr" == *nosuch* ]]
}
