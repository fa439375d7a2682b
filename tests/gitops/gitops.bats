#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Git and cluster agree: kubectl, Argo CD and Flux see no difference after a job was injected and
# scaled. Needs a cluster with the webhook and the controller (KUBECONFIG); what needs none is at
# the beginning.

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	ARGO=$("$TOP/tests/tools/tool" argo)
	FLUX=$("$TOP/tests/tools/tool" flux)
	export TOP ARGO FLUX
}

setup() {
	cd "$TOP" || return 1
	JOB=$BATS_TEST_TMPDIR/job.yaml
}

teardown() {
	if [ -n "${NS:-}" ]; then
		kubectl delete namespace "$NS" --wait=false
	fi
}

# job [NAME]: a job for a cluster without Horovod; its launcher only waits.
job() {
	cat <<-END
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata:
	  name: ${1:-gitops-$BATS_TEST_NUMBER}
	  annotations:
	    team: vision
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec:
	          containers:
	            - name: launcher
	              image: localhost/busybox:1
	              command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]
	              env:
	                - {name: FIRST, value: a}
	                - {name: SECOND, value: b}
	              volumeMounts:
	                - {name: scratch, mountPath: /scratch}
	          volumes:
	            - {name: scratch, emptyDir: {}}
	    worker:
	      replicas: 2
	      minReplicas: 1
	      maxReplicas: 4
	      template:
	        spec:
	          terminationGracePeriodSeconds: 5
	          containers:
	            - name: worker
	              image: localhost/busybox:1
	              command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]
	              env:
	                - {name: FIRST, value: a}
	END
}

need_system() {
	if [ -z "${KUBECONFIG:-}" ]; then
		skip "KUBECONFIG is unset: no cluster to ask"
	fi
	if ! kubectl get validatingwebhookconfiguration etjob-webhook >/dev/null 2>&1; then
		skip "the webhook is not installed in this cluster"
	fi
	NS=gitops-$BATS_TEST_NUMBER-$$
	kubectl create namespace "$NS"
	NAME=$NS
	job "$NAME" >"$JOB"
}

# until_equal SECONDS EXPECTED COMMAND…: waits until the command prints what is expected.
until_equal() {
	local limit=$((SECONDS + $1)) want=$2 got
	shift 2
	while got=$("$@"); [ "$got" != "$want" ]; do
		if [ "$SECONDS" -ge "$limit" ]; then
			echo "still \"$got\", not \"$want\": $*"
			return 1
		fi
		sleep 0.2
	done
}

status() {
	kubectl get -n "$NS" etj "$NAME" -o "jsonpath={.status.$1}"
}

injected() {
	kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[0].env[*].name}'
}

scale_out() {
	kubectl create -n "$NS" -o name -f - <<-END
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleOut
	metadata: {generateName: so-}
	spec: {selector: {name: $NAME}, timeout: 60, toAdd: {count: 1}}
	END
}

health() {
	printf '%s' "$1" | "$ARGO" health manifests/argocd/health.lua
}

@test "Argo CD health of a job in each phase" {
	[ "$(health '{"metadata":{}}')" = "Progressing: The controller has not seen this job yet" ]
	[ "$(health '{"metadata":{"generation":3},"status":{"phase":"Running","observedGeneration":2}}')" = \
		"Progressing: The controller has not seen the last change yet" ]
	[ "$(health '{"metadata":{"generation":3},"status":{"phase":"Running","observedGeneration":3,
		"currentWorkers":["a","b"],"targetWorkers":["a","b"]}}')" = "Healthy: 2 of 2 workers" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Running","currentWorkers":["a"],
		"targetWorkers":["a","b"],"conditions":[{"type":"BelowMinimum","status":"True",
		"message":"1 of at least 2 workers since noon"}]}}')" = \
		"Degraded: 1 of at least 2 workers since noon" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Scaling","currentWorkers":["a"],
		"targetWorkers":["a","b"]}}')" = "Progressing: Scaling: 1 of 2 workers" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Created"}}')" = "Progressing: Created: 0 of 0 workers" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Suspended"}}')" = "Suspended: Suspended" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Succeeded"}}')" = "Healthy: Finished" ]
	[ "$(health '{"metadata":{},"status":{"phase":"Failed","conditions":[{"type":"Failed",
		"status":"True","message":"launcher: exit code 3"}]}}')" = "Degraded: launcher: exit code 3" ]
}

@test "Argo CD health of a scaler" {
	scaler() { printf '%s' "$1" | "$ARGO" health manifests/argocd/scaler-health.lua; }
	[ "$(scaler '{"metadata":{}}')" = "Progressing: Waiting for its turn" ]
	[ "$(scaler '{"status":{"phase":"ScaleSucceeded"}}' | cut -d: -f1)" = Healthy ]
	[ "$(scaler '{"status":{"phase":"ScaleFailed","conditions":[{"type":"ScaleFailed",
		"status":"True","message":"timed out"}]}}')" = "Degraded: timed out" ]
}

@test "argocd-cm.yaml holds the scripts as they are" {
	for script in health.lua scaler-health.lua; do
		sed 's/^\(.\)/    \1/' "manifests/argocd/$script" >"$BATS_TEST_TMPDIR/$script"
	done
	{
		sed -n '1,/TrainingJob: |/p' manifests/argocd/argocd-cm.yaml
		cat "$BATS_TEST_TMPDIR/health.lua"
		for kind in ScaleOut ScaleIn; do
			echo "  resource.customizations.health.kai.alibabacloud.com_$kind: |"
			cat "$BATS_TEST_TMPDIR/scaler-health.lua"
		done
	} >"$BATS_TEST_TMPDIR/want"
	diff "$BATS_TEST_TMPDIR/want" manifests/argocd/argocd-cm.yaml
}

@test "kubectl diff and both applies show nothing after injection and a ScaleOut" {
	need_system
	kubectl apply -n "$NS" -f "$JOB"
	[[ "$(injected)" == *workers* ]]
	kubectl diff -n "$NS" -f "$JOB"
	until_equal 60 Running status phase
	scale_out
	until_equal 60 3 status replicas
	until_equal 60 Running status phase
	kubectl diff -n "$NS" -f "$JOB"
	kubectl diff --server-side --force-conflicts -n "$NS" -f "$JOB"
	before=$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.metadata.generation}')
	kubectl apply -n "$NS" -f "$JOB"
	kubectl apply -n "$NS" -f "$JOB"
	[ "$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.metadata.generation}')" = "$before" ]
	[[ "$(injected)" == *workers* ]]
	[ "$(status replicas)" = 3 ]
}

@test "server-side apply twice changes nothing" {
	need_system
	kubectl apply --server-side -n "$NS" -f "$JOB"
	until_equal 60 Running status phase
	before=$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.metadata.generation}')
	kubectl apply --server-side -n "$NS" -f "$JOB"
	kubectl diff --server-side -n "$NS" -f "$JOB"
	[ "$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.metadata.generation}')" = "$before" ]
}

@test "an autoscaler's size stays when replicas is left out of git" {
	need_system
	sed -i '/^      replicas: 2/d' "$JOB"
	kubectl apply -n "$NS" -f "$JOB"
	until_equal 60 1 status replicas
	kubectl scale -n "$NS" "etj/$NAME" --replicas=2
	until_equal 60 2 status replicas
	kubectl diff -n "$NS" -f "$JOB"
	kubectl apply -n "$NS" -f "$JOB"
	[ "$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" = 2 ]
	"$FLUX" apply "$NS" <"$JOB"
	"$FLUX" diff "$NS" <"$JOB"
	[ "$(kubectl get -n "$NS" etj "$NAME" -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" = 2 ]
}

@test "Argo CD sees a job in sync through a scaling, and healthy" {
	need_system
	kubectl apply --server-side --field-manager=argocd-controller -n "$NS" -f "$JOB"
	"$ARGO" diff "$NS" <"$JOB"
	"$ARGO" diff -mutations "$NS" <"$JOB"
	until_equal 60 Running status phase
	scale_out
	until_equal 60 3 status replicas
	until_equal 60 Running status phase
	"$ARGO" diff "$NS" <"$JOB"
	run bash -c "kubectl get -n $NS etj $NAME -o json | $ARGO health manifests/argocd/health.lua"
	[ "$output" = "Healthy: 3 of 3 workers" ]
	# And what somebody changed by hand is seen.
	kubectl patch -n "$NS" etj "$NAME" --type=merge -p '{"spec":{"backoffLimit":3}}'
	sed 's/^spec:/&\n  backoffLimit: 4/' "$JOB" >"$BATS_TEST_TMPDIR/changed.yaml"
	run "$ARGO" diff "$NS" <"$BATS_TEST_TMPDIR/changed.yaml"
	[ "$status" -eq 1 ]
	[[ "$output" == *OutOfSync* ]]
}

@test "Argo CD's own three-way diff is in sync with inject: disabled" {
	need_system
	sed -i 's/    team: vision/    kai.alibabacloud.com\/inject: disabled/' "$JOB"
	kubectl apply -n "$NS" -f "$JOB"
	[ "$(injected)" = FIRST ]
	"$ARGO" diff -client-side "$NS" <"$JOB"
	until_equal 60 Running status phase
	run kubectl get -n "$NS" pod "$NAME-worker-0" -o 'jsonpath={.spec.containers[0].env[*].name}'
	[[ "$output" == *minWorkers* ]]
}

@test "Flux applies once and then finds everything unchanged" {
	need_system
	run "$FLUX" apply "$NS" <"$JOB"
	[ "$output" = "TrainingJob/$NS/$NAME created" ]
	run "$FLUX" apply "$NS" <"$JOB"
	[ "$output" = "TrainingJob/$NS/$NAME unchanged" ]
	until_equal 60 Running status phase
	scale_out
	until_equal 60 3 status replicas
	run "$FLUX" diff "$NS" <"$JOB"
	[ "$status" -eq 0 ]
	[ "$output" = "TrainingJob/$NS/$NAME unchanged" ]
	until_equal 60 Running status phase
	run bash -c "kubectl get -n $NS etj $NAME -o json | $FLUX status"
	[ "$output" = "Current: Resource is current" ]
}

@test "the installation itself is in sync after the webhook filled in its CA" {
	need_system
	scripts/install-yaml >"$BATS_TEST_TMPDIR/all.yaml"
	"$FLUX" apply etjob-system <"$BATS_TEST_TMPDIR/all.yaml"
	until_equal 30 "" bash -c "kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration \
		etjob-webhook -o json | grep -c '\"caBundle\": \"\"' | grep -v '^0'"
	"$FLUX" diff etjob-system <"$BATS_TEST_TMPDIR/all.yaml"
	kubectl get mutatingwebhookconfiguration etjob-webhook \
		-o 'jsonpath={.webhooks[0].clientConfig.caBundle}' | grep -q .
}
