# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs etjob-webhook as a process of this machine against a real API server, with the rights that
# the manifests give it, beside whatever is installed there. Two replicas at most: namespaces with
# the label etjob.test/replica=a or =b are sent to the one or the other.

bats_require_minimum_version 1.5.0

TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
WEBHOOK=${BUILD:-$TOP/build}
case $WEBHOOK in /*) ;; *) WEBHOOK=$TOP/$WEBHOOK ;; esac
WEBHOOK=$WEBHOOK/etjob-webhook

# The manifests under another name, so that an installed webhook is left alone.
renamed() {
	sed "s/etjob-system/$WH/g; s/etjob-webhook/$WH/g" "$TOP/manifests/base/$1"
}

port_of() {
	case $1 in a) echo "$((PORT))" ;; b) echo "$((PORT + 10))" ;; esac
}

# One entry a replica, called by URL and only for the namespaces of this test.
configurations() {
	renamed webhook-configuration.yaml |
		kubectl create --dry-run=client -o json -f - |
		jq --arg a "https://127.0.0.1:$(port_of a)" --arg b "https://127.0.0.1:$(port_of b)" \
			--arg wh "$WH" '
			.metadata.labels = {"etjob.test": $wh} |
			.webhooks = [.webhooks[] as $w | {a: $a, b: $b} | to_entries[] |
				.key as $r | .value as $url | $w |
				.name = ($r + "." + .name) |
				.clientConfig = {url: ($url + $w.clientConfig.service.path)} |
				.namespaceSelector = {matchLabels: {"etjob.test/replica": $r,
					"etjob.test/webhook": $wh}}]'
}

# install_webhook NAME PORT
# A name before "etjob-webhook" makes it the first that is called.
install_webhook() {
	export WH=$1 PORT=$2
	export RUN=$BATS_FILE_TMPDIR
	kubectl apply -k "$TOP/manifests/crds" >/dev/null
	kubectl wait --for=condition=Established --timeout=30s crd/trainingjobs.kai.alibabacloud.com \
		crd/scaleouts.kai.alibabacloud.com crd/scaleins.kai.alibabacloud.com >/dev/null
	kubectl create namespace "$WH" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
	renamed webhook-rbac.yaml | kubectl apply -f - >/dev/null
	configurations | kubectl apply -f - >/dev/null
	service_kubeconfig >"$RUN/kubeconfig"
}

remove_webhook() {
	kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration "$WH" \
		--ignore-not-found >/dev/null
	stop_webhook a
	stop_webhook b
	kubectl delete namespace -l "etjob.test/webhook=$WH" --wait=false >/dev/null
	renamed webhook-rbac.yaml | kubectl delete --ignore-not-found -f - >/dev/null
	kubectl delete namespace "$WH" --wait=false >/dev/null
}

# The admin's cluster with the service account's token.
service_kubeconfig() {
	local token
	token=$(kubectl -n "$WH" create token "$WH" --duration=2h)
	kubectl config view --raw --minify -o json |
		jq --arg token "$token" '.users[0].user = {token: $token}'
}

# start_webhook REPLICA [FLAG…]
start_webhook() {
	local r=$1 port
	shift
	port=$(port_of "$r")
	: >"$RUN/$r.log"
	"$WEBHOOK" --kubeconfig="$RUN/kubeconfig" --listen="127.0.0.1:$port" \
		--health-listen="127.0.0.1:$((port + 1))" --namespace="$WH" --service="$WH" \
		--secret="$WH-certs" --webhook-configuration="$WH" --dns=127.0.0.1 --drain=1s "$@" \
		2>>"$RUN/$r.log" 3>&- &
	echo $! >"$RUN/$r.pid"
	until_true 20 "replica $r is ready" is_ready "$r" || {
		cat "$RUN/$r.log" >&2
		return 1
	}
}

is_ready() {
	curl -sf "http://127.0.0.1:$(($(port_of "$1") + 1))/readyz" >/dev/null
}

stop_webhook() {
	local pid
	[ -e "$RUN/$1.pid" ] || return 0
	pid=$(cat "$RUN/$1.pid")
	rm "$RUN/$1.pid"
	kill -"${2:-TERM}" "$pid" 2>/dev/null || return 0
	until_true 30 "replica $1 has ended" is_gone "$pid"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

metric() {
	curl -s "http://127.0.0.1:$(($(port_of "$1") + 1))/metrics" | awk -v m="$2" '$1 == m {print $2}'
}

# until_true SECONDS WHAT COMMAND…
until_true() {
	local limit=$1 what=$2 end
	shift 2
	end=$((SECONDS + limit))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "after $limit s not: $what" >&2
			return 1
		fi
		sleep 0.1
	done
}

# new_namespace NAME [REPLICA]: one that is sent to a replica of this test.
new_namespace() {
	kubectl create namespace "$1" --dry-run=client -o json |
		jq --arg wh "$WH" --arg r "${2:-a}" \
			'.metadata.labels += {"etjob.test/webhook": $wh, "etjob.test/replica": $r}' |
		kubectl apply -f - >/dev/null
}

# until_called NAMESPACE: API servers take a moment to call a new configuration.
until_called() {
	until_true 30 "the API server calls the webhook for $1" is_called "$1"
}

is_called() {
	local out
	out=$(job probe 1 2 3 | kubectl -n "$1" create --dry-run=server -f - 2>&1) && return 1
	[[ $out == *"2 is more than replicas (1)"* ]]
}

# job NAME [WORKERS MIN MAX [LINE-OF-METADATA]]: on a node that does not exist: no pod ever runs.
job() {
	cat <<-J
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: TrainingJob
	metadata: {name: $1${5:+, $5}}
	spec:
	  etReplicaSpecs:
	    launcher:
	      template:
	        spec:
	          nodeSelector: {none: such}
	          containers: [{name: l, image: localhost/busybox:1, command: [sleep, "9"]}]
	    worker:
	      replicas: ${2:-2}
	      minReplicas: ${3:-1}
	      maxReplicas: ${4:-4}
	      template:
	        spec:
	          nodeSelector: {none: such}
	          containers: [{name: w, image: localhost/busybox:1, command: [sleep, "9"]}]
	J
}

# scaler KIND NAME JOB SPEC
scaler() {
	cat <<-S
	apiVersion: kai.alibabacloud.com/v1alpha1
	kind: $1
	metadata: {name: $2}
	spec: {selector: {name: $3}, $4}
	S
}
