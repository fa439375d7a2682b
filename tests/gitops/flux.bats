#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Flux itself: its source and kustomize controllers, outside of the cluster, sync a git repository
# with a job in it, leave the job alone while it is scaled, and prune it. Needs a cluster with the
# webhook and the controller (KUBECONFIG). The tests follow each other.

GIT_PORT=29418
ARTIFACT_PORT=29419

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	NS=flux-$$
	WORK=$BATS_FILE_TMPDIR
	export TOP NS WORK
	if [ -z "${KUBECONFIG:-}" ]; then
		return 0
	fi
	SOURCE=$("$TOP/tests/tools/tool" source-controller)
	KUSTOMIZE_CONTROLLER=$("$TOP/tests/tools/tool" kustomize-controller)
	for module in source-controller kustomize-controller; do
		kubectl apply --server-side -f "$("$TOP/tests/tools/tool" dir "github.com/fluxcd/$module")/config/crd/bases"
	done
	kubectl wait --for=condition=Established --timeout=30s \
		crd/gitrepositories.source.toolkit.fluxcd.io \
		crd/kustomizations.kustomize.toolkit.fluxcd.io
	kubectl create namespace "$NS"
	make_repository
	start git-server "$TOP/tests/gitops/git-server" "$WORK/git" $GIT_PORT
	export RUNTIME_NAMESPACE=$NS
	start source "$SOURCE" --storage-path="$WORK/artifacts" --storage-addr=127.0.0.1:$ARTIFACT_PORT \
		--storage-adv-addr=127.0.0.1:$ARTIFACT_PORT --watch-all-namespaces=false --events-addr= \
		--enable-leader-election=false --metrics-addr=127.0.0.1:29420 --health-addr=127.0.0.1:29421
	start kustomize "$KUSTOMIZE_CONTROLLER" --watch-all-namespaces=false --events-addr= \
		--enable-leader-election=false --metrics-addr=127.0.0.1:29422 --health-addr=127.0.0.1:29423
	kubectl apply -n "$NS" -f - <<-END
	apiVersion: source.toolkit.fluxcd.io/v1
	kind: GitRepository
	metadata: {name: training}
	spec:
	  interval: 1m
	  url: http://127.0.0.1:$GIT_PORT/training.git
	  ref: {branch: main}
	---
	apiVersion: kustomize.toolkit.fluxcd.io/v1
	kind: Kustomization
	metadata: {name: training}
	spec:
	  interval: 1m
	  path: ./jobs
	  prune: true
	  wait: true
	  timeout: 1m
	  targetNamespace: $NS
	  sourceRef: {kind: GitRepository, name: training}
	  healthCheckExprs:
	    - apiVersion: kai.alibabacloud.com/v1alpha1
	      kind: TrainingJob
	      current: status.phase in ['Running', 'Succeeded', 'Scaling']
	      inProgress: status.phase in ['Created', 'Restarting', 'Suspended']
	      failed: status.phase == 'Failed'
	END
}

teardown_file() {
	[ -n "${KUBECONFIG:-}" ] || return 0
	# The controllers take their finalizers away.
	kubectl delete -n "$NS" kustomizations.kustomize.toolkit.fluxcd.io,gitrepositories.source.toolkit.fluxcd.io \
		--all --wait --timeout=60s
	for pid in "$WORK"/*.pid; do
		kill "$(cat "$pid")"
	done
	kubectl delete namespace "$NS" --wait=false
	kubectl get crd -o name | grep toolkit.fluxcd.io | xargs kubectl delete
}

setup() {
	if [ -z "${KUBECONFIG:-}" ]; then
		skip "KUBECONFIG is unset: no cluster to ask"
	fi
}

# start NAME COMMAND…
start() {
	local name=$1
	shift
	"$@" >"$WORK/$name.log" 2>&1 3>&- &
	echo $! >"$WORK/$name.pid"
}

make_repository() {
	mkdir -p "$WORK/git" "$WORK/tree/jobs" "$WORK/artifacts"
	git init --quiet --bare --initial-branch=main "$WORK/git/training.git"
	git init --quiet --initial-branch=main "$WORK/tree"
	cat >"$WORK/tree/jobs/notes.yaml" <<-END
	apiVersion: v1
	kind: ConfigMap
	metadata: {name: notes}
	data: {a: b}
	END
	cat >"$WORK/tree/jobs/job.yaml" <<-END
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: $NS}
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec:
	          containers:
	            - name: launcher
	              image: localhost/busybox:1
	              command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]
	    worker:
	      replicas: 2
	      minReplicas: 1
	      maxReplicas: 4
	      template:
	        spec:
	          terminationGracePeriodSeconds: 2
	          containers:
	            - name: worker
	              image: localhost/busybox:1
	              command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]
	END
	git_push "a job"
}

git_push() {
	git -C "$WORK/tree" add -A
	git -C "$WORK/tree" -c user.name=test -c user.email=test@example.com commit --quiet -m "$1"
	git -C "$WORK/tree" push --quiet "$WORK/git/training.git" main
}

# look: asks both controllers to look now.
look() {
	STAMP=$(date +%s%N)
	for kind in gitrepository kustomization; do
		kubectl annotate -n "$NS" --overwrite "$kind/training" "reconcile.fluxcd.io/requestedAt=$STAMP"
	done
}

# sync: look, and wait until the newest commit is applied.
sync() {
	local revision
	revision=main@sha1:$(git -C "$WORK/tree" rev-parse HEAD)
	look
	until_equal 90 "$revision $STAMP True" kubectl get -n "$NS" kustomization training -o \
		'jsonpath={.status.lastAppliedRevision} {.status.lastHandledReconcileAt} {.status.conditions[?(@.type=="Ready")].status}'
}

until_equal() {
	local limit=$((SECONDS + $1)) want=$2 got
	shift 2
	while got=$("$@"); [ "$got" != "$want" ]; do
		if [ "$SECONDS" -ge "$limit" ]; then
			echo "still \"$got\", not \"$want\""
			kubectl get -n "$NS" kustomization,gitrepository,etj -o yaml | grep -A3 'message:' | head -40
			tail -n 5 "$WORK"/*.log
			return 1
		fi
		sleep 0.3
	done
}

job() {
	kubectl get -n "$NS" etj "$NS" -o "jsonpath={$1}"
}

refusal() {
	kubectl get -n "$NS" kustomization training -o \
		'jsonpath={.status.conditions[?(@.type=="Ready")].message}' |
		grep -q 'minReplicas: 3 is more than replicas (2)' && echo refused
}

@test "Flux applies the job and waits until it runs" {
	sync
	[ "$(job .status.phase)" = Running ]
}

@test "a ScaleOut is no drift: Flux changes nothing and stays ready" {
	before=$(job .metadata.generation)
	kubectl create -n "$NS" -f - <<-END
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: ScaleOut
	metadata: {name: more}
	spec: {selector: {name: $NS}, timeout: 60, toAdd: {count: 1}}
	END
	until_equal 60 "3 Running" job ".status.replicas} {.status.phase"
	sync
	[ "$(job .metadata.generation)" = "$before" ]
	[ "$(job .status.replicas)" = 3 ]
}

@test "a change in git is a change of the job" {
	sed -i 's/maxReplicas: 4/maxReplicas: 5/' "$WORK/tree/jobs/job.yaml"
	git_push "more"
	sync
	[ "$(job .spec.etReplicaSpecs.worker.maxReplicas)" = 5 ]
	[ "$(job .status.replicas)" = 3 ]
	run kubectl get -n "$NS" etj "$NS" -o \
		'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[0].env[?(@.name=="maxWorkers")].value}'
	[ "$output" = 5 ]
}

@test "what the webhook refuses stays out, and Flux says why" {
	sed -i 's/minReplicas: 1/minReplicas: 3/' "$WORK/tree/jobs/job.yaml"
	git_push "wrong"
	look
	until_equal 60 refused refusal
	[ "$(job .spec.etReplicaSpecs.worker.minReplicas)" = 1 ]
	git -C "$WORK/tree" -c user.name=test -c user.email=test@example.com revert --no-edit HEAD >/dev/null
	git -C "$WORK/tree" push --quiet "$WORK/git/training.git" main
	sync
}

@test "a job that leaves git is pruned, with its pods" {
	rm "$WORK/tree/jobs/job.yaml"
	git_push "no job"
	sync
	until_equal 60 "" kubectl get -n "$NS" etj,pods -o name
	kubectl get -n "$NS" configmap notes
}
