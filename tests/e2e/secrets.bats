#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Keys and tokens are where they belong, and nowhere else: not in a log at -v=9, not in an event, a
# status or a ConfigMap.

load helper

setup_file() {
	new_namespace
	etjob submit secrets --image=localhost/busybox:1 --image-pull-policy=IfNotPresent --workers=1 \
		--min-workers=1 --max-workers=2 -q 'sleep 1000'
	until_true 60 "the job has its keys" k get secret secrets-ssh
}

teardown_file() {
	drop_namespace
}

# The lines of the private keys on stdin (PEM), without the first and the last of each.
key_lines() {
	sed -n '/PRIVATE KEY-----/,/-----END/p' | grep -v -e '-----'
}

# secret_keys NAMESPACE NAME: each private key in a Secret, as PEM lines and as base64 of the PEM.
secret_keys() {
	local value
	kubectl -n "$1" get secret "$2" -o json | jq -r '.data[]' | while read -r value; do
		if base64 -d <<<"$value" | grep -q 'PRIVATE KEY'; then
			base64 -d <<<"$value" | key_lines
			cut -c60-100 <<<"$value"
		fi
	done
}

# nowhere_in FILE: none of the lines on stdin is part of it.
nowhere_in() {
	local needles
	needles=$(cat)
	[ "$(wc -l <<<"$needles")" -ge 2 ] || { echo "no key to look for"; return 1; }
	[ -s "$1" ]
	if grep -qF -e "$needles" "$1"; then
		echo "a key is in $1"
		return 1
	fi
}

@test "the job's SSH key is in its Secret alone" {
	{
		k get trainingjobs,pods,configmaps,services,events -o yaml
		etjob get secrets -o yaml
		etjob describe secrets
		kubectl -n etjob-system logs -l app.kubernetes.io/part-of=etjob --tail=-1
	} >"$BATS_TEST_TMPDIR/all"
	secret_keys "$NS" secrets-ssh | nowhere_in "$BATS_TEST_TMPDIR/all"
}

@test "the webhook's keys are in its Secret alone" {
	{
		kubectl -n etjob-system get pods,events,leases -o yaml
		kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration -o yaml
		kubectl -n etjob-system logs -l app.kubernetes.io/part-of=etjob --tail=-1
	} >"$BATS_TEST_TMPDIR/all"
	secret_keys etjob-system etjob-webhook-certs | nowhere_in "$BATS_TEST_TMPDIR/all"
}

@test "the plugin prints no credential at -v=9" {
	kubectl config view --raw --minify --flatten >"$BATS_TEST_TMPDIR/config"
	k create serviceaccount talker --dry-run=client -o yaml | kubectl -n "$NS" apply -f -
	k create rolebinding talker --clusterrole=admin --serviceaccount="$NS:talker" \
		--dry-run=client -o yaml | kubectl -n "$NS" apply -f -
	token=$(k create token talker)
	for verb in list "get secrets" "describe secrets" "logs secrets" "doctor" \
		"submit again --image=localhost/busybox:1 --dry-run=server true"; do
		# shellcheck disable=SC2086
		kubectl etjob --kubeconfig "$BATS_TEST_TMPDIR/config" -n "$NS" -v=9 $verb \
			>>"$BATS_TEST_TMPDIR/all" 2>&1 || true
		# shellcheck disable=SC2086
		kubectl etjob --token "$token" -n "$NS" -v=9 $verb >>"$BATS_TEST_TMPDIR/all" 2>&1 || true
	done
	# It did talk.
	grep -q '/apis/kai.alibabacloud.com/v1alpha1' "$BATS_TEST_TMPDIR/all"
	{
		sed -n 's/^ *client-key-data: //p' "$BATS_TEST_TMPDIR/config" | base64 -d | key_lines
		sed -n 's/^ *client-key-data: //p' "$BATS_TEST_TMPDIR/config" | cut -c60-100
		cut -d. -f3 <<<"$token" | cut -c1-40
	} | nowhere_in "$BATS_TEST_TMPDIR/all"
	secret_keys "$NS" secrets-ssh | nowhere_in "$BATS_TEST_TMPDIR/all"
}
