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
	if [ -n "${LEFT:-}" ]; then
		kubectl delete -n "$PAST" "$LEFT" --ignore-not-found --wait=false
	fi
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

@test "each right has a reason, and the code that uses it is there" {
	"$KUSTOMIZE" build manifests/base | tests/integration/rbac-rights | sort >"$BATS_TEST_TMPDIR/granted"
	grep -v '^#' tests/integration/rbac.txt | cut -d' ' -f1-3 | sort >"$BATS_TEST_TMPDIR/reviewed"
	diff "$BATS_TEST_TMPDIR/reviewed" "$BATS_TEST_TMPDIR/granted"
	failed=0
	while read -r program what verb file pattern; do
		if ! grep -qF -- "$pattern" "$file"; then
			echo "$program $what $verb: \"$pattern\" is not in $file"
			failed=1
		fi
	done < <(grep -v '^#' tests/integration/rbac.txt)
	[ "$failed" -eq 0 ]
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

# What follows goes past the webhook on purpose, in a namespace that it leaves out: it is what the
# API server itself holds. Jobs are suspended, so that no controller makes pods for them.
PAST=kube-system

bare_job() {
	sed "s/^  name: elastic-training/  name: $1/; s/^spec:/&\n  suspend: true/" \
		examples/elastic-training.yaml
}

# refused MESSAGE: the manifest on stdin is not created, and the answer has MESSAGE.
refused() {
	run kubectl create --dry-run=server -n "$PAST" -f -
	[ "$status" -eq 1 ]
	[[ "$output" == *"$1"* ]] || { echo "$output"; return 1; }
}

@test "server: CEL and bounds hold without the webhook" {
	need_server
	worker=spec.etReplicaSpecs.worker
	bare_job cel | kubectl create --dry-run=server -n "$PAST" -f -
	bare_job cel | sed 's/minReplicas: 1/minReplicas: 3/' |
		refused "$worker.minReplicas: Invalid value: \"object\": is more than replicas"
	bare_job cel | sed 's/maxReplicas: 3/maxReplicas: 1/' |
		refused "$worker.maxReplicas: Invalid value: \"object\": is less than replicas"
	bare_job cel | sed 's/minReplicas: 1/minReplicas: 0/' |
		refused "$worker.minReplicas: Invalid value: 0"
	bare_job cel | sed 's/cleanPodPolicy: Running/cleanPodPolicy: Some/' |
		refused 'spec.cleanPodPolicy: Unsupported value: "Some"'
	sed 's/count: 1/count: 0/' examples/scale-out.yaml | refused "spec.toAdd.count: Invalid value: 0"
	sed 's/^    count: 1/&\n    podNames: [a]/' examples/scale-in-by-count.yaml |
		refused 'spec.toDelete: Invalid value: "object": needs exactly one of count and podNames'
	sed '/podNames:/,$d; s/toDelete:/toDelete: {}/' examples/scale-in-by-name.yaml |
		refused 'spec.toDelete: Invalid value: "object": needs exactly one of count and podNames'
	sed '/toDelete:/,$d' examples/scale-in-by-name.yaml | refused "spec.toDelete: Required value"
}

@test "server: the scale subresource, and its bounds" {
	need_server
	LEFT=etj/manifests-$$
	bare_job "manifests-$$" | sed '/^      replicas: 2/d' | kubectl create -n "$PAST" -f -
	[ "$(kubectl get -n "$PAST" "$LEFT" -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" = 1 ]
	run kubectl scale -n "$PAST" "$LEFT" --replicas=4
	[ "$status" -eq 1 ]
	[[ "$output" == *"maxReplicas: Invalid value: \"object\": is less than replicas"* ]]
	kubectl scale -n "$PAST" "$LEFT" --replicas=3
	[ "$(kubectl get -n "$PAST" "$LEFT" -o 'jsonpath={.spec.etReplicaSpecs.worker.replicas}')" = 3 ]
}

@test "server: a scaler's spec is fixed, its metadata is not" {
	need_server
	LEFT=$(kubectl create -n "$PAST" -o name -f examples/scale-out.yaml)
	run kubectl patch -n "$PAST" "$LEFT" --type=merge -p '{"spec":{"timeout":5}}'
	[ "$status" -eq 1 ]
	[[ "$output" == *'spec: Invalid value: "object": cannot be changed: create another ScaleOut'* ]]
	kubectl label -n "$PAST" "$LEFT" still=editable
}

@test "server: variables that another manager adds are no difference" {
	need_server
	LEFT=etj/manifests-$$
	bare_job "manifests-$$" >"$BATS_TEST_TMPDIR/job.yaml"
	kubectl apply --server-side -n "$PAST" -f "$BATS_TEST_TMPDIR/job.yaml"
	kubectl patch -n "$PAST" "$LEFT" --type=json -p '[{"op":"add",
		"path":"/spec/etReplicaSpecs/worker/template/spec/containers/0/env",
		"value":[{"name":"workers","value":"2"}]}]'
	run kubectl diff --server-side -n "$PAST" -f "$BATS_TEST_TMPDIR/job.yaml"
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
	for _ in $(seq 150); do
		kubectl auth can-i create scaleouts.kai.alibabacloud.com -n "$NS" --as=ed -q && break
		sleep 0.2
	done
	kubectl auth can-i create trainingjobs.kai.alibabacloud.com -n "$NS" --as=ed -q
	kubectl auth can-i patch trainingjobs.kai.alibabacloud.com --subresource=scale -n "$NS" --as=ed -q
	kubectl auth can-i list trainingjobs.kai.alibabacloud.com -n "$NS" --as=vi -q
	run kubectl auth can-i create trainingjobs.kai.alibabacloud.com -n "$NS" --as=vi -q
	[ "$status" -eq 1 ]
	run kubectl auth can-i update trainingjobs.kai.alibabacloud.com --subresource=status -n "$NS" --as=ed -q
	[ "$status" -eq 1 ]
}
