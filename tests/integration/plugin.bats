#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The plugin against a real API server, with kubectl as the oracle. Jobs are suspended, so that
# nothing needs a node.

bats_require_minimum_version 1.5.0

NS=etjob-plugin-test

setup_file() {
	local top
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export TOP=$top
	local build=${BUILD:-$TOP/build}
	case $build in /*) ;; *) build=$TOP/$build ;; esac
	export PATH=$build:$PATH
	kubectl apply --server-side --force-conflicts -k "$TOP/manifests/crds" >/dev/null
	kubectl wait --for=condition=Established --timeout=30s crd/trainingjobs.kai.alibabacloud.com \
		crd/scaleouts.kai.alibabacloud.com crd/scaleins.kai.alibabacloud.com >/dev/null
	kubectl create namespace $NS >/dev/null
	kubectl-etjob template oracle -n $NS --image=i --workers=2 --gpus=1 -e 'A=$(B) "q"' -l team=x 'echo : # "x"' -o json |
		jq '.spec.suspend = true' | kubectl create -f - >/dev/null
}

teardown_file() {
	kubectl delete namespace $NS --wait=false >/dev/null
}

etjob() {
	kubectl etjob "$@" -n $NS
}

same() {
	if [ "$2" != "$3" ]; then
		printf '%s is\n%s\nwant\n%s\n' "$1" "$2" "$3"
		return 1
	fi
}

# as_kubectl FORMAT: get prints what kubectl prints.
as_kubectl() {
	same "-o $1" "$(kubectl etjob get oracle -n $NS -o "$1")" "$(kubectl get trainingjob oracle -n $NS -o "$1")"
}

@test "JSON, YAML, names and JSONPath are kubectl's, byte for byte" {
	as_kubectl json
	as_kubectl yaml
	as_kubectl name
	as_kubectl 'jsonpath={.metadata.name}'
	as_kubectl 'jsonpath={.spec.etReplicaSpecs.*.replicas}'
	as_kubectl 'jsonpath={range .spec.etReplicaSpecs.worker.template.spec.containers[*]}{.name}{"\t"}{.image}{"\n"}{end}'
	as_kubectl 'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[0].env[?(@.name=="A")].value}'
	as_kubectl 'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[0].resources}'
	as_kubectl 'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[0].resources.limits.nvidia\.com/gpu}'
	as_kubectl 'jsonpath={..image}'
	as_kubectl 'jsonpath={.nothing}'
	as_kubectl 'jsonpath={.spec.etReplicaSpecs.worker.template.spec.containers[-1].name}'
	as_kubectl "jsonpath={.metadata.labels['team']}"
}

@test "lists are kubectl's" {
	same json "$(etjob list -o json | jq -S .)" "$(kubectl get trainingjobs -n $NS -o json | jq -S .)"
	same name "$(etjob list -o name -l team=x)" "$(kubectl get trainingjobs -n $NS -o name -l team=x)"
}

@test "errors are kubectl's" {
	same 'not found' "$(etjob get nope 2>&1)" "$(kubectl get trainingjob nope -n $NS 2>&1)"
	same 'no namespace' "$(kubectl etjob submit a --image=i --no-preflight -n nope-$NS -q x 2>&1)" \
		"Error from server (NotFound): namespaces \"nope-$NS\" not found"
	same 'no rights' "$(etjob get oracle --as=nobody 2>&1)" "$(kubectl get trainingjob oracle -n $NS --as=nobody 2>&1)"
}

@test "what submit makes passes the schema, with every flag that a job can have" {
	printf 'x' >"$BATS_TEST_TMPDIR/f"
	run etjob submit flags --image=i --dry-run=server --no-preflight -q --workers=2 --min-workers=1 --max-workers=3 --gpus=1 \
		--cpu=1 --memory=1Gi --device=amd.com/gpu=1 --working-dir=/w --shell=bash -e A=1 -l a=b -a c=d --launcher-annotation=e=f \
		--worker-annotation=g=h --selector=z=a --launcher-selector=z=b --toleration=k --toleration=k=v:NoSchedule --toleration=all \
		-d claim:/data --data-dir=/host --config-file="$BATS_TEST_TMPDIR/f:/etc/f" -p high --image-pull-secret=s --image-pull-policy=Always \
		--job-restart-policy=OnFailure --worker-restart-policy=Always --job-backoff-limit=0 --ssh-secret=k --rdma --gang --queue \
		--scheduler=volcano --hostNetwork --hostIPC --hostPID --sync-mode=git --sync-source=u --tensorboard --logdir=/logs --spot-instance \
		--max-wait-time=1m --shm-size=1Gi --slots-per-worker=2 --start-policy=Minimum --ttl=1h --active-deadline=1h run
	same "status ($output)" "$status" 0
	same output "$output" 'trainingjob.kai.alibabacloud.com/flags created (server dry run)
configmap/flags-files created (server dry run)
deployment.apps/flags-tensorboard created (server dry run)
service/flags-tensorboard created (server dry run)'
}

@test "scale goes where kubectl scale goes" {
	etjob scale oracle --replicas=3
	same replicas "$(kubectl get trainingjob oracle -n $NS -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" 3
	kubectl scale trainingjob oracle -n $NS --replicas=2 >/dev/null
	same replicas "$(etjob get oracle -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" 2
}

@test "install is accepted by the server, and its CRDs are those of kubectl apply" {
	run kubectl etjob install --dry-run=server
	same "status ($output)" "$status" 0
	[[ $output == *'customresourcedefinition.apiextensions.k8s.io/trainingjobs.kai.alibabacloud.com serverside-applied (server dry run)'* ]]
	run kubectl etjob doctor -o json
	same crds "$(jq -c '[.findings[] | select(.check == "crd").status] | unique' <<<"$output")" '["ok"]'
}

@test "delete says what kubectl says, and is done" {
	kubectl-etjob template gone -n $NS --image=i run -o json | jq '.spec.suspend = true' | kubectl create -f - >/dev/null
	same delete "$(etjob delete gone --wait -q)" 'trainingjob.kai.alibabacloud.com "gone" deleted'
	run kubectl get trainingjob gone -n $NS
	same status "$status" 1
}
