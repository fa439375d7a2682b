#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# A job without root, in a namespace that enforces the restricted Pod Security Standard.

load helper

setup_file() {
	new_namespace
	kubectl label namespace "$NS" pod-security.kubernetes.io/enforce=restricted
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

job() {
	local security='
          securityContext:
            runAsNonRoot: true
            runAsUser: 1000
            runAsGroup: 1000
            fsGroup: 1000
            seccompProfile: {type: RuntimeDefault}
          containers:
          - name: main
            image: localhost/horovod:test
            imagePullPolicy: IfNotPresent
            securityContext:
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL]}'
	cat <<-J
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: nonroot}
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec:$security
	            command: [sh, -c, "horovodrun -np \${workers} --min-np \${minWorkers} --max-np \${maxWorkers} --host-discovery-script /etc/edl/discover_hosts.sh python /examples/train.py"]
	    worker:
	      replicas: 2
	      minReplicas: 1
	      maxReplicas: 3
	      template:
	        spec:$security
	J
}

@test "it trains" {
	job | k apply -f -
	until_true 60 "the job is Running" phase_is nonroot Running
	until_true 60 "training with 2 workers" size_is nonroot 2
}

@test "no process of it is root's" {
	run k exec nonroot-worker-0 -- id -u
	[ "$output" = 1000 ]
}

@test "it grows and shrinks" {
	etjob scaleout nonroot --wait --timeout=2m
	until_true 60 "training with 3 workers" size_is nonroot 3
	etjob scalein nonroot --wait --timeout=2m
	until_true 60 "training with 2 workers" size_is nonroot 2
	batches_only_grow nonroot
}
