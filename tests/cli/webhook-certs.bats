#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Self-managed certificates against a fake API server that refuses, fails and races.

bats_require_minimum_version 1.5.0

setup() {
	local build=${BUILD:-build}
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	case $build in /*) ;; *) build=$TOP/$build ;; esac
	WEBHOOK=$build/etjob-webhook
	FAKE=$BATS_TEST_TMPDIR/fake
	cd "$BATS_TEST_TMPDIR" || return
	cat >objects.json <<-'J'
	[{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
	  "metadata": {"name": "etjob-webhook"},
	  "webhooks": [{"name": "m.etjob", "clientConfig": {"service": {"name": "etjob-webhook"}}}]},
	 {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
	  "metadata": {"name": "etjob-webhook"},
	  "webhooks": [{"name": "v.etjob", "clientConfig": {"service": {"name": "etjob-webhook"}}},
	               {"name": "w.etjob", "clientConfig": {"service": {"name": "etjob-webhook"}, "caBundle": "AAAA"}}]}]
	J
	"$TOP/tests/cli/fake_apiserver.py" --dir "$FAKE" --objects objects.json >fake.out 2>&1 3>&- &
	echo $! >fake.pid
	until_true 15 test -e "$FAKE/ready"
	CONTROL=$(cat "$FAKE/control")
}

teardown() {
	stop webhook
	stop fake
}

stop() {
	[ -e "$1.pid" ] || return 0
	kill "$(cat "$1.pid")" 2>/dev/null || true
	wait "$(cat "$1.pid")" || true
	rm "$1.pid"
}

until_true() {
	local limit=$1 end
	shift
	end=$((SECONDS + limit))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || {
			cat log fake.out >&2
			return 1
		}
		sleep 0.1
	done
}

start() {
	"$WEBHOOK" --listen=127.0.0.1:19541 --health-listen=127.0.0.1:19542 --kubeconfig="$FAKE/kubeconfig" \
		--namespace=etjob-system --drain=0s "$@" 2>log 3>&- &
	echo $! >webhook.pid
	until_true 10 grep -q serving log
}

rules() {
	curl -sf -X POST -d "$1" "$CONTROL/rules" >/dev/null
}

ready() {
	[ "$(curl -s http://127.0.0.1:19542/readyz)" = ok ]
}

objects() {
	curl -sf "$CONTROL/objects" | jq -r "[.[] | select(.kind == \"$1\")] | $2"
}

bundles() {
	objects ValidatingWebhookConfiguration '.[].webhooks[].clientConfig.caBundle // "none"' | sort -u
	objects MutatingWebhookConfiguration '.[].webhooks[].clientConfig.caBundle // "none"'
}

published() {
	[ "$(bundles | sort -u)" = "$(objects Secret '.[0].data["ca.crt"]')" ]
}

requests() {
	jq -r 'select(.method != "GET") | "\(.method) \(.path) \(.status)"' "$FAKE/requests.log"
}

@test "the first replica makes the Secret and publishes the CA" {
	start
	until_true 10 ready
	until_true 10 published
	[ "$(objects Secret '.[0].data | keys | join(" ")')" = "ca.crt ca.key tls.crt tls.key" ]
	[ "$(requests | head -n 3)" = "POST /api/v1/namespaces/etjob-system/secrets 201
PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/etjob-webhook 200
PATCH /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/etjob-webhook 200" ]
	# no key in the log
	run grep -cE 'PRIVATE|BEGIN' log
	[ "$output" = 0 ]
}

@test "a Secret that another replica made first is used" {
	start
	until_true 10 published
	cert=$(objects Secret '.[0].data["tls.crt"]')
	stop webhook
	start
	until_true 10 ready
	[ "$(openssl s_client -connect 127.0.0.1:19541 </dev/null 2>/dev/null | openssl x509 | base64 -w0)" = "$cert" ]
	[ "$(requests | grep -c '^POST')" = 1 ]
}

@test "a create that loses the race is followed by another look" {
	rules '[{"method": "POST", "path": "/api/v1/namespaces/etjob-system/secrets", "status": 409,
		"reason": "AlreadyExists", "message": "it is there"}]'
	start
	until_true 10 ready
	until_true 10 published
	[ "$(requests | grep '^POST' | paste -sd' ')" = "POST /api/v1/namespaces/etjob-system/secrets 409 POST /api/v1/namespaces/etjob-system/secrets 201" ]
}

@test "without the right to patch it serves, and says what is missing" {
	rules '[{"method": "PATCH", "path": ".*", "status": 403, "reason": "Forbidden", "times": -1,
		"message": "User \"x\" cannot patch it"}]'
	start
	until_true 10 ready
	until_true 10 grep -q 'msg="certificates could not be looked after".*cannot patch it.*serving=yes' log
	[ "$(curl -s http://127.0.0.1:19542/metrics | awk '/^etjob_webhook_certificate_errors_total/ {print ($2 > 0)}')" = 1 ]
	# once it may, it does
	curl -sf -X DELETE "$CONTROL/rules" >/dev/null
	until_true 20 published
}

@test "without the right to the Secret it is not ready, and says what is missing" {
	rules '[{"method": ".*", "path": ".*/secrets.*", "status": 403, "reason": "Forbidden", "times": -1,
		"message": "User \"x\" cannot get it"}]'
	start
	until_true 10 grep -q 'certificates could not be looked after.*cannot get it.*serving=no' log
	[ "$(curl -s http://127.0.0.1:19542/readyz)" = "no valid certificate yet: see the log" ]
	curl -sf -X DELETE "$CONTROL/rules" >/dev/null
	until_true 20 ready
}

@test "an API server that fails for a while costs nothing but time" {
	rules '[{"method": "GET", "path": ".*/secrets/.*", "status": 500, "times": 3, "message": "boom"}]'
	start
	until_true 40 ready
	until_true 10 published
}

@test "a configuration that is not there is no reason to fail" {
	curl -sf -X DELETE "$CONTROL/objects?path=/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/etjob-webhook" >/dev/null
	start
	until_true 10 ready
	valid() { [ "$(objects ValidatingWebhookConfiguration '.[].webhooks[].clientConfig.caBundle' | sort -u)" = "$(objects Secret '.[0].data["ca.crt"]')" ]; }
	until_true 10 valid
}
