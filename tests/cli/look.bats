#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# describe, events, history, top, doctor, install, exec: what tells of a job and of the cluster.

load common

setup_file() {
	clean_environment
	start_api
}

teardown_file() {
	stop_api
}

setup() {
	fresh_api
}

HISTORY='.status.scaleHistory = [
	{time: "2026-01-01T00:00:00Z", from: 0, to: 3, cause: "Submitted"},
	{time: "2026-01-01T00:10:00Z", from: 3, to: 5, cause: "ScaleOut a-1", result: "ScaleSucceeded"},
	{time: "2026-01-01T00:20:00Z", from: 5, to: 2, cause: "ScaleIn a-2", result: "ScaleSucceeded"}]
	| .status.phase = "Succeeded" | .status.completionTime = "2026-01-01T00:30:00Z"'

# event NAME KIND OBJECT SECONDS MESSAGE
event() {
	jq -nc --arg name "$1" --arg kind "$2" --arg object "$3" --arg at "2026-01-01T00:00:$4Z" --arg message "$5" \
		'{apiVersion: "v1", kind: "Event", metadata: {name: $name, namespace: "default"}, type: "Normal", reason: "R",
		involvedObject: {kind: $kind, name: $object}, lastTimestamp: $at, message: $message, count: 2}'
}

@test "history: a chart, a table, and a picture" {
	put "$(job a "$HISTORY")"
	etjob 0 history a -o table
	same table "$(sed -E 's/ +/ /g; s/ $//' <<<"$output")" 'TIME WORKERS CAUSE RESULT
2026-01-01T00:00:00Z 0 -> 3 Submitted
2026-01-01T00:10:00Z 3 -> 5 ScaleOut a-1 ScaleSucceeded
2026-01-01T00:20:00Z 5 -> 2 ScaleIn a-2 ScaleSucceeded'
	LC_ALL=C etjob 0 history a
	same chart "$(head -7 <<<"$output")" '    5 |                        ########################
    4 |                        ########################
    3 |################################################
    2 |########################################################################
    1 |########################################################################
    0 +------------------------------------------------------------------------
       0                                                                    30m'
	etjob 0 history a -o svg --file="$BATS_TEST_TMPDIR/h.svg"
	out_is ''
	same svg "$(python3 -c 'import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); n = "{http://www.w3.org/2000/svg}"; print(r.tag, len(r.findall(n + "path")), len(r.findall(n + "circle")), [t.text for t in r.findall(n + "text") if "ScaleIn" in (t.text or "")][0])' "$BATS_TEST_TMPDIR/h.svg")" \
		'{http://www.w3.org/2000/svg}svg 1 2 2. 2026-01-01T00:20:00Z  5 to 2  ScaleIn a-2: ScaleSucceeded'
}

@test "events are those of the job, its pods and its scalers" {
	put "$(event e1 TrainingJob a 03 third)" "$(event e2 Pod a-worker-1 01 first)" "$(event e3 ScaleOut a-1609914643 02 second)" \
		"$(event e4 TrainingJob ab 04 no)" "$(event e5 Pod a-other 04 no)" "$(event e6 Pod a 04 no)"
	etjob 0 events a --no-headers
	same events "$(sed -E 's/ +/ /g; s/^[^ ]+ //' <<<"$output")" 'Normal R pod/a-worker-1 first (x2)
Normal R scaleout/a-1609914643 second (x2)
Normal R trainingjob/a third (x2)'
	etjob 0 events b
	out_is ''
	err_is 'No events of job "b": they are kept for an hour or so'
}

@test "events -w goes on until the job has ended" {
	put "$(job a)" "$(event e1 TrainingJob a 01 one)"
	"$ETJOB" events a -w --no-headers >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	local pid=$!
	wait_until 10 grep -q one "$BATS_TEST_TMPDIR/out"
	put "$(event e2 Pod a-worker-0 02 two)" "$(event e3 Pod b-worker-0 02 no)"
	wait_until 10 grep -q two "$BATS_TEST_TMPDIR/out"
	put "$(job a '.status.phase = "Failed"')"
	wait "$pid"
	same events "$(awk '{print $4}' "$BATS_TEST_TMPDIR/out")" 'trainingjob/a
pod/a-worker-0'
}

@test "describe has everything on one page" {
	put "$(job a "$HISTORY | .status.conditions = [{type: \"Succeeded\", status: \"True\", reason: \"Done\", message: \"m\", lastTransitionTime: \"2026-01-01T00:30:00Z\"}]")" \
		"$(pod a launcher 0)" "$(event e1 TrainingJob a 01 one)" \
		'{"apiVersion":"kai.alibabacloud.com/v1alpha1","kind":"ScaleOut","metadata":{"name":"a-1","namespace":"default"},"spec":{"selector":{"name":"a"},"toAdd":{"count":2}},"status":{"phase":"ScaleFailed","conditions":[{"type":"ScaleFailed","status":"True","reason":"TimedOut","message":"0/1 nodes"}]}}'
	etjob 0 describe a
	err_is ''
	[[ $output == *$'\nScaling:\n'* ]]
	[[ $output == *'ScaleOut a-1'*'+2  ScaleFailed    TimedOut: 0/1 nodes'* ]]
	[[ $output == *$'\nConditions:\n  Succeeded        True   2026-01-01T00:30:00Z  Done: m\n'* ]]
	[[ $output == *$'\nLauncher container et:\n  Image:    i\n  Command:  sh\n'* ]]
	[[ $output == *$'\nWorker container et:\n  Image:    i\n  Limit:    nvidia.com/gpu 1\n'* ]]
	[[ $output == *$'\nEvents:\n'*trainingjob/a* ]]
	same requests "$(requests | wc -l)" 5
}

@test "describe without a right costs only that part" {
	put "$(job a)"
	control POST /rules '[{"path": ".*/events", "times": -1, "status": 403, "reason": "Forbidden", "message": "events is forbidden"}]'
	etjob 0 describe a
	err_is 'Warning: the events are not shown: Error from server (Forbidden): events is forbidden'
	[[ $output == 'Name:        a'* ]]
}

@test "top without the metrics API" {
	control POST /rules '[{"path": "/apis/metrics.*", "status": 404, "reason": "NotFound", "message": "the server could not find the requested resource"}]' >/dev/null
	etjob 1 top a
	err_is 'error: Metrics API not available: it comes with metrics-server'
}

@test "install --dry-run prints the base, nothing is asked of a server" {
	etjob 0 install --dry-run -o yaml
	same yaml "$output" "$("$TOP/scripts/install-yaml")"
	etjob 0 install --dry-run -o json --image=other:1
	same images "$(jq -c '[.items[] | select(.kind == "Deployment").spec.template.spec.containers[].image] | unique' <<<"$output")" '["other:1"]'
	etjob 2 install -n elsewhere
	err_is 'error: etjob lives in the namespace etjob-system: for another one change the manifests (--dry-run -o yaml)'
	same requests "$(requests)" ''
}

@test "uninstall spares jobs" {
	put "$(job a)"
	etjob 1 uninstall
	err_is 'error: there are 1 jobs, which would be deleted with the CRDs: give --keep-crds to keep them, or --yes'
	same deleted "$(requests | grep -c DELETE || true)" 0
	etjob 0 uninstall --keep-crds --dry-run
	[[ $output != *customresourcedefinition* ]]
}

@test "exec and attach run kubectl with the right pod and container" {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nprintf "[%%s]" "$@"\nexit 7\n' >"$BATS_TEST_TMPDIR/bin/kubectl"
	chmod +x "$BATS_TEST_TMPDIR/bin/kubectl"
	put "$(job a)" "$(pod a launcher 0)" "$(pod a worker 0)" "$(pod a worker 1 '.status.phase = "Pending" | .status.containerStatuses = []')"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH etjob 7 exec a -- ls -l 'a b'
	out_is '[exec][--namespace=default][a-launcher][--container=et][--][ls][-l][a b]'
	PATH=$BATS_TEST_TMPDIR/bin:$PATH etjob 7 exec a -i worker-0 --stdin -t --context=fake -- sh
	out_is '[exec][--context=fake][--namespace=default][--stdin][--tty][a-worker-0][--container=et][--][sh]'
	PATH=$BATS_TEST_TMPDIR/bin:$PATH etjob 7 attach a
	out_is '[attach][--namespace=default][a-launcher][--container=et]'
	etjob 1 exec a -i worker-1 -- ls
	err_is 'error: pod "a-worker-1" does not run: it is Pending'
	etjob 2 exec a --token=secret -- ls
	[[ $stderr == 'error: exec and attach run kubectl, which would show --token'* ]]
	run --separate-stderr env PATH=/nonexistent "$ETJOB" exec a -- ls
	same status "$status" 1
	err_is 'error: kubectl is not on the PATH: exec and attach use it'
}

# well: a cluster in which etjob is as it should be.
well() {
	local ca
	openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=ca -days 30 2>/dev/null >"$BATS_FILE_TMPDIR/ca"
	ca=$(base64 -w0 "$BATS_FILE_TMPDIR/ca")
	"$ETJOB" install --dry-run -o json | jq -c --arg ca "$ca" '.items[] |
		if .kind | test("WebhookConfiguration") then .webhooks[].clientConfig.caBundle = $ca
		elif .kind == "Deployment" then .status = {availableReplicas: .spec.replicas}
		else . end | select(.kind | test("WebhookConfiguration|Deployment|CustomResourceDefinition"))' >"$BATS_FILE_TMPDIR/objects"
	while read -r object; do put "$object"; done <"$BATS_FILE_TMPDIR/objects"
	put '{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"s","namespace":"etjob-system","labels":{"kubernetes.io/service-name":"etjob-webhook"}},"endpoints":[{"conditions":{"ready":true}}]}' \
		"$(jq -nc --arg at "$(date -u +%FT%T.000000Z)" '{apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: {name: "etjob-controller", namespace: "etjob-system"}, spec: {holderIdentity: "pod-1", renewTime: $at}}')"
	rule "{\"method\": \"POST\", \"path\": \".*/selfsubjectaccessreviews\", \"times\": -1, \"status\": 201, \"body\": \"{\\\"status\\\": {\\\"allowed\\\": true}}\", \"content_type\": \"application/json\"}"
	rule "{\"method\": \"POST\", \"path\": \".*/trainingjobs\", \"times\": -1, \"status\": 422, \"reason\": \"Invalid\", \"message\": \"admission webhook denied the request: env\"}"
	rule "{\"method\": \"POST\", \"path\": \".*/configmaps\", \"times\": -1, \"status\": 201, \"body\": \"{\\\"metadata\\\": {\\\"creationTimestamp\\\": \\\"$(date -u +%FT%TZ)\\\"}}\", \"content_type\": \"application/json\"}"
}

rule() {
	control POST /rules "[$1]" >/dev/null
}

# finds CHECK TEXT: doctor fails, and this is the only thing that it finds, with something to do.
finds() {
	etjob 1 doctor -o json
	same "findings of $1" "$(jq -r '.findings[] | select(.status != "ok") | .check' <<<"$output" | sort -u)" "$1"
	[[ $(jq -r '.findings[] | select(.status != "ok").message' <<<"$output") == *"$2"* ]] || { echo "no \"$2\" in $output"; return 1; }
	same fixes "$(jq '[.findings[] | select(.status != "ok" and .fix == null)] | length' <<<"$output")" 0
}

@test "doctor: all is well" {
	well
	etjob 0 doctor
	same bad "$(grep -cv '^ok ' <<<"$output" || true)" 0
}

@test "doctor finds a missing and an old CRD" {
	well
	put "$(jq -c 'select(.kind == "CustomResourceDefinition" and .metadata.name == "scaleouts.kai.alibabacloud.com") | del(.spec.versions[0].subresources)' "$BATS_FILE_TMPDIR/objects")"
	finds crd 'scaleouts.kai.alibabacloud.com is of another version: spec.versions[0].subresources'
	control DELETE '/objects?path=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaleouts.kai.alibabacloud.com' >/dev/null
	finds crd 'scaleouts.kai.alibabacloud.com is missing'
}

@test "doctor finds a webhook that is down, has a wrong CA, or no endpoint" {
	well
	local text
	for text in 'connect: connection refused' 'x509: certificate signed by unknown authority' 'x509: certificate has expired or is not yet valid' 'no endpoints available for service \"etjob-webhook\"' 'context deadline exceeded'; do
		rule "{\"method\": \"POST\", \"path\": \".*/trainingjobs\", \"status\": 500, \"reason\": \"InternalError\", \"message\": \"failed calling webhook: $text\"}"
		finds probe "${text//\\/}"
	done
	put '{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"s","namespace":"etjob-system","labels":{"kubernetes.io/service-name":"etjob-webhook"}},"endpoints":[{"conditions":{"ready":false}}]}'
	finds endpoints 'no pod of the webhook is ready'
}

@test "doctor finds an expired certificate" {
	well
	openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=ca -days -1 2>/dev/null >"$BATS_TEST_TMPDIR/old" || skip 'this openssl makes no expired certificate'
	put "$(jq -c --arg ca "$(base64 -w0 "$BATS_TEST_TMPDIR/old")" 'select(.kind == "ValidatingWebhookConfiguration") | .webhooks[].clientConfig.caBundle = $ca' "$BATS_FILE_TMPDIR/objects")"
	finds certificate 'has expired'
}

@test "doctor finds a missing right" {
	well
	rule '{"method": "POST", "path": ".*/selfsubjectaccessreviews", "status": 201, "body": "{\"status\": {\"allowed\": false}}", "content_type": "application/json"}'
	finds rights 'you may not in namespace "default": create trainingjobs'
}

@test "doctor finds that no controller leads" {
	well
	put '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"etjob-controller","namespace":"etjob-system"},"spec":{"holderIdentity":"pod-1","renewTime":"2026-01-01T00:00:00.000000Z"}}'
	finds controller 'the controller pod-1 was last alive'
}

@test "doctor finds et-operator beside ours" {
	well
	put '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"et-operator","namespace":"kube-ai"},"spec":{"replicas":1}}'
	finds neighbours 'et-operator runs beside our controller (kube-ai/et-operator)'
}

@test "doctor finds clocks that differ" {
	well
	rule '{"method": "POST", "path": ".*/configmaps", "status": 201, "body": "{\"metadata\": {\"creationTimestamp\": \"2026-01-01T00:00:00Z\"}}", "content_type": "application/json"}'
	etjob 0 doctor -o json
	[[ $(jq -r '.findings[] | select(.check == "clock") | .status + ": " + .message' <<<"$output") == "warning: this machine's clock is "*' s ahead of the server'"'"'s' ]]
}

@test "doctor on a server without etjob" {
	etjob 1 doctor -o json
	same failed "$(jq -c '[.findings[] | select(.status == "failed").check] | unique' <<<"$output")" '["controller","crd","deployment","endpoints","probe","webhook"]'
	same fixes "$(jq -c '[.findings[] | select(.status == "failed" and .fix == null)]' <<<"$output")" '[]'
}
