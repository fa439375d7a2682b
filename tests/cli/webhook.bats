#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# etjob-webhook as a program: flags, exit statuses, certificates offline, readiness and its end.

bats_require_minimum_version 1.5.0

setup() {
	local build=${BUILD:-build}
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	case $build in /*) ;; *) build=$TOP/$build ;; esac
	WEBHOOK=$build/etjob-webhook
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR KUBECONFIG= POD_NAMESPACE=
	unset KUBERNETES_SERVICE_HOST
	cat >away <<-K
	apiVersion: v1
	kind: Config
	clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
	contexts: [{name: c, context: {cluster: c, user: u}}]
	users: [{name: u, user: {}}]
	current-context: c
	K
}

teardown() {
	[ -e pid ] || return 0
	kill "$(cat pid)" 2>/dev/null || return 0
	wait "$(cat pid)"
}

until_true() {
	local limit=$1 end
	shift
	end=$((SECONDS + limit))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

start() {
	"$WEBHOOK" --listen=127.0.0.1:19531 --health-listen=127.0.0.1:19532 --kubeconfig=away --drain=0s \
		"$@" 2>log 3>&- &
	echo $! >pid
	until_true 10 grep -q serving log
}

readyz() {
	curl -s -w ' %{http_code}' http://127.0.0.1:19532/readyz
}

@test "--version and --help" {
	run --separate-stderr "$WEBHOOK" --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^etjob-webhook\ [0-9]+\.[0-9]+\.[0-9]+ ]]
	run --separate-stderr "$WEBHOOK" --help
	[ "$status" -eq 0 ]
	[[ $output == *"--unique-names cluster|namespace"* ]]
	run --separate-stderr "$WEBHOOK" certs --help
	[ "$status" -eq 0 ]
	[[ $output == *"--out DIR"* ]]
}

# wrong TEXT ARGUMENT…: exit status 2 and this line on stderr.
wrong() {
	local text=$1
	shift
	run --separate-stderr "$WEBHOOK" "$@"
	[ "$status" -eq 2 ]
	[ "$output" = "" ]
	[[ $stderr == "etjob-webhook: "*"$text"* ]] || {
		echo "$stderr"
		return 1
	}
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "wrong flags are one line and status 2" {
	wrong "--lisen" --lisen=:1
	wrong "unexpected argument \"serve\"" serve
	wrong "--unique-names" --unique-names=everywhere
	wrong "--cert-file and --key-file go together" --cert-file=x
	wrong "--ca-keep must be at least 30s" --ca-keep=5s
	wrong "--out and at least one --dns are required" certs --out d
	wrong "is no address to listen on" --listen=nowhere --kubeconfig=away
}

@test "what cannot be had is one line and status 1" {
	run --separate-stderr "$WEBHOOK" --kubeconfig=none
	[ "$status" -eq 1 ]
	[[ $stderr == *none* ]]
	start
	run --separate-stderr "$WEBHOOK" --listen=127.0.0.1:19531 --kubeconfig=away
	[ "$status" -eq 1 ]
	[[ $stderr == "etjob-webhook: cannot listen on \"127.0.0.1:19531\": Address already in use" ]]
}

@test "certs makes a CA and a certificate that fit" {
	run "$WEBHOOK" certs --out made/here --dns a.b.svc --dns 10.0.0.1
	[ "$status" -eq 0 ]
	[ "$output" = "$(printf 'made/here/%s\n' ca.crt ca.key tls.crt tls.key)" ]
	[ "$(stat -c %a made/here/ca.key made/here/tls.key made/here/tls.crt | paste -sd' ')" = "600 600 644" ]
	openssl verify -CAfile made/here/ca.crt -purpose sslserver -verify_hostname a.b.svc made/here/tls.crt
	openssl verify -CAfile made/here/ca.crt -verify_ip 10.0.0.1 made/here/tls.crt
	run openssl verify -CAfile made/here/ca.crt -verify_hostname other.svc made/here/tls.crt
	[ "$status" -ne 0 ]
	[ "$(openssl pkey -in made/here/tls.key -pubout)" = "$(openssl x509 -in made/here/tls.crt -noout -pubkey)" ]
	run "$WEBHOOK" certs --out x --dns 'a b'
	[ "$status" -eq 1 ]
	[ "$output" = 'etjob-webhook: "a b" is no DNS name or IP address' ]
}

@test "it is not ready without a certificate, nor without the list of jobs, and says so" {
	start
	[ "$(readyz)" = "no valid certificate yet: see the log
 503" ]
	[ "$(curl -s http://127.0.0.1:19532/healthz)" = ok ]
	run curl -sk https://127.0.0.1:19531/mutate
	[ "$status" -ne 0 ]
	grep -q 'msg="certificates could not be looked after".*127.0.0.1:1' log
	kill "$(cat pid)"
	wait "$(cat pid)"
	"$WEBHOOK" certs --out c --dns 127.0.0.1 >/dev/null
	start --cert-file=c/tls.crt --key-file=c/tls.key
	until_true 5 grep -q "certificate in place" log
	[ "$(readyz)" = "the list of jobs is not read yet: see the log
 503" ]
	grep -q 'msg="index is not fed"' log
}

@test "an expired certificate, or none in the files, makes it not ready" {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout key \
		-out request 2>/dev/null
	openssl x509 -req -in request -signkey key -days -1 -out cert 2>/dev/null
	start --cert-file=cert --key-file=key
	until_true 5 grep -q "certificate in place" log
	[ "$(readyz)" = "no valid certificate in the files yet: see the log
 503" ]
	kill "$(cat pid)"
	wait "$(cat pid)"
	start --cert-file=cert --key-file=missing.key
	until_true 5 grep -q 'msg="certificate not read, the one before stays" error=.*missing.key' log
	[ "$(readyz)" = "no valid certificate in the files yet: see the log
 503" ]
}

@test "SIGTERM and SIGINT end it with status 0" {
	for signal in TERM INT; do
		start
		kill -"$signal" "$(cat pid)"
		wait "$(cat pid)"
		tail -n 1 log | grep -q 'msg=stopped'
	done
}

@test "the log can be JSON" {
	start --log-format=json
	[ "$(head -n 1 log | jq -r '.msg + " " + .level + " " + .certificates')" = "serving info self-managed" ]
}

@test "the health port answers only what it knows" {
	start
	[ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:19532/)" = 404 ]
	[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST -d x http://127.0.0.1:19532/healthz)" = 405 ]
	curl -s http://127.0.0.1:19532/metrics | grep -q '^etjob_webhook_ready 0$'
	curl -sI http://127.0.0.1:19532/metrics | grep -q 'text/plain; version=0.0.4'
}
