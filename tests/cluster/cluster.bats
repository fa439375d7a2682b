#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The cluster tool: what it promises in README.md. Brings the machine's cluster up and down.

setup_file() {
	CLUSTER=$BATS_TEST_DIRNAME/cluster
	STATE=${ETJOB_CLUSTER_STATE:-/var/tmp/etjob-cluster-$(id -u)}
	export CLUSTER STATE
	if "$CLUSTER" status >/dev/null; then
		echo "a cluster is up, and these tests bring it up and down: run $CLUSTER down first" >&2
		return 1
	fi
	traces >"$BATS_FILE_TMPDIR/before"
}

teardown_file() {
	[ ! -e "$BATS_FILE_TMPDIR/before" ] || "$CLUSTER" down
}

# Whatever a cluster could leave on the machine.
traces() {
	echo mounts:
	awk '{ print $5 }' /proc/self/mountinfo | grep -E "$STATE|netns|kubelet" || true
	echo name spaces:
	ls /run/netns 2>/dev/null || true
	echo links:
	ip -br link 2>/dev/null | grep -E '^(etj|veth|kube)' || true
	echo rules:
	iptables-save 2>/dev/null | grep -E 'KUBE|CNI|etj' || true
	echo cgroups:
	find /sys/fs/cgroup -type d -path '*/kubepods*' 2>/dev/null
	echo processes:
	for dir in /proc/[0-9]*; do
		tr '\0' ' ' 2>/dev/null <"$dir/cmdline" | grep -F "$STATE" | cut -d' ' -f1
	done | grep -v '^grep' || true
	echo settings:
	sysctl -n net.ipv4.ip_forward kernel.panic vm.overcommit_memory 2>/dev/null || true
}

need_node() {
	[ "$(cat "$STATE/mode")" = node ] || skip "this machine cannot run a node: $CLUSTER up says why"
}

pids() {
	cat "$STATE"/pid/*
}

@test "up starts a cluster, and env points a shell at it" {
	"$CLUSTER" up
	run "$CLUSTER" env
	[ "$status" -eq 0 ]
	# shellcheck disable=SC2016
	[[ "$output" == "export KUBECONFIG=$STATE/admin.kubeconfig PATH="*':$PATH' ]]
	eval "$output"
	run kubectl get --raw /readyz
	[ "$output" = ok ]
	run "$CLUSTER" status
	[ "$status" -eq 0 ]
}

@test "the node is Ready and advertises 8 GPUs" {
	need_node
	run "$CLUSTER" kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.allocatable.nvidia\.com/gpu}{end}'
	[ "$output" = "node1 True 8" ]
}

@test "up again is harmless" {
	before=$(pids)
	run "$CLUSTER" up
	[ "$status" -eq 0 ]
	[[ "$output" == *"already up"* ]]
	[ "$(pids)" = "$before" ]
}

@test "pods with GPUs run, and reach a Service by its name" {
	need_node
	"$CLUSTER" kubectl apply -f "$BATS_TEST_DIRNAME/two-pods.yaml"
	"$CLUSTER" kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/client --timeout=60s
	run "$CLUSTER" kubectl logs client
	[ "$output" = "hello" ]
}

@test "an image packed here is loaded and runs" {
	need_node
	mkdir -p "$BATS_TEST_TMPDIR/root"
	cp -L "$(command -v busybox)" "$BATS_TEST_TMPDIR/root/sh"
	"$BATS_TEST_DIRNAME/oci-image" --name localhost/own:1 --layer "$BATS_TEST_TMPDIR/root" \
		--entrypoint /sh --cmd=-c --cmd='echo from my own image' \
		"$BATS_TEST_TMPDIR/own.tar"
	run "$CLUSTER" load-image "$BATS_TEST_TMPDIR/own.tar"
	[ "$status" -eq 0 ]
	[ "$output" = "cluster: loaded localhost/own:1" ]
	"$CLUSTER" kubectl run own --image=localhost/own:1 --restart=Never
	"$CLUSTER" kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/own --timeout=60s
	run "$CLUSTER" kubectl logs own
	[ "$output" = "from my own image" ]
}

@test "nodes of the API only stand beside the real one" {
	need_node
	"$CLUSTER" kwok 2
	run "$CLUSTER" kubectl get nodes -o name
	[ "$output" = $'node/kwok-0\nnode/kwok-1\nnode/node1' ]
}

@test "what a crashed run left is cleaned by the next up" {
	while read -r pid _; do
		kill -KILL "$pid"
	done < <(pids)
	run "$CLUSTER" status
	[ "$status" -eq 1 ]
	"$CLUSTER" up
	run "$CLUSTER" kubectl get pods
	[ "$output" = "No resources found in default namespace." ]
}

@test "down leaves no process, mount, name space, cgroup, link or rule" {
	"$CLUSTER" down
	traces >"$BATS_FILE_TMPDIR/after"
	diff -u "$BATS_FILE_TMPDIR/before" "$BATS_FILE_TMPDIR/after"
	[ ! -e "$STATE" ]
}

@test "down where nothing is up says so" {
	run "$CLUSTER" down
	[ "$status" -eq 0 ]
	[ "$output" = "cluster: not up" ]
}

@test "up --kwok runs a control plane whose pods exist in the API only" {
	"$CLUSTER" up --kwok=2
	run "$CLUSTER" kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.allocatable.nvidia\.com/gpu};{end}'
	[ "$output" = "kwok-0 8;kwok-1 8;" ]
	"$CLUSTER" kubectl run x --image=localhost/nowhere:1
	"$CLUSTER" kubectl wait --for=condition=Ready pod/x --timeout=60s
	"$CLUSTER" down
	traces >"$BATS_FILE_TMPDIR/after"
	diff -u "$BATS_FILE_TMPDIR/before" "$BATS_FILE_TMPDIR/after"
}

@test "a port that another program holds is named" {
	coproc LISTENER { exec python3 -c '
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 12379))
s.listen()
print("ready", flush=True)
input()'; }
	pid=$LISTENER_PID
	read -r _ <&"${LISTENER[0]}"
	run "$CLUSTER" up --kwok=1
	kill "$pid"
	[ "$status" -eq 1 ]
	[[ "$output" == *"another program listens on: 127.0.0.1:12379 (another cluster on this machine?)"* ]]
}

@test "wrong use exits 2 with the usage" {
	run "$CLUSTER" dance
	[ "$status" -eq 2 ]
	[[ "$output" == "usage: cluster up "* ]]
}
