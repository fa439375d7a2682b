#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Manifests: built with kustomize, checked by kubeconform, applied to a real API server.
# KUBECONFIG names the API server; without one those tests are skipped and say so.

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export TOP
	KUSTOMIZE=$("$TOP/tests/tools/tool" kustomize)
	KUBECONFORM=$("$TOP/tests/tools/tool" kubeconform)
	export KUSTOMIZE KUBECONFORM
	export SCHEMAS="$TOP/manifests/schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
}

setup() {
	cd "$TOP" || return 1
}

overlays() {
	echo manifests/base
	ls -d manifests/overlays/*/
}

need_server() {
	if [ -z "${KUBECONFIG:-}" ]; then
		skip "KUBECONFIG is unset: no API server to ask"
	fi
	kubectl get --raw /readyz >/dev/null
}

# A namespace of this test's own, gone when it ends.
fresh_namespace() {
	NS=manifests-$BATS_TEST_NUMBER-$$
	kubectl create namespace "$NS"
}

teardown() {
	if [ -n "${NS:-}" ]; then
		kubectl delete namespace "$NS" --wait=false
	fi
}

@test "every overlay builds" {
	for dir in $(overlays); do
		run "$KUSTOMIZE" build "$dir"
		[ "$status" -eq 0 ] || { echo "$dir: $output"; return 1; }
	done
}

# kubectl etjob install carries the base as plain files, one after another.
@test "the base is the same with and without kustomize" {
	mkdir "$BATS_TEST_TMPDIR/k"
	scripts/install-yaml >"$BATS_TEST_TMPDIR/k/plain.yaml"
	echo 'resources: [plain.yaml]' >"$BATS_TEST_TMPDIR/k/kustomization.yaml"
	"$KUSTOMIZE" build "$BATS_TEST_TMPDIR/k" >"$BATS_TEST_TMPDIR/without"
	"$KUSTOMIZE" build manifests/base >"$BATS_TEST_TMPDIR/with"
	diff "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with"
}

@test "et-operator overlay: webhook only, no CRDs, no mount" {
	"$KUSTOMIZE" build manifests/overlays/et-operator >"$BATS_TEST_TMPDIR/out"
	grep -q -- '--inject-mount=false' "$BATS_TEST_TMPDIR/out"
	run grep -c -e etjob-controller -e CustomResourceDefinition "$BATS_TEST_TMPDIR/out"
	[ "$output" = 0 ]
}

@test "cert-manager overlay: the webhook may write nothing" {
	"$KUSTOMIZE" build manifests/overlays/cert-manager >"$BATS_TEST_TMPDIR/out"
	grep -q -- '--cert-file=/etc/etjob-webhook/tls.crt' "$BATS_TEST_TMPDIR/out"
	[ "$(grep -c 'inject-ca-from: etjob-system/etjob-webhook' "$BATS_TEST_TMPDIR/out")" -eq 2 ]
	run grep -c -e 'etjob-webhook-certs' -e 'validatingwebhookconfigurations' "$BATS_TEST_TMPDIR/out"
	[ "$output" = 0 ]
}

@test "the namespace-scoped Role has the rules of the ClusterRole" {
	rules() { awk '/^rules:/ { on = 1; next } /^---/ { on = 0 } on && !/^ *#/' "$1"; }
	# The first rules of the base's file are the ClusterRole's; nodes and leases follow.
	rules manifests/base/controller-rbac.yaml | awk '/resources: \[nodes\]/ { exit } { print }' |
		head -n -1 >"$BATS_TEST_TMPDIR/cluster"
	rules manifests/overlays/namespace-scoped/role.yaml >"$BATS_TEST_TMPDIR/role"
	diff "$BATS_TEST_TMPDIR/cluster" "$BATS_TEST_TMPDIR/role"
}

@test "schemas are the CRDs'" {
	scripts/crd-schemas.py "$BATS_TEST_TMPDIR" manifests/crds/{trainingjobs,scaleouts,scaleins}.yaml
	diff -r "$BATS_TEST_TMPDIR/kai.alibabacloud.com" manifests/schemas/kai.alibabacloud.com
}

@test "kubeconform takes the examples and refuses a typing error" {
	run "$KUBECONFORM" -strict -summary -schema-location "$SCHEMAS" \
		examples/elastic-training.yaml examples/scale-*.yaml
	[ "$status" -eq 0 ]
	[ "$output" = "Summary: 4 resources found in 4 files - Valid: 4, Invalid: 0, Errors: 0, Skipped: 0" ]
	sed 's/minReplicas: 1/minReplica: 1/' examples/elastic-training.yaml >"$BATS_TEST_TMPDIR/bad.yaml"
	run "$KUBECONFORM" -strict -schema-location "$SCHEMAS" "$BATS_TEST_TMPDIR/bad.yaml"
	[ "$status" -eq 1 ]
	[[ "$output" == *"additional properties 'minReplica' not allowed"* ]]
}

@test "each CRD is small enough for a client-side apply" {
	for crd in manifests/crds/{trainingjobs,scaleouts,scaleins}.yaml; do
		[ "$(wc -c <"$crd")" -lt 65536 ]
	done
}

@test "server: the CRDs are accepted, twice, by both kinds of apply" {
	need_server
	kubectl apply --server-side --field-manager=etjob-test --force-conflicts -k manifests/crds
	kubectl wait --for=condition=Established --timeout=30s \
		crd/trainingjobs.kai.alibabacloud.com crd/scaleouts.kai.alibabacloud.com \
		crd/scaleins.kai.alibabacloud.com
	for crd in trainingjobs scaleouts scaleins; do
		run kubectl get crd "$crd.kai.alibabacloud.com" \
			-o 'jsonpath={.status.conditions[?(@.type=="NonStructuralSchema")].status}'
		[ "$output" = "" ]
	done
	kubectl apply --dry-run=server -f manifests/crds/trainingjobs.yaml
}

@test "server: every overlay is accepted" {
	need_server
	# A dry run creates no namespace for what follows in it, so all goes into one that is there.
	fresh_namespace
	for dir in $(overlays); do
		"$KUSTOMIZE" build "$dir" >"$BATS_TEST_TMPDIR/all.yaml"
		sed -e "s/namespace: etjob-system/namespace: $NS/; s/namespace: training/namespace: $NS/" \
			"$BATS_TEST_TMPDIR/all.yaml" >"$BATS_TEST_TMPDIR/here.yaml"
		case $dir in
		*cert-manager*)
			kubectl apply --server-side -f "$BATS_TEST_DIRNAME/cert-manager-kinds.yaml"
			kubectl wait --for=condition=Established --timeout=30s \
				crd/issuers.cert-manager.io crd/certificates.cert-manager.io
			;;
		esac
		kubectl apply --server-side --field-manager=etjob-test --force-conflicts \
			--dry-run=server -f "$BATS_TEST_TMPDIR/here.yaml"
		if kubectl apply --dry-run=server -f "$BATS_TEST_TMPDIR/here.yaml" 2>&1 |
			grep 'would violate PodSecurity'; then
			return 1
		fi
	done
	kubectl delete -f "$BATS_TEST_DIRNAME/cert-manager-kinds.yaml"
}

# Everything below goes past the webhook on purpose: it is what the API server itself holds.
@test "server: CEL and bounds hold without the webhook" {
	need_server
	fresh_namespace
	if kubectl get validatingwebhookconfiguration etjob-webhook >/dev/null 2>&1; then
		skip "the webhook is installed in this cluster and would answer first"
	fi
	job=examples/elastic-training.yaml

	run bash -c "sed 's/minReplicas: 1/minReplicas: 3/' $job | kubectl create -n $NS -f -"
	[ "$status" -eq 1 ]
	[[ "$output" == *'spec.etReplicaSpecs.worker.minReplicas: Invalid value: "object": is more than replicas'* ]]

	run bash -c "sed 's/maxReplicas: 3/maxReplicas: 1/' $job | kubectl create -n $NS -f -"
	[ "$status" -eq 1 ]
	[[ "$output" == *'spec.etReplicaSpecs.worker.maxReplicas: Invalid value: "object": is less than replicas'* ]]

	kubectl create -n "$NS" -f "$job"
	run kubectl scale -n "$NS" etj/elastic-training --replicas=4
	[ "$status" -eq 1 ]
	kubectl scale -n "$NS" etj/elastic-training --replicas=3
	[ "$(kubectl get -n "$NS" etj elastic-training \
		-o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" = 3 ]

	run bash -c "sed 's/count: 1/count: 0/' examples/scale-out.yaml | kubectl create -n $NS -f -"
	[ "$status" -eq 1 ]
	[[ "$output" == *"spec.toAdd.count: Invalid value: 0"* ]]

	run bash -c "sed 's/    count: 1/    count: 1\n    podNames: [a]/' \
		examples/scale-in-by-count.yaml | kubectl create -n $NS -f -"
	[ "$status" -eq 1 ]
	[[ "$output" == *"spec.toDelete: Invalid value: \"object\": needs exactly one of count and podNames"* ]]

	run bash -c "sed '/podNames/,\$d' examples/scale-in-by-name.yaml | sed '\$s/\$/ {}/' |
		kubectl create -n $NS -f -"
	[ "$status" -eq 1 ]
	[[ "$output" == *"needs exactly one of count and podNames"* ]]

	name=$(kubectl create -n "$NS" -f examples/scale-out.yaml -o name)
	run kubectl patch -n "$NS" "$name" --type=merge -p '{"spec":{"timeout":5}}'
	[ "$status" -eq 1 ]
	[[ "$output" == *'spec: Invalid value: "object": cannot be changed: create another ScaleOut'* ]]
	kubectl label -n "$NS" "$name" still=editable
}

@test "server: a job without replicas has one, and can be scaled" {
	need_server
	fresh_namespace
	if kubectl get validatingwebhookconfiguration etjob-webhook >/dev/null 2>&1; then
		skip "the webhook is installed in this cluster; tests/e2e looks at this with it"
	fi
	sed '/replicas: 2/d' examples/elastic-training.yaml | kubectl create -n "$NS" -f -
	run kubectl get --raw \
		"/apis/kai.alibabacloud.com/v1alpha1/namespaces/$NS/trainingjobs/elastic-training/scale"
	[[ "$output" == *'"spec":{"replicas":1}'* ]]
}

@test "server: variables that another manager adds are no difference" {
	need_server
	fresh_namespace
	if kubectl get validatingwebhookconfiguration etjob-webhook >/dev/null 2>&1; then
		skip "the webhook is installed in this cluster; tests/e2e looks at this with it"
	fi
	kubectl apply --server-side -n "$NS" -f examples/elastic-training.yaml
	kubectl patch -n "$NS" etj elastic-training --type=json -p '[{"op":"add",
		"path":"/spec/etReplicaSpecs/worker/template/spec/containers/0/env",
		"value":[{"name":"workers","value":"2"}]}]'
	run kubectl diff --server-side -n "$NS" -f examples/elastic-training.yaml
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
}

@test "server: whoever may edit in a namespace may train in it" {
	need_server
	fresh_namespace
	kubectl apply --server-side --force-conflicts -f manifests/base/users.yaml
	kubectl create rolebinding ed -n "$NS" --clusterrole=edit --user=ed
	kubectl create rolebinding vi -n "$NS" --clusterrole=view --user=vi
	# The roles are merged by a controller, which may need a moment.
	for _ in $(seq 100); do
		kubectl auth can-i create scaleouts.kai.alibabacloud.com -n "$NS" --as=ed -q && break
	done
	kubectl auth can-i create trainingjobs.kai.alibabacloud.com -n "$NS" --as=ed -q
	kubectl auth can-i patch trainingjobs.kai.alibabacloud.com/scale -n "$NS" --as=ed -q
	kubectl auth can-i list trainingjobs.kai.alibabacloud.com -n "$NS" --as=vi -q
	run kubectl auth can-i create trainingjobs.kai.alibabacloud.com -n "$NS" --as=vi -q
	[ "$status" -eq 1 ]
	run kubectl auth can-i update trainingjobs.kai.alibabacloud.com/status -n "$NS" --as=ed -q
	[ "$status" -eq 1 ]
}
