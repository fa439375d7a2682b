#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The overlays, really installed in place of the base, and the base again after each.

load helper

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	KUSTOMIZE=$("$TOP/tests/tools/tool" kustomize)
	export TOP KUSTOMIZE
	new_namespace
}

teardown_file() {
	kubectl delete namespace training --ignore-not-found --wait=false
	kubectl delete -f "$TOP/tests/integration/cert-manager-kinds.yaml" --ignore-not-found
	kubectl -n etjob-system delete secret etjob-webhook-tls --ignore-not-found
	"$TOP/tests/cluster/install-etjob" "${BUILD:-build}"
	drop_namespace
}

# use OVERLAY: that and nothing else of ours, ready.
use() {
	"$KUSTOMIZE" build "$TOP/manifests/base" >"$BATS_TEST_TMPDIR/base.yaml"
	"$KUSTOMIZE" build "$TOP/$1" >"$BATS_TEST_TMPDIR/new.yaml"
	kubectl apply --server-side --force-conflicts -f "$BATS_TEST_TMPDIR/new.yaml"
	# What the base has and the overlay has not, except kinds, whose objects would go with them.
	kubectl get -f "$BATS_TEST_TMPDIR/base.yaml" --ignore-not-found -o name |
		grep -v customresourcedefinition | sort >"$BATS_TEST_TMPDIR/have"
	kubectl get -f "$BATS_TEST_TMPDIR/new.yaml" -o name | sort >"$BATS_TEST_TMPDIR/want"
	for name in $(comm -23 "$BATS_TEST_TMPDIR/have" "$BATS_TEST_TMPDIR/want"); do
		kubectl delete -n etjob-system "$name"
	done
	kubectl -n etjob-system rollout status deployment/etjob-webhook --timeout=90s
	if grep -q deployment.apps/etjob-controller "$BATS_TEST_TMPDIR/want"; then
		kubectl -n etjob-system rollout status deployment/etjob-controller --timeout=90s
	fi
}

# plain_job NAME: two workers that only wait.
plain_job() {
	cat <<-END
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: $1}
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
	      template:
	        spec:
	          terminationGracePeriodSeconds: 2
	          containers:
	            - name: worker
	              image: localhost/busybox:1
	              command: [sh, -c, "trap exit TERM; while :; do sleep 1; done"]
	END
}

# The names of the variables and the mounts that the webhook gives a launcher.
given() {
	plain_job given | kubectl create --dry-run=server -n "$NS" -o json -f - |
		jq -r '.spec.etReplicaSpecs.launcher.template.spec.containers[0]
			| [(.env // [])[].name, (.volumeMounts // [])[].mountPath] | join(" ")'
}

given_is() {
	[ "$(given 2>/dev/null)" = "$1" ]
}

@test "et-operator: variables but no mount, and no controller" {
	use manifests/overlays/et-operator
	until_true 30 "injection without the mount" given_is "workers gpus minWorkers maxWorkers"
	run kubectl -n etjob-system get deployment -o name
	[ "$output" = deployment.apps/etjob-webhook ]
	kubectl get crd trainingjobs.kai.alibabacloud.com
}

@test "cert-manager: the webhook reads its certificate, and may write none" {
	kubectl apply --server-side -f "$TOP/tests/integration/cert-manager-kinds.yaml"
	kubectl wait --for=condition=Established --timeout=30s \
		crd/issuers.cert-manager.io crd/certificates.cert-manager.io
	# What cert-manager would do: a Secret, and the CA in both configurations.
	"${ETJOB_BUILD:-$TOP/build}/etjob-webhook" certs --out "$BATS_TEST_TMPDIR/tls" \
		--dns etjob-webhook.etjob-system.svc
	kubectl -n etjob-system create secret tls etjob-webhook-tls --cert "$BATS_TEST_TMPDIR/tls/tls.crt" \
		--key "$BATS_TEST_TMPDIR/tls/tls.key" --dry-run=client -o yaml | kubectl apply -f -
	use manifests/overlays/cert-manager
	ca=$(base64 -w0 <"$BATS_TEST_TMPDIR/tls/ca.crt")
	for kind in mutating validating; do
		kubectl patch "${kind}webhookconfiguration" etjob-webhook --type=json -p \
			"[{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"$ca\"}]"
	done
	until_true 30 "an answer over the given certificate" \
		given_is "workers gpus minWorkers maxWorkers /etc/edl"
	account=system:serviceaccount:etjob-system:etjob-webhook
	for right in "create secrets" "patch mutatingwebhookconfigurations/etjob-webhook"; do
		# shellcheck disable=SC2086
		run kubectl auth can-i -q $right -n etjob-system --as="$account"
		[ "$status" -eq 1 ]
	done
	# Replicas of before, on their way out, may complain that they no longer may.
	seen=0
	for pod in $(kubectl -n etjob-system get pods -l app.kubernetes.io/name=etjob-webhook -o name); do
		kubectl -n etjob-system logs "$pod" >"$BATS_TEST_TMPDIR/log" || continue
		grep -q certificates=files "$BATS_TEST_TMPDIR/log" || continue
		seen=$((seen + 1))
		run grep level=error "$BATS_TEST_TMPDIR/log"
		[ "$output" = "" ] || { echo "$output"; return 1; }
	done
	[ "$seen" -eq 2 ]
}

@test "namespace-scoped: jobs of that namespace run, others wait" {
	kubectl create namespace training --dry-run=client -o yaml | kubectl apply -f -
	use manifests/overlays/namespace-scoped
	plain_job same | kubectl create -n training -f -
	# A name is taken in its own namespace only, and nobody checks this one.
	plain_job same | kubectl create -n "$NS" -f -
	until_true 60 "the job in training runs" \
		eval "kubectl get -n training trainingjob same -o jsonpath={.status.phase} | grep -qx Running"
	[ "$(k get trainingjob same -o 'jsonpath={.status.phase}')" = "" ]
	[ "$(k get pods -o name)" = "" ]
	account=system:serviceaccount:etjob-system:etjob-controller
	run kubectl auth can-i -q create pods -n "$NS" --as="$account"
	[ "$status" -eq 1 ]
	kubectl delete -n training trainingjob same --wait --timeout=60s
	k delete trainingjob same --wait --timeout=60s
}

@test "the scripts component lets the controller exec, and nothing else does" {
	account=system:serviceaccount:etjob-system:etjob-controller
	use manifests/base
	run kubectl auth can-i -q create pods --subresource=exec -n "$NS" --as="$account"
	[ "$status" -eq 1 ]
	mkdir -p "$BATS_TEST_TMPDIR/scripts"
	cat >"$BATS_TEST_TMPDIR/scripts/kustomization.yaml" <<-END
	resources: [$(realpath --relative-to="$BATS_TEST_TMPDIR/scripts" "$TOP")/manifests/base]
	components: [$(realpath --relative-to="$BATS_TEST_TMPDIR/scripts" "$TOP")/manifests/components/scripts]
	END
	"$KUSTOMIZE" build "$BATS_TEST_TMPDIR/scripts" | kubectl apply --server-side --force-conflicts -f -
	kubectl -n etjob-system rollout status deployment/etjob-controller --timeout=90s
	kubectl auth can-i -q create pods --subresource=exec -n "$NS" --as="$account"
	kubectl delete clusterrole,clusterrolebinding etjob-controller-scripts
}
