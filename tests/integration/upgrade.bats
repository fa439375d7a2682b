#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# From et-operator's CRD to ours and back: objects of running jobs stay as they are. The group has
# another name here, so that the cluster's own CRDs are left in peace.

GROUP=upgrade.etjob.example
CRD=trainingjobs.$GROUP

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	if [ -z "${KUBECONFIG:-}" ]; then
		skip "KUBECONFIG is unset: no API server to ask"
	fi
	NS=upgrade-$$
	kubectl create namespace "$NS"
	install_crd tests/integration/et-operator-crd.yaml
}

teardown() {
	if [ -n "${NS:-}" ]; then
		kubectl delete crd "$CRD" --ignore-not-found
		kubectl delete namespace "$NS" --wait=false
	fi
}

# install_crd FILE, and wait until the API server serves it: only ours knows startPolicy.
install_crd() {
	local want=1
	sed -e "s/kai\.alibabacloud\.com/$GROUP/" -e '/shortNames:/d' -e '/categories:/d' "$1" |
		kubectl apply --server-side --force-conflicts -f -
	kubectl wait --for=condition=Established --timeout=30s "crd/$CRD"
	if [[ "$1" == manifests/* ]]; then
		want=0
	fi
	for _ in $(seq 150); do
		[ "$(knows_start_policy)" = "$want" ] && return 0
		sleep 0.2
	done
	echo "the API server still serves the CRD from before"
	return 1
}

knows_start_policy() {
	sed -e "s/kai\.alibabacloud\.com/$GROUP/; s/^spec:/&\n  startPolicy: All/; s/^  name:.*/  name: probe/" \
		examples/elastic-training.yaml |
		kubectl create --dry-run=server --validate=strict -n "$NS" -f - >"$BATS_TEST_TMPDIR/probe" 2>&1 &&
		echo 0 && return 0
	grep -q 'unknown field "spec.startPolicy"' "$BATS_TEST_TMPDIR/probe" && echo 1
	return 0
}

# A job as et-operator has it while it runs.
running_job() {
	sed "s/kai\.alibabacloud\.com/$GROUP/" examples/elastic-training.yaml |
		kubectl create -n "$NS" -f -
	kubectl patch -n "$NS" "$CRD/elastic-training" --subresource=status --type=merge -p '{"status": {
		"phase": "Running", "currentScaler": "", "replicas": 2, "workerSelector": "group-name=x",
		"startTime": "2026-01-02T03:04:05Z", "lastReconcileTime": "2026-01-02T03:04:06Z",
		"targetWorkers": ["elastic-training-worker-0", "elastic-training-worker-1"],
		"currentWorkers": ["elastic-training-worker-0", "elastic-training-worker-1"],
		"conditions": [{"type": "Created", "status": "True", "reason": "r", "message": "m",
			"lastUpdateTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z"},
			{"type": "Scaling", "status": "False"}, {"type": "ScaleFailed", "status": "True"}],
		"replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 2}}}}'
}

object() {
	kubectl get -n "$NS" "$CRD/elastic-training" -o json |
		jq -S '{uid: .metadata.uid, version: .metadata.resourceVersion, spec, status}'
}

@test "a running job is the same under et-operator's CRD, ours, and et-operator's again" {
	running_job
	object >"$BATS_TEST_TMPDIR/before"
	install_crd manifests/crds/trainingjobs.yaml
	object >"$BATS_TEST_TMPDIR/ours"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/ours"
	# It can be changed there: its status, its size, its metadata.
	kubectl scale -n "$NS" "$CRD/elastic-training" --replicas=3
	kubectl patch -n "$NS" "$CRD/elastic-training" --subresource=status --type=merge \
		-p '{"status":{"phase":"Scaling"}}'
	kubectl label -n "$NS" "$CRD/elastic-training" moved=yes
	object | jq 'del(.version)' >"$BATS_TEST_TMPDIR/changed"
	install_crd tests/integration/et-operator-crd.yaml
	object | jq 'del(.version)' >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/changed" "$BATS_TEST_TMPDIR/after"
}

@test "a job that breaks our rules may still finish under our CRD" {
	sed -e "s/kai\.alibabacloud\.com/$GROUP/; s/minReplicas: 1/minReplicas: 5/" \
		examples/elastic-training.yaml | kubectl create -n "$NS" -f -
	install_crd manifests/crds/trainingjobs.yaml
	kubectl patch -n "$NS" "$CRD/elastic-training" --subresource=status --type=merge \
		-p '{"status":{"phase":"Succeeded"}}'
	kubectl annotate -n "$NS" "$CRD/elastic-training" still=editable
	kubectl delete -n "$NS" "$CRD/elastic-training" --wait --timeout=30s
}
