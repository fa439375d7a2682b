#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Two replicas at once: names under concurrency, replicas that come and go, an API server that
# is away.

load webhook

setup_file() {
	install_webhook a-wh-ha 19490
	start_webhook a
	start_webhook b
	kubectl proxy --port=19499 >"$RUN/proxy.log" 2>&1 3>&- &
	echo $! >"$RUN/proxy.pid"
	export NS=a-wh-ha-one
	new_namespace "$NS"
	until_called "$NS"
	until_true 10 "the proxy answers" curl -sf http://127.0.0.1:19499/version
}

teardown_file() {
	kill "$(cat "$RUN/proxy.pid")"
	[ ! -e "$RUN/link.pid" ] || kill "$(cat "$RUN/link.pid")"
	[ ! -e "$RUN/controller.pid" ] || kill "$(cat "$RUN/controller.pid")"
	remove_webhook
}

# Statuses of the API server's answers to N creates of one job in each of 50 namespaces.
create_everywhere() {
	local i n
	job "$1" | kubectl create --dry-run=client -o json -f - |
		jq "del(.metadata.namespace)" >"$RUN/job.json"
	for n in 1 2 3 4; do
		for i in $(seq 50); do
			printf 'url = "http://127.0.0.1:19499/apis/kai.alibabacloud.com/v1alpha1/namespaces/a-wh-many-%s/trainingjobs"\n' "$i"
			printf 'data = "@%s"\nheader = "Content-Type: application/json"\n' "$RUN/job.json"
			printf 'output = "%s/out-%s-%s"\nwrite-out = "%%{http_code}\\n"\nnext\n' "$RUN" "$n" "$i"
		done
	done | sed '$d' >"$RUN/curl"
	curl -s --parallel --parallel-max 100 --config "$RUN/curl"
}

jobs_named() {
	kubectl get trainingjobs -A -o json |
		jq -r --arg n "$1" '.items[] | select(.metadata.name == $n) | .metadata.namespace'
}

pods_of() {
	kubectl get pods -A -l "training-job-name=$1" -o json | jq -r '[.items[].metadata.namespace] | unique[]'
}

# Every job of that name but one failed for its name.
one_runs() {
	kubectl get trainingjobs -A -o json | jq -e --arg n "$1" '
		[.items[] | select(.metadata.name == $n)] as $all |
		[$all[] | select(any(.status.conditions[]?; .reason == "NameConflict"))] as $lost |
		($all | length) - ($lost | length) == 1' >/dev/null &&
		[ "$(pods_of "$1" | wc -l)" = 1 ]
}

@test "200 creates of one name in 50 namespaces against two replicas: one job runs" {
	for i in $(seq 50); do
		jq -n --arg n "a-wh-many-$i" --arg wh "$WH" --arg r "$([ $((i % 2)) = 0 ] && echo a || echo b)" \
			'{apiVersion: "v1", kind: "Namespace", metadata: {name: $n,
				labels: {"etjob.test/webhook": $wh, "etjob.test/replica": $r}}}'
	done | kubectl apply -f - >/dev/null
	until_called a-wh-many-1
	until_called a-wh-many-2
	# without a controller in the cluster, one of ours has the last word
	if ! kubectl -n etjob-system get deployment etjob-controller >/dev/null 2>&1; then
		"${WEBHOOK%/*}/etjob-controller" --leader-elect=false --listen= 2>"$RUN/controller.log" 3>&- &
		echo $! >"$RUN/controller.pid"
	fi
	create_everywhere same | sort | uniq -c >"$RUN/statuses"
	cat "$RUN/statuses"
	[ "$(awk '{n += $1} END {print n}' "$RUN/statuses")" = 200 ]
	[ "$(awk '$2 != 201 && $2 != 409' "$RUN/statuses")" = "" ]
	# one a replica at most: what it admitted it refuses from then on
	[ "$(jobs_named same | wc -l)" -le 2 ]
	[ "$(jobs_named same | wc -l)" -ge 1 ]
	until_true 30 "one job runs, any other failed" one_runs same
	grep -l "is taken by a job in namespace" "$RUN"/out-* | wc -l
	kubectl delete namespace -l "etjob.test/webhook=$WH,kubernetes.io/metadata.name!=$NS" --wait=false >/dev/null
}

@test "a name that one replica admitted is soon refused by the other" {
	new_namespace a-wh-ha-two b
	until_called a-wh-ha-two
	job handed | kubectl -n "$NS" create -f -
	taken() {
		run kubectl -n a-wh-ha-two create --dry-run=server -f - < <(job handed)
		[ "$status" -ne 0 ] && [[ $output == *"is taken by a job in namespace \"$NS\""* ]]
	}
	until_true 5 "the other replica knows" taken
}

@test "a replica that is told to end finishes its requests and says why it is not ready" {
	"$BATS_TEST_DIRNAME/../bench/review.py" 20480 >"$RUN/review.json"
	pid=$(cat "$RUN/b.pid")
	kill "$pid"
	until_true 5 "it is not ready" not_ready b
	[ "$(curl -s "http://127.0.0.1:$(($(port_of b) + 1))/readyz")" = "shutting down" ]
	# it still answers while it drains, and asks to go elsewhere
	run curl -sk -D- -H Content-Type:application/json --data-binary "@$RUN/review.json" \
		"https://127.0.0.1:$(port_of b)/mutate"
	[[ $output == *"Connection: close"* ]]
	[[ $output == *'"allowed":true'* ]]
	until_true 10 "it has ended" is_gone "$pid"
	rm "$RUN/b.pid"
	[ "$(tail -n 1 "$RUN/b.log" | grep -c 'msg=stopped')" = 1 ]
	start_webhook b
}

not_ready() {
	! is_ready "$1"
}

age_is() {
	awk -v a="$(metric a etjob_webhook_index_age_seconds)" "BEGIN {exit !(a $1)}"
}

@test "an API server that has nothing to tell is heard all the same" {
	until_true 30 "the index is some seconds old" age_is ">= 12"
	until_true 15 "it is young again, without an event" age_is "< 8"
}

# A relay between replica a and the API server, which can be cut.
link() {
	python3 - "$1" "$2" <<-'P' 3>&- &
	import asyncio, sys
	host, port = sys.argv[1].rsplit(":", 1)
	async def pipe(r, w):
	    try:
	        while data := await r.read(65536):
	            w.write(data)
	            await w.drain()
	    except OSError:
	        pass
	    w.close()
	async def serve(r, w):
	    r2, w2 = await asyncio.open_connection(host, int(port))
	    await asyncio.gather(pipe(r, w2), pipe(r2, w))
	async def main():
	    await (await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[2]))).serve_forever()
	asyncio.run(main())
	P
	echo $! >"$RUN/link.pid"
}

knows_later() {
	run kubectl -n a-wh-ha-three create --dry-run=server -f - < <(job later)
	[ "$status" -ne 0 ] && [[ $output == *"is taken by a job in namespace"* ]]
}

@test "an API server that is away: it serves on, and comes back by itself" {
	server=$(kubectl config view --raw --minify -o jsonpath='{.clusters[0].cluster.server}')
	server=${server#https://}
	link "$server" 19498
	cp "$RUN/kubeconfig" "$RUN/direct"
	jq --arg name "${server%:*}" '.clusters[0].cluster.server = "https://127.0.0.1:19498" |
		.clusters[0].cluster["tls-server-name"] = $name' "$RUN/direct" >"$RUN/kubeconfig"
	stop_webhook a
	start_webhook a
	cp "$RUN/direct" "$RUN/kubeconfig"
	new_namespace a-wh-ha-three a
	until_called a-wh-ha-three
	kill "$(cat "$RUN/link.pid")"
	until_true 10 "the log says it" grep -q "index is not fed" "$RUN/a.log"
	errors=$(metric a etjob_webhook_watch_errors_total)
	is_ready a
	refuses_bad() { is_called a-wh-ha-three; }
	refuses_bad
	# a job comes while it is blind
	new_namespace a-wh-ha-four b
	until_called a-wh-ha-four
	job later | kubectl -n a-wh-ha-four create -f -
	old_enough() {
		awk -v a="$(metric a etjob_webhook_index_age_seconds)" 'BEGIN {exit !(a > 5)}'
	}
	until_true 20 "the index grows old" old_enough
	is_ready a
	refuses_bad
	link "$server" 19498
	until_true 45 "it knows the job that came meanwhile" knows_later
	[ "$errors" -ge 1 ]
	grep -q "index is fed again" "$RUN/a.log"
}
