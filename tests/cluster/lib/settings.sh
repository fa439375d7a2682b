# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the other files
# SPDX-License-Identifier: Apache-2.0
#
# Addresses, ports and names of the cluster. One cluster runs on a machine at a time.

BRIDGE=etj0
NODE_IP=10.244.0.1
POD_SUBNET=10.244.0.0/24
CLUSTER_CIDR=10.244.0.0/16
SERVICE_CIDR=10.96.0.0/16
SERVICE_IP=10.96.0.1
NODE_NAME=node1

API_PORT=16443
ETCD_PORT=12379
ETCD_PEER_PORT=12380

PKI=$STATE_DIR/pki
LOGS=$STATE_DIR/log
PIDS=$STATE_DIR/pid
ADMIN_KUBECONFIG=$STATE_DIR/admin.kubeconfig
CONTAINERD_SOCK=$STATE_DIR/containerd.sock
AUDIT_LOG=$LOGS/audit.log

# In a node's cluster pods must reach the API server, so it listens on the bridge; without a node
# loopback is enough.
api_address() {
	if [ "$(cluster_mode)" = node ]; then
		printf '%s' "$NODE_IP"
	else
		printf '%s' 127.0.0.1
	fi
}

# node, kwok, or nothing when no cluster was brought up.
cluster_mode() {
	cat "$STATE_DIR/mode" 2>/dev/null || true
}

kubectl_bin() {
	printf '%s' "$BIN_KUBERNETES/kubectl"
}

kubectl_admin() {
	"$BIN_KUBERNETES/kubectl" --kubeconfig "$ADMIN_KUBECONFIG" "$@"
}

containers() {
	ctr --address "$CONTAINERD_SOCK" --namespace k8s.io "$@"
}
