#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The controller on a real API server, outside of the cluster and in one namespace: two replicas of
# which one acts, leaders that are killed, stopped and woken, kubectl scale, nodes that push their
# pods out. KUBECONFIG names the API server; without one the tests are skipped and say so.

bats_require_minimum_version 1.5.0

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=$TOP/build:$PATH
	export TOP PATH
	if [ -z "${KUBECONFIG:-}" ]; then
		return 0
	fi
	# The cluster's own controller, where there is one, would act on the same jobs.
	if kubectl -n etjob-system get deployment etjob-controller >/dev/null 2>&1; then
		kubectl -n etjob-system scale deployment etjob-controller --replicas=0
		kubectl -n etjob-system wait pods -l app.kubernetes.io/name=etjob-controller \
			--for=delete --timeout=90s
		touch "$BATS_FILE_TMPDIR/deployed"
	fi
	kubectl apply -k "$TOP/manifests/crds" >/dev/null
	kubectl wait --for=condition=Established --timeout=30s crd -l app.kubernetes.io/name=etjob
}

teardown_file() {
	if [ -e "$BATS_FILE_TMPDIR/deployed" ]; then
		kubectl -n etjob-system scale deployment etjob-controller --replicas=2
		kubectl -n etjob-system rollout status deployment etjob-controller --timeout=90s
	fi
}

setup() {
	if [ -z "${KUBECONFIG:-}" ]; then
		skip "KUBECONFIG is unset: no API server to ask"
	fi
	NS=controller-$BATS_TEST_NUMBER-$$
	# Names of jobs are unique in the cluster where the webhook is installed.
	JOB=one-$BATS_TEST_NUMBER-$$
	kubectl create namespace "$NS"
}

teardown() {
	local file pid
	for file in "$BATS_TEST_TMPDIR"/*.pid; do
		[ -e "$file" ] || continue
		pid=$(cat "$file")
		kill -CONT "$pid" 2>/dev/null || true
		kill "$pid" 2>/dev/null || true
	done
	if [ -e "$BATS_TEST_TMPDIR/metrics.pid" ]; then
		kubectl delete apiservice v1beta1.external.metrics.k8s.io --ignore-not-found
	fi
	if [ -n "${NODE:-}" ]; then
		kubectl taint node "$NODE" etjob.test/leave- 2>/dev/null || true
	fi
	if [ -n "${NS:-}" ]; then
		kubectl delete namespace "$NS" --wait=false
	fi
}

k() {
	kubectl -n "$NS" "$@"
}

# controller NAME PORT OPTION…
controller() {
	local name=$1 port=$2
	shift 2
	etjob-controller --namespaces="$NS" --lease-namespace="$NS" --listen="127.0.0.1:$port" "$@" \
		3>&- 2>>"$BATS_TEST_TMPDIR/$name.log" &
	echo $! >"$BATS_TEST_TMPDIR/$name.pid"
}

pid_of() {
	cat "$BATS_TEST_TMPDIR/$1.pid"
}

leads() {
	curl -sf "http://127.0.0.1:$1/metrics" | grep -qx 'etjob_controller_leader 1'
}

until_true() {
	local limit=$1 what=$2 end
	shift 2
	end=$((SECONDS + limit))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "after $limit s not: $what"
			k get trainingjobs,scaleouts,scaleins,pods -o wide
			tail -n 5 "$BATS_TEST_TMPDIR"/*.log
			return 1
		fi
		sleep 0.2
	done
}

# A job of workers that only sleep, for any kind of node.
job() {
	local sleeper='{name: et, image: "localhost/busybox:1", imagePullPolicy: IfNotPresent,
	  command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]}'
	k apply -f - <<-J
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: $1}
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec: {terminationGracePeriodSeconds: 1, containers: [$sleeper]}
	    worker:
	      replicas: $2
	      minReplicas: 1
	      maxReplicas: 5
	      template:
	        spec: {terminationGracePeriodSeconds: 5, containers: [$sleeper]}
	J
}

scaleout() {
	k create -f - <<-S
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleOut
	metadata: {name: $2}
	spec: {selector: {name: $1}, timeout: 120, toAdd: {count: 1}}
	S
}

phase_is() {
	[ "$(k get "$1" -o 'jsonpath={.status.phase}')" = "$2" ]
}

# In any order: workers that become ready together are listed as they come.
workers_are() {
	[ "$(k get trainingjob "$1" -o json | jq -c '.status.currentWorkers | sort')" = "$2" ]
}

# names INDEX…: the workers as the status lists them.
names() {
	local i out=
	for i; do
		out="$out,\"$JOB-worker-$i\""
	done
	printf '[%s]' "${out#,}"
}

ended() {
	! kill -0 "$(pid_of "$1")" 2>/dev/null
}

@test "of two replicas one acts; when it is killed the other takes over and finishes" {
	controller a 18181
	until_true 20 "a leads" leads 18181
	controller b 18182
	job "$JOB" 2
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	run ! leads 18182
	curl -sf http://127.0.0.1:18182/readyz
	scaleout "$JOB" so
	kill -KILL "$(pid_of a)"
	until_true 30 "b leads" leads 18182
	until_true 90 "the ScaleOut succeeded" phase_is scaleout/so ScaleSucceeded
	[ "$(k get trainingjob "$JOB" -o 'jsonpath={.status.replicas}')" = 3 ]
}

@test "a leader that is stopped beyond its lease and woken ends without a word to the API" {
	controller a 18181
	until_true 20 "a leads" leads 18181
	job "$JOB" 1
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	controller b 18182
	kill -STOP "$(pid_of a)"
	until_true 40 "b leads" leads 18182
	scaleout "$JOB" so
	kill -CONT "$(pid_of a)"
	until_true 10 "a has ended" ended a
	run wait "$(pid_of a)"
	[ "$status" -eq 1 ]
	grep -q 'the lease is lost' "$BATS_TEST_TMPDIR/a.log"
	run ! grep -q 'reason=Scaling' "$BATS_TEST_TMPDIR/a.log"
	until_true 90 "the ScaleOut succeeded" phase_is scaleout/so ScaleSucceeded
	leads 18182
}

@test "a leader that is asked to end gives the lease back at once" {
	controller a 18181
	until_true 20 "a leads" leads 18181
	controller b 18182
	until_true 10 "b is ready" curl -sf http://127.0.0.1:18182/readyz
	kill -TERM "$(pid_of a)"
	until_true 6 "b leads" leads 18182
	run wait "$(pid_of a)"
	[ "$status" -eq 0 ]
}

@test "kubectl scale changes the size, and kubectl get shows it" {
	controller a 18181 --leader-elect=false
	job "$JOB" 2
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	k scale trainingjob "$JOB" --replicas=4
	until_true 90 "four workers" workers_are "$JOB" \
		"$(names 0 1 2 3)"
	k scale trainingjob "$JOB" --replicas=1
	until_true 90 "one worker" workers_are "$JOB" "$(names 0)"
	run k get --raw "/apis/kai.alibabacloud.com/v1alpha1/namespaces/$NS/trainingjobs/$JOB/scale"
	[[ "$output" == *'"selector":"group-name=kai.alibabacloud.com,training-job-name='$JOB',training-job-role=worker"'* ]]
	[[ "$output" == *'"status":{"replicas":1'* ]]
}

api_available() {
	[ "$(kubectl get apiservice v1beta1.external.metrics.k8s.io \
		-o 'jsonpath={.status.conditions[?(@.type=="Available")].status}')" = True ]
}

replicas_are() {
	[ "$(k get trainingjob "$1" -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas} {.status.replicas}')" = "$2 $2" ]
}

# The API server reaches the metrics through a Service that is only another name of localhost.
@test "a HorizontalPodAutoscaler makes the job larger and smaller" {
	if kubectl get apiservice v1beta1.external.metrics.k8s.io >/dev/null 2>&1; then
		skip "the cluster has external metrics of its own"
	fi
	echo 3 >"$BATS_TEST_TMPDIR/value"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
		-keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/cert" 2>/dev/null
	python3 "$TOP/tests/integration/metrics-api.py" 18188 "$BATS_TEST_TMPDIR/cert" \
		"$BATS_TEST_TMPDIR/key" "$BATS_TEST_TMPDIR/value" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/metrics.pid"
	kubectl apply -f - <<-A
	apiVersion: v1
	kind: Service
	metadata: {name: metrics, namespace: $NS}
	spec: {type: ExternalName, externalName: localhost, ports: [{port: 18188}]}
	---
	apiVersion: apiregistration.k8s.io/v1
	kind: APIService
	metadata: {name: v1beta1.external.metrics.k8s.io}
	spec:
	  group: external.metrics.k8s.io
	  version: v1beta1
	  groupPriorityMinimum: 100
	  versionPriority: 100
	  insecureSkipTLSVerify: true
	  service: {name: metrics, namespace: $NS, port: 18188}
	A
	until_true 30 "the metrics are there" api_available
	controller a 18181 --leader-elect=false
	job "$JOB" 1
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	sed "s/JOB/$JOB/g" <<-'H' | k create -f -
	apiVersion: autoscaling/v2
	kind: HorizontalPodAutoscaler
	metadata: {name: JOB}
	spec:
	  scaleTargetRef: {apiVersion: kai.alibabacloud.com/v1alpha1, kind: TrainingJob, name: JOB}
	  minReplicas: 1
	  maxReplicas: 4
	  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
	  metrics:
	  - type: External
	    external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "1"}}
	H
	until_true 90 "three workers" replicas_are "$JOB" 3
	until_true 60 "they train" workers_are "$JOB" "$(names 0 1 2)"
	echo 2 >"$BATS_TEST_TMPDIR/value"
	until_true 90 "two workers" replicas_are "$JOB" 2
	until_true 60 "the last one left" workers_are "$JOB" "$(names 0 1)"
	kubectl delete apiservice v1beta1.external.metrics.k8s.io
}

real_node() {
	[ -n "$(kubectl get nodes -l '!type' -o name)" ]
}

@test "scripts run in the launcher, their arguments unread by any other shell" {
	real_node || skip "needs a node that runs pods"
	controller a 18181 --leader-elect=false --allow-scripts
	job "$JOB" 1
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	sed "s/JOB/$JOB/g" <<-'S' | k create -f -
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleOut
	metadata: {name: good}
	spec:
	  selector: {name: JOB}
	  timeout: 60
	  toAdd: {count: 1}
	  script: printf '%s' "$WORDS" >/tmp/words
	  env: [{name: WORDS, value: "a 'b' $(c) \"d\" `e`"}]
	S
	until_true 60 "the ScaleOut succeeded" phase_is scaleout/good ScaleSucceeded
	[ "$(k exec "$JOB-launcher" -- cat /tmp/words)" = "a 'b' \$(c) \"d\" \`e\`" ]
	[ "$(k get scaleout good -o 'jsonpath={.status.conditions[?(@.type=="ScriptExecuted")].status}')" = True ]
	sed "s/JOB/$JOB/g" <<-'S' | k create -f -
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleIn
	metadata: {name: bad}
	spec:
	  selector: {name: JOB}
	  timeout: 60
	  toDelete: {count: 1}
	  script: echo not now; exit 3
	S
	until_true 60 "the ScaleIn failed" phase_is scalein/bad ScaleFailed
	run k get scalein bad -o 'jsonpath={.status.conditions[?(@.type=="ScaleFailed")].message}'
	[[ "$output" == *"exit code 3"*"it said: not now"* ]]
	[ "$(k get trainingjob "$JOB" -o 'jsonpath={.status.replicas}')" = 2 ]
}

# The launcher stays where it is: it tolerates the taint.
@test "workers of a node that pushes its pods out are replaced under new names" {
	NODE=$(kubectl get nodes -l type=kwok -o 'jsonpath={.items[*].metadata.name}' | tr ' ' '\n' | head -n 1)
	if [ -z "$NODE" ] || [ "$(kubectl get nodes -l type=kwok --no-headers | wc -l)" -lt 2 ]; then
		NODE=
		skip "needs two nodes that exist in the API only"
	fi
	controller a 18181 --leader-elect=false
	job "$JOB" 4
	until_true 120 "the job runs" phase_is "trainingjob/$JOB" Running
	node=$(k get pod "$JOB-worker-0" -o 'jsonpath={.spec.nodeName}')
	if [ "$(k get pod "$JOB-launcher" -o 'jsonpath={.spec.nodeName}')" = "$node" ]; then
		node=$(k get pod "$JOB-worker-1" -o 'jsonpath={.spec.nodeName}')
	fi
	NODE=$node
	kubectl taint node "$NODE" etjob.test/leave=now:NoExecute
	until_true 120 "no worker is there any more" none_on "$JOB" "$NODE"
	until_true 120 "four workers are listed" four_listed "$JOB"
}

none_on() {
	[ -z "$(k get pods -l training-job-name="$1",training-job-role=worker \
		--field-selector spec.nodeName="$2" -o name)" ]
}

four_listed() {
	[ "$(k get configmap "$1-config" -o 'jsonpath={.data.hostfile}' | grep -c :)" = 4 ]
}
