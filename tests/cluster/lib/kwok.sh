# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Nodes that exist in the API only: their pods turn Running at once, and no process runs.

start_kwok() {
	running kwok >/dev/null && return 0
	start kwok "$BIN_KWOK/kwok" --kubeconfig "$ADMIN_KUBECONFIG" \
		--config "$CLUSTER_SRC/kwok-stages.yaml" --manage-all-nodes=false \
		--manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
		--node-lease-duration-seconds 40 --server-address 127.0.0.1:10247
	wait_for kwok 60 curl -sf http://127.0.0.1:10247/healthz
}

# kwok_node NAME TAINTS: one node, as JSON.
kwok_node() {
	cat <<-N
	{"apiVersion": "v1", "kind": "Node",
	 "metadata": {"name": "$1",
	  "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
	  "labels": {"type": "kwok", "kubernetes.io/hostname": "$1", "kubernetes.io/os": "linux",
	   "kubernetes.io/arch": "amd64"}},
	 "spec": {"taints": $2},
	 "status": {
	  "capacity": {"cpu": "64", "memory": "512Gi", "pods": "1000", "nvidia.com/gpu": "$GPUS"},
	  "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "1000", "nvidia.com/gpu": "$GPUS"}}}
	N
}

kwok_nodes_ready() {
	[ "$(kubectl_admin get nodes -l type=kwok -o \
		'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' \
		2>/dev/null | grep -c True)" -ge "$1" ]
}

# add_kwok_nodes COUNT: kwok-0 … kwok-<COUNT-1>. Beside a real node they are tainted, so that only
# pods which tolerate kwok.x-k8s.io/node land there.
add_kwok_nodes() {
	local count=$1 taints='[]' i
	if [ "$(cluster_mode)" = node ]; then
		taints='[{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]'
	fi
	start_kwok || return 1
	for ((i = 0; i < count; i++)); do
		kwok_node "kwok-$i" "$taints"
	done | kubectl_admin apply -f - >/dev/null || return 1
	wait_for kwok 60 kwok_nodes_ready "$count"
}
