#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Self-managed certificates of two replicas, and what happens when somebody breaks them.

load webhook

setup_file() {
	install_webhook a-wh-certs 19470
	export NS=a-wh-certs-one
	new_namespace "$NS"
	start_webhook a
	start_webhook b
	until_called "$NS"
}

teardown_file() {
	remove_webhook
}

secret() {
	kubectl -n "$WH" get secret "$WH-certs" -o json | jq -j --arg k "$1" '.data[$k] | @base64d'
}

# What replica $1 serves now.
served() {
	openssl s_client -connect "127.0.0.1:$(port_of "$1")" -servername "$WH.$WH.svc" \
		</dev/null 2>/dev/null | openssl x509
}

serves() {
	[ "$(served "$1")" = "$2" ]
}

bundles() {
	kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration "$WH" -o json |
		jq -r '.items[].webhooks[].clientConfig.caBundle // "none"' | sort -u
}

bundle_is_whole() {
	[ "$(bundles)" = "$(secret ca.crt | base64 -w0)" ]
}

works() {
	job probe | kubectl -n "$NS" create --dry-run=server -f - >/dev/null
}

@test "two replicas share one CA and one certificate" {
	[ "$(served a)" = "$(secret tls.crt)" ]
	[ "$(served b)" = "$(secret tls.crt)" ]
	secret ca.crt >"$RUN/ca.crt"
	secret tls.crt >"$RUN/tls.crt"
	openssl verify -CAfile "$RUN/ca.crt" -purpose sslserver -verify_hostname "$WH.$WH.svc" "$RUN/tls.crt"
	bundle_is_whole
	works
}

@test "TLS 1.2 and 1.3 are spoken, 1.1 is not" {
	for v in -tls1_2 -tls1_3; do
		openssl s_client "$v" -connect "127.0.0.1:$(port_of a)" </dev/null >/dev/null 2>&1
	done
	run openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect "127.0.0.1:$(port_of a)" </dev/null
	[ "$status" -ne 0 ]
}

@test "an emptied CA bundle is put back at once" {
	kubectl patch validatingwebhookconfiguration "$WH" --type=json \
		-p '[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]'
	until_true 5 "the bundle is back" bundle_is_whole
	kubectl patch mutatingwebhookconfiguration "$WH" --type=json \
		-p '[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":""}]'
	until_true 5 "the bundle is back" bundle_is_whole
	until_true 5 "calls work" works
}

# A replica looks at the Secret every 10 s; touching a configuration makes it look at once.
nudge() {
	kubectl patch validatingwebhookconfiguration "$WH" --type=json \
		-p '[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":""}]' >/dev/null
}

has_two_cas() {
	[ "$(secret ca.crt | grep -c BEGIN)" = 2 ] && bundle_is_whole
}

@test "a deleted Secret is written again with a new CA in front, and calls go on" {
	before=$(secret tls.crt)
	kubectl -n "$WH" delete secret "$WH-certs"
	nudge
	until_true 10 "the Secret is back with both CAs" has_two_cas
	[ "$(secret tls.crt)" = "$before" ]
	until_true 5 "calls work" works
	grep -q "gone or unusable" "$RUN/a.log" "$RUN/b.log"
}

is_sound() {
	secret tls.crt | openssl x509 -noout 2>/dev/null && secret ca.key | openssl pkey -noout && bundle_is_whole
}

@test "a Secret full of rubbish is written again" {
	kubectl -n "$WH" patch secret "$WH-certs" -p \
		'{"stringData":{"tls.crt":"rubbish","tls.key":"rubbish","ca.crt":"rubbish","ca.key":"-----BEGIN"}}'
	nudge
	until_true 10 "the Secret is sound" is_sound
	until_true 5 "calls work" works
	kubectl -n "$WH" patch secret "$WH-certs" --type=json -p '[{"op":"remove","path":"/data"}]'
	nudge
	until_true 10 "the Secret is sound" is_sound
	until_true 5 "calls work" works
}

@test "a replica that starts with rubbish and no memory makes new ones" {
	stop_webhook a
	stop_webhook b
	kubectl -n "$WH" patch secret "$WH-certs" -p \
		'{"stringData":{"tls.crt":"rubbish","tls.key":"rubbish","ca.crt":"rubbish","ca.key":"rubbish"}}'
	start_webhook a
	until_true 10 "the Secret is sound" is_sound
	until_true 5 "calls work" works
	start_webhook b
	serves b "$(secret tls.crt)"
}

one_new_ca() {
	[ "$(secret ca.crt | grep -c BEGIN)" = 1 ] && [ "$(secret ca.crt)" != "$1" ] && bundle_is_whole
}

@test "a CA rolls over to its end while calls go on, and none fails" {
	stop_webhook a
	stop_webhook b
	start_webhook a --ca-settle=2s --ca-keep=30s
	start_webhook b --ca-settle=2s --ca-keep=30s
	until_true 10 "the Secret is sound" is_sound
	before=$(secret ca.crt)
	cert=$(secret tls.crt)
	kubectl proxy --port=19479 >/dev/null 2>&1 3>&- &
	proxy=$!
	job load | sed 's/name: load/generateName: load-/' |
		kubectl create --dry-run=client -o json -f - | jq 'del(.metadata.namespace)' >"$RUN/load.json"
	until_true 10 "the proxy answers" curl -sf http://127.0.0.1:19479/version
	"${WEBHOOK%/*}/tests/bench/load" --plain --connect=127.0.0.1:19479 --connections=2 --rate=20 \
		--seconds=60 --status=201 --expect=minWorkers --body="$RUN/load.json" \
		--path="/apis/kai.alibabacloud.com/v1alpha1/namespaces/$NS/trainingjobs?dryRun=All" \
		>"$RUN/load.out" 2>&1 3>&- &
	load=$!
	kubectl -n "$WH" delete secret "$WH-certs"
	until_true 30 "both CAs are there" has_two_cas
	until_true 58 "the new CA is alone" one_new_ca "$before"
	[ "$(secret tls.crt)" != "$cert" ]
	until_true 15 "a serves the new certificate" serves a "$(secret tls.crt)"
	until_true 15 "b serves the new certificate" serves b "$(secret tls.crt)"
	kill -0 "$load"
	wait "$load" || true
	kill "$proxy"
	cat "$RUN/load.out"
	grep -q "requests=1200 failed=0 " "$RUN/load.out"
}

@test "neither keys nor objects are in the log" {
	run ! grep -E "PRIVATE|BEGIN|busybox" "$RUN/a.log" "$RUN/b.log"
	[ "$(metric a etjob_webhook_certificate_not_after_timestamp_seconds)" -gt "$(date +%s)" ]
	[ "$(metric a etjob_webhook_ca_not_after_timestamp_seconds)" -gt "$(date +%s)" ]
}

@test "certificates from files are read again when they change" {
	stop_webhook a
	"$WEBHOOK" certs --out "$RUN/files" --dns 127.0.0.1 --dns "$WH.$WH.svc"
	start_webhook a --cert-file="$RUN/files/tls.crt" --key-file="$RUN/files/tls.key"
	[ "$(served a)" = "$(cat "$RUN/files/tls.crt")" ]
	"$WEBHOOK" certs --out "$RUN/files" --dns 127.0.0.1
	until_true 15 "the new certificate is served" serves a "$(cat "$RUN/files/tls.crt")"
	# half of a pair: the old one stays, and the log says why
	good=$(cat "$RUN/files/tls.crt")
	"$WEBHOOK" certs --out "$RUN/other" --dns 127.0.0.1
	cp "$RUN/other/tls.crt" "$RUN/files/tls.crt"
	until_true 15 "the log has it" grep -q "not the one of the certificate" "$RUN/a.log"
	[ "$(served a)" = "$good" ]
	is_ready a
}
