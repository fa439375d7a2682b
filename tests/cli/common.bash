# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of the plugin: a scratch home, one fake API server a file, exact comparison.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PLUGIN_BUILD=${BUILD:-build}
case $PLUGIN_BUILD in /*) ;; *) PLUGIN_BUILD=$TOP/$PLUGIN_BUILD ;; esac
ETJOB=$PLUGIN_BUILD/kubectl-etjob

# No terminal, no colour, no settings of whoever runs the tests.
clean_environment() {
	export HOME=$BATS_FILE_TMPDIR/home NO_COLOR=1 LC_ALL=C.UTF-8 TZ=UTC
	unset KUBECONFIG KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT HTTPS_PROXY https_proxy
	mkdir -p "$HOME"
}

# start_api [OPTION…]: starts the fake API server and points KUBECONFIG at it.
start_api() {
	API=$BATS_FILE_TMPDIR/api
	export API
	mkdir -p "$API"
	python3 "$TOP/tests/cli/fake_apiserver.py" --dir "$API" "$@" >"$API/log" 2>&1 3>&- &
	echo $! >"$API/started"
	wait_until 20 test -e "$API/ready"
	export KUBECONFIG=$API/kubeconfig
}

stop_api() {
	[ ! -s "$API/started" ] || kill "$(cat "$API/started")" 2>/dev/null || true
}

# wait_until SECONDS COMMAND…: until it succeeds.
wait_until() {
	local limit=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$limit" ] || { echo "waited in vain for: $*" >&2; return 1; }
		read -rt 0.05 <> <(:) || true
	done
}

# control METHOD PATH [BODY]: the fake server's control port.
control() {
	curl -sS -f -X "$1" "$(cat "$API/control")$2" ${3:+-H 'Content-Type: application/json' -d "$3"}
}

# An empty server before each test.
fresh_api() {
	control DELETE /rules >/dev/null
	local path
	for path in $(control GET /objects | jq -r '.[] | .apiVersion as $v | .metadata as $m |
		(if $v | contains("/") then "/apis/" else "/api/" end) + $v +
		(if $m.namespace then "/namespaces/" + $m.namespace else "" end) + "/" +
		({"TrainingJob":"trainingjobs","ScaleOut":"scaleouts","ScaleIn":"scaleins","Pod":"pods",
		  "Event":"events","ConfigMap":"configmaps","Node":"nodes","ResourceQuota":"resourcequotas",
		  "Deployment":"deployments","Service":"services","Namespace":"namespaces",
		  "CustomResourceDefinition":"customresourcedefinitions","Lease":"leases",
		  "MutatingWebhookConfiguration":"mutatingwebhookconfigurations",
		  "ValidatingWebhookConfiguration":"validatingwebhookconfigurations",
		  "EndpointSlice":"endpointslices"}[.kind] // "unknown")
		+ "/" + $m.name'); do
		case $path in */unknown/*) ;; *) control DELETE "/objects?path=$path" >/dev/null ;; esac
	done
	control DELETE /requests >/dev/null
}

# etjob STATUS ARGS…: runs the plugin; $output is stdout, $stderr what it said. A crash never passes.
etjob() {
	local want=$1
	shift
	run --separate-stderr "$ETJOB" "$@"
	# shellcheck disable=SC2154 # run sets them
	if [ "$status" != "$want" ]; then
		printf 'status %s, want %s\nstdout: %s\nstderr: %s\n' "$status" "$want" "$output" "$stderr"
		return 1
	fi
}

# same WHAT GOT WANT
same() {
	if [ "$2" != "$3" ]; then
		printf '%s is\n%s\nwant\n%s\n' "$1" "$2" "$3"
		return 1
	fi
}

out_is() {
	same stdout "$output" "$1"
}

err_is() {
	same stderr "$stderr" "$1"
}

# requests: "METHOD path?query status" a line.
requests() {
	control GET /requests | jq -r '.[] | "\(.method) \(.path)" +
		(if .query == {} then "" else "?" + ([.query | to_entries[] | "\(.key)=\(.value[0])"] | sort | join("&")) end)
		+ " \(.status)"'
}

# job NAME [JQ]: a stored job, changed by a jq program.
job() {
	jq -n --arg name "$1" '{apiVersion: "kai.alibabacloud.com/v1alpha1", kind: "TrainingJob",
		metadata: {name: $name, namespace: "default", uid: ("uid-" + $name), generation: 1,
			creationTimestamp: "2026-01-01T00:00:00Z"},
		spec: {etReplicaSpecs: {
			launcher: {replicas: 1, template: {spec: {containers: [{name: "et", image: "i", command: ["sh"]}]}}},
			worker: {replicas: 3, minReplicas: 1, maxReplicas: 9, template: {spec: {containers: [
				{name: "et", image: "i", resources: {limits: {"nvidia.com/gpu": "1"}}}]}}}}},
		status: {phase: "Running", startTime: "2026-01-01T00:00:00Z", replicas: 3,
			targetWorkers: [range(3) | $name + "-worker-\(.)"],
			currentWorkers: [range(3) | $name + "-worker-\(.)"]}}' | jq -c "${2:-.}"
}

# pod JOB ROLE INDEX [JQ]
pod() {
	jq -n --arg job "$1" --arg role "$2" --arg index "$3" '
		($job + "-" + (if $role == "launcher" then $role else "worker-" + $index end)) as $name |
		{apiVersion: "v1", kind: "Pod",
		metadata: {name: $name, namespace: "default", uid: ("uid-" + $name), creationTimestamp: "2026-01-01T00:00:00Z",
			labels: {"group-name": "kai.alibabacloud.com", "training-job-name": $job, "training-job-role": $role}},
		spec: {nodeName: "node-1", containers: [{name: "et", image: "i"} +
			(if $role == "worker" then {resources: {limits: {"nvidia.com/gpu": "1"}}} else {} end)]},
		status: {phase: "Running", podIP: "10.0.0.1",
			conditions: [{type: "Ready", status: "True"}],
			containerStatuses: [{name: "et", restartCount: 0, ready: true,
				state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]}}' | jq -c "${4:-.}"
}

# put OBJECT…: into the fake server's store.
put() {
	local object
	for object in "$@"; do
		control POST /objects "$object" >/dev/null
	done
}
