#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The webhook through a real API server: what users do with kubectl, and what comes of it.

load webhook

setup_file() {
	install_webhook a-wh-test 19450
	start_webhook a
	export NS=a-wh-one NS2=a-wh-two
	new_namespace "$NS"
	new_namespace "$NS2"
	until_called "$NS"
}

teardown_file() {
	# the test of a broken object may have stopped in its middle
	kubectl label namespace kube-system etjob.test/webhook- etjob.test/replica- >/dev/null
	kubectl -n kube-system patch trainingjob broken --type=merge \
		-p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
	kubectl -n kube-system delete trainingjob broken --ignore-not-found >/dev/null
	remove_webhook
}

k() {
	kubectl -n "$NS" "$@"
}

# refused TEXT COMMAND…: the command fails, and says TEXT.
refused() {
	local text=$1
	shift
	run "$@"
	[ "$status" -ne 0 ]
	[[ $output == *"$text"* ]] || {
		printf 'expected: %s\ngot: %s\n' "$text" "$output"
		return 1
	}
}

apply() {
	k apply -f -
}

env_of() {
	k get trainingjob "$1" -o json | jq -c --arg role "$2" \
		'[.spec.etReplicaSpecs[$role].template.spec.containers[0].env[] | .name + "=" + .value]'
}

@test "apply injects the environment and the mount" {
	job inject | apply
	[ "$(env_of inject launcher)" = '["workers=2","gpus=0","minWorkers=1","maxWorkers=4"]' ]
	[ "$(env_of inject worker)" = '["workers=2","gpus=0","minWorkers=1","maxWorkers=4"]' ]
	run k get trainingjob inject -o jsonpath='{.spec.etReplicaSpecs.launcher.template.spec}'
	[[ $output == *'"mountPath":"/etc/edl"'* ]]
	[[ $output == *'"configMap":{"defaultMode":493,"name":"inject-config"}'* ]]
}

@test "applying twice changes nothing" {
	job twice | apply
	before=$(k get trainingjob twice -o jsonpath='{.spec} {.metadata.generation}')
	job twice | apply
	[ "$(k get trainingjob twice -o jsonpath='{.spec} {.metadata.generation}')" = "$before" ]
	job twice | k diff -f -
}

@test "server-side apply shows no difference after the injection" {
	job ssa | k apply --server-side --field-manager=git -f -
	[ "$(env_of ssa worker)" = '["workers=2","gpus=0","minWorkers=1","maxWorkers=4"]' ]
	job ssa | k diff --server-side --field-manager=git -f -
	job ssa 3 | k apply --server-side --field-manager=git -f -
	[ "$(env_of ssa worker)" = '["workers=3","gpus=0","minWorkers=1","maxWorkers=4"]' ]
}

@test "a client-side apply brings back what it dropped, with the new counts" {
	job csa | apply
	job csa 3 2 5 | apply
	[ "$(env_of csa launcher)" = '["workers=3","gpus=0","minWorkers=2","maxWorkers=5"]' ]
}

@test "what the user set stays, and inject: disabled leaves all" {
	job mine | sed 's/command: \[sleep, "9"\]/&, env: [{name: workers, value: "7"}]/' | apply
	[ "$(env_of mine worker)" = '["workers=7","gpus=0","minWorkers=1","maxWorkers=4"]' ]
	job hands-off 2 1 4 'annotations: {kai.alibabacloud.com/inject: disabled}' | apply
	[ "$(k get trainingjob hands-off -o json | jq '[.. | .env? // empty] | length')" = 0 ]
}

@test "kubectl apply is refused with the field, the fault and the remedy" {
	refused 'The TrainingJob "bad" is invalid: spec.etReplicaSpecs.worker.minReplicas: 4 is more than replicas (3): lower it or start with more workers' \
		apply < <(job bad 3 4 9)
	refused "spec.etReplicaSpecs.worker.maxReplicas" apply < <(job bad 3 1 2)
	refused "metadata.name" apply < <(job a.b)
	refused "metadata.name" apply < <(job "$(printf 'a%.0s' {1..51})")
	refused "spec.etReplicaSpecs.worker.replicas" apply < <(job bad 0 0 4)
	run k get trainingjob bad
	[ "$status" -ne 0 ]
}

@test "all faults come at once" {
	run apply < <(job a.b 3 4 2)
	[ "$status" -ne 0 ]
	[[ $output == *"* metadata.name: "* ]]
	[[ $output == *"* spec.etReplicaSpecs.worker.minReplicas: "* ]]
	[[ $output == *"* spec.etReplicaSpecs.worker.maxReplicas: "* ]]
}

@test "warnings are shown and do not refuse" {
	run apply < <(job rigid 2 2 2)
	[ "$status" -eq 0 ]
	[[ $output == *"Warning: "*"minReplicas"* ]]
}

@test "a name that another namespace has is refused, and its namespace named" {
	job unique | apply
	refused "metadata.name: \"unique\" is taken by a job in namespace \"$NS\"" \
		kubectl -n "$NS2" create -f - < <(job unique)
	refused "(AlreadyExists)" kubectl -n "$NS2" create -f - < <(job unique)
	job unique | apply
}

@test "a dry run injects and reserves nothing" {
	run k create --dry-run=server -o json -f - < <(job dry)
	[ "$status" -eq 0 ]
	[[ $output == *'"minWorkers"'* ]]
	job dry | kubectl -n "$NS2" create -f -
	refused "is taken by a job in namespace \"$NS2\"" k create --dry-run=server -f - < <(job dry)
}

@test "generateName" {
	name=$(job x | sed 's/name: x/generateName: gen-/' | k create -o name -f -)
	[[ $name == trainingjob.kai.alibabacloud.com/gen-????? ]]
	[ "$(env_of "${name#*/}" worker)" = '["workers=2","gpus=0","minWorkers=1","maxWorkers=4"]' ]
	refused "metadata.generateName" k create -f - < <(job x | sed 's/name: x/generateName: Gen-/')
}

@test "templates, slots and attach mode are immutable" {
	job fixed | apply
	refused "spec.etReplicaSpecs.worker.template" apply < <(job fixed | sed 's/image: .*busybox:1/image: other/2; s/busybox:1/other:1/')
	refused "spec.slotsPerWorker" k patch trainingjob fixed --type=merge -p '{"spec":{"slotsPerWorker":3}}'
	k label trainingjob fixed some=label
	k annotate trainingjob fixed some=annotation
}

@test "kubectl scale goes through the scale subresource, within the bounds" {
	job scaled | apply
	k scale trainingjob scaled --replicas=3
	[ "$(k get trainingjob scaled -o jsonpath='{.spec.etReplicaSpecs.worker.replicas}')" = 3 ]
	refused "maxReplicas" k scale trainingjob scaled --replicas=9
}

@test "kubectl patch is checked and injected" {
	job patched | apply
	refused "spec.etReplicaSpecs.worker.maxReplicas" k patch trainingjob patched --type=merge \
		-p '{"spec":{"etReplicaSpecs":{"worker":{"maxReplicas":1}}}}'
	k patch trainingjob patched --type=merge -p '{"spec":{"etReplicaSpecs":{"worker":{"maxReplicas":6}}}}'
	[ "$(env_of patched worker)" = '["workers=2","gpus=0","minWorkers=1","maxWorkers=6"]' ]
	k patch trainingjob patched --subresource=status --type=merge -p '{"status":{"restartCount":1}}'
}

@test "ScaleOut and ScaleIn keep to the bounds of the job" {
	job bounds 2 1 4 | apply
	refused "spec.toAdd.count: 3 more would make 5 workers, more than maxReplicas (4; now 2): add at most 2" \
		apply < <(scaler ScaleOut so bounds 'toAdd: {count: 3}')
	refused "minReplicas (1; now 2)" apply < <(scaler ScaleIn si bounds 'toDelete: {count: 2}')
	refused "bounds-worker-9" apply < <(scaler ScaleIn si bounds 'toDelete: {podNames: [bounds-worker-9]}')
	refused "spec.selector.name" apply < <(scaler ScaleOut so nobody 'toAdd: {count: 1}')
	refused "spec.timeout" apply < <(scaler ScaleOut so bounds 'toAdd: {count: 1}, timeout: 0')
	scaler ScaleOut so bounds 'toAdd: {count: 1}' | k create --dry-run=server -f -
	scaler ScaleOut so bounds 'toAdd: {count: 1}' | apply
	refused "spec" k patch scaleout so --type=merge -p '{"spec":{"toAdd":{"count":2}}}'
	k label scaleout so some=label
	k delete scaleout so --wait=false
}

@test "a scaler may come in the same file as its job" {
	{
		job together
		echo ---
		scaler ScaleOut together-1 together 'toAdd: {count: 1}'
	} | apply
}

@test "scalers that come together never pass the maximum" {
	job race 2 1 4 | apply
	for i in $(seq 10); do
		scaler ScaleOut "race-$i" race 'toAdd: {count: 1}' >"$BATS_TEST_TMPDIR/$i.yaml"
	done
	pids=()
	for i in $(seq 10); do
		k create -f "$BATS_TEST_TMPDIR/$i.yaml" >"$BATS_TEST_TMPDIR/$i.out" 2>&1 3>&- &
		pids+=($!)
	done
	passed=0
	for pid in "${pids[@]}"; do
		wait "$pid" && passed=$((passed + 1))
	done
	[ "$passed" -eq 2 ]
}

@test "an old broken object can be labelled, and let go" {
	# it comes in where no webhook is called, also none that is installed
	ns=kube-system
	kubectl -n "$ns" delete trainingjob broken --ignore-not-found
	job broken 3 1 9 | sed 's/name: w,/&  env: [{name: workers, value: many}],/' |
		sed 's/metadata: {name: broken/&, finalizers: [etjob.test\/hold]/' |
		kubectl -n "$ns" create -f -
	kubectl label namespace "$ns" "etjob.test/webhook=$WH" etjob.test/replica=a
	until_called "$ns"
	kubectl -n "$ns" label trainingjob broken some=label
	refused "many" kubectl -n "$ns" patch trainingjob broken --type=merge \
		-p '{"spec":{"etReplicaSpecs":{"worker":{"replicas":4}}}}'
	kubectl -n "$ns" delete trainingjob broken --wait=false
	kubectl -n "$ns" patch trainingjob broken --type=merge -p '{"metadata":{"finalizers":null}}'
	run kubectl -n "$ns" get trainingjob broken
	[ "$status" -ne 0 ]
	kubectl label namespace "$ns" etjob.test/webhook- etjob.test/replica-
}

@test "a body that is no sound JSON object is refused with its reason" {
	job nul | sed 's/name: nul/name: nul, annotations: {a: "\\0"}/' >"$BATS_TEST_TMPDIR/nul.yaml"
	refused '\u0000 is not allowed' k create -f "$BATS_TEST_TMPDIR/nul.yaml"
}

@test "metrics count what happened" {
	denied=$(metric a 'etjob_webhook_requests_total{kind="TrainingJob",operation="CREATE",result="denied"}')
	run apply < <(job bad 3 4 9)
	[ "$(metric a 'etjob_webhook_requests_total{kind="TrainingJob",operation="CREATE",result="denied"}')" = $((denied + 1)) ]
	[ "$(metric a etjob_webhook_ready)" = 1 ]
	grep -q 'msg=denied.*name=bad.*user=.*code=422.*minReplicas' "$RUN/a.log"
}
