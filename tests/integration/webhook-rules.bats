#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Every rule through the real API server: webhook-rules.tsv, each row a dry run. Values too: what
# the webhook adds around them must leave them as they are.

load webhook

setup_file() {
	install_webhook a-wh-rules 19510
	start_webhook a
	export NS=a-wh-rules-one
	new_namespace "$NS"
	until_called "$NS"
	kubectl proxy --port=19519 >/dev/null 2>&1 3>&- &
	echo $! >"$RUN/proxy.pid"
	job rules | kubectl -n "$NS" create -f -
	# where no controller runs, the job gets its status from here
	kubectl -n "$NS" patch trainingjob rules --subresource=status --type=merge -p \
		'{"status":{"phase":"Running","replicas":2,"targetWorkers":["rules-worker-0","rules-worker-1"]}}'
	job sound | kubectl create --dry-run=client -o json -f - >"$RUN/job.json"
	scaler ScaleOut so rules 'toAdd: {count: 1}' | kubectl create --dry-run=client -o json -f - >"$RUN/out.json"
	scaler ScaleIn si rules 'toDelete: {count: 1}' | kubectl create --dry-run=client -o json -f - >"$RUN/in.json"
	until_true 10 "the proxy answers" curl -sf http://127.0.0.1:19519/version
	until_true 10 "the index has the status" knows_workers
}

teardown_file() {
	kill "$(cat "$RUN/proxy.pid")"
	remove_webhook
}

# post KIND: an object on standard input, as a dry run; prints the answer.
post() {
	local plural
	case $1 in job) plural=trainingjobs ;; out) plural=scaleouts ;; in) plural=scaleins ;; esac
	curl -s -H Content-Type:application/json --data-binary @- \
		"http://127.0.0.1:19519/apis/kai.alibabacloud.com/v1alpha1/namespaces/$NS/$plural?dryRun=All&fieldValidation=Strict"
}

# made KIND PROGRAM: the sound object changed. L, W and C stand for launcher, worker and its container.
made() {
	local program=$2
	program=${program//L./.spec.etReplicaSpecs.launcher.}
	program=${program//W./.spec.etReplicaSpecs.worker.}
	program=${program//C./.spec.etReplicaSpecs.worker.template.spec.containers[0].}
	jq -c "del(.metadata.namespace) | $program" "$RUN/$1.json"
}

knows_workers() {
	[ "$(made in '.spec.toDelete = {podNames: ["rules-worker-0"]}' | post in | jq -r .kind)" = ScaleIn ]
}

@test "each row of webhook-rules.tsv" {
	failed=0
	rows=0
	while IFS=$'\t' read -r kind program want; do
		case $kind in '#'* | '') continue ;; esac
		rows=$((rows + 1))
		answer=$(made "$kind" "$program" | post "$kind")
		if [ "$want" = ok ]; then
			got=$(jq -r 'if .kind == "Status" then .message else "ok" end' <<<"$answer")
			[ "$got" = ok ] && continue
		else
			got=$(jq -r '.message // "allowed"' <<<"$answer")
			[[ $got == *"$want"* ]] && continue
		fi
		printf '%s  %s\n  want: %s\n  got:  %s\n' "$kind" "$program" "$want" "$got"
		failed=$((failed + 1))
	done <"$BATS_TEST_DIRNAME/webhook-rules.tsv"
	[ "$rows" -gt 55 ]
	[ "$failed" -eq 0 ]
}

@test "large and long numbers are left as they are" {
	made job 'W.template.spec.terminationGracePeriodSeconds = 1' |
		sed 's/"terminationGracePeriodSeconds":1/"terminationGracePeriodSeconds":9007199254740993/' \
		>"$RUN/numbers.json"
	grep -q 9007199254740993 "$RUN/numbers.json"
	post job <"$RUN/numbers.json" >"$RUN/numbers.out"
	grep -q '"terminationGracePeriodSeconds": *9007199254740993\b' "$RUN/numbers.out"
	grep -q '"minWorkers"' "$RUN/numbers.out"
}

@test "a finished job takes metadata, ttl and suspend, and no more" {
	job done | kubectl -n "$NS" create -f -
	kubectl -n "$NS" patch trainingjob done --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}'
	kubectl -n "$NS" label trainingjob done a=b
	kubectl -n "$NS" patch trainingjob done --type=merge -p '{"spec":{"ttlSecondsAfterFinished":100000}}'
	run kubectl -n "$NS" patch trainingjob done --type=merge \
		-p '{"spec":{"etReplicaSpecs":{"worker":{"maxReplicas":9}}}}'
	[ "$status" -ne 0 ]
	[[ $output == *"(Conflict)"* ]]
	until_true 10 "a scaler is refused" finished_is_known
}

finished_is_known() {
	[[ $(made out '.spec.selector.name = "done"' | post out | jq -r .message) == *"job \"done\" has finished"* ]]
}

@test "a suspended job and one that is being deleted take no scaler" {
	job held 2 1 4 'finalizers: [etjob.test/hold]' | kubectl -n "$NS" create -f -
	kubectl -n "$NS" patch trainingjob held --type=merge -p '{"spec":{"suspend":true}}'
	says() {
		[[ $(made out '.spec.selector.name = "held"' | post out | jq -r .message) == *"$1"* ]]
	}
	until_true 10 "the suspension is known" says 'job "held" is suspended'
	kubectl -n "$NS" delete trainingjob held --wait=false
	until_true 10 "the deletion is known" says 'job "held" is being deleted'
	kubectl -n "$NS" patch trainingjob held --type=merge -p '{"metadata":{"finalizers":null}}'
}
