# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# etcd, API server, controller manager and scheduler.

check_ports() {
	local at port busy=
	at=$(api_address)
	for port in "$at:$API_PORT" "127.0.0.1:$ETCD_PORT" "127.0.0.1:$ETCD_PEER_PORT" \
		127.0.0.1:10257 127.0.0.1:10259; do
		port_free "${port%:*}" "${port##*:}" || busy="$busy $port"
	done
	if [ "$(cluster_mode)" = node ]; then
		for port in "$NODE_IP:10250" 127.0.0.1:10248 127.0.0.1:10249 127.0.0.1:10256; do
			port_free "${port%:*}" "${port##*:}" || busy="$busy $port"
		done
	fi
	if [ -n "$busy" ]; then
		say "another program listens on:$busy (another cluster on this machine?)"
		return 1
	fi
}

start_etcd() {
	local url=http://127.0.0.1:$ETCD_PORT
	start etcd etcd --data-dir "$STATE_DIR/etcd" --listen-client-urls "$url" \
		--advertise-client-urls "$url" --unsafe-no-fsync --log-level warn \
		--listen-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
		--initial-advertise-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
		--initial-cluster "default=http://127.0.0.1:$ETCD_PEER_PORT"
	wait_for etcd 30 curl -sf "$url/health"
}

api_ready() {
	curl -sf --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" \
		"https://$(api_address):$API_PORT/readyz"
}

start_apiserver() {
	local at
	at=$(api_address)
	# The audit log lets tests count requests.
	cat >"$STATE_DIR/audit.yaml" <<-A
	apiVersion: audit.k8s.io/v1
	kind: Policy
	omitStages: [RequestReceived]
	rules: [{level: Metadata}]
	A
	# WatchList: Debian's etcd 3.4 cannot stream lists. Where the API server offers it all the same,
	# the watches of new clients end again and again, and kwok's pods wait for seconds.
	# shellcheck disable=SC2054
	local args=(--etcd-servers "http://127.0.0.1:$ETCD_PORT"
		--bind-address "$at" --secure-port "$API_PORT" --advertise-address "$at"
		--tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key"
		--client-ca-file "$PKI/ca.crt"
		--service-account-issuer https://kubernetes.default.svc
		--service-account-key-file "$PKI/sa.pub"
		--service-account-signing-key-file "$PKI/sa.key"
		--service-cluster-ip-range "$SERVICE_CIDR" --authorization-mode Node,RBAC
		--allow-privileged
		--kubelet-client-certificate "$PKI/kubelet-client.crt"
		--kubelet-client-key "$PKI/kubelet-client.key"
		--kubelet-certificate-authority "$PKI/ca.crt"
		--kubelet-preferred-address-types InternalIP
		--requestheader-client-ca-file "$PKI/front-proxy-ca.crt"
		--requestheader-allowed-names front-proxy-client
		--requestheader-username-headers X-Remote-User
		--requestheader-group-headers X-Remote-Group
		--requestheader-extra-headers-prefix X-Remote-Extra-
		--proxy-client-cert-file "$PKI/front-proxy-client.crt"
		--proxy-client-key-file "$PKI/front-proxy-client.key"
		--audit-policy-file "$STATE_DIR/audit.yaml" --audit-log-path "$AUDIT_LOG"
		--audit-log-maxsize 200 --audit-log-maxbackup 2
		--feature-gates WatchList=false)
	# Loopback is no address for a Service's endpoints, and without a node nobody asks for them.
	[ "$(cluster_mode)" = node ] || args+=(--endpoint-reconciler-type none)
	start apiserver "$BIN_KUBERNETES/kube-apiserver" "${args[@]}"
	wait_for apiserver 90 api_ready
}

start_controllers() {
	# A short HPA period, so that tests of autoscaling take seconds.
	start controller-manager "$BIN_KUBERNETES/kube-controller-manager" \
		--kubeconfig "$STATE_DIR/controller-manager.kubeconfig" \
		--service-account-private-key-file "$PKI/sa.key" --root-ca-file "$PKI/ca.crt" \
		--cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" \
		--use-service-account-credentials --cluster-cidr "$CLUSTER_CIDR" \
		--allocate-node-cidrs --leader-elect=false --bind-address 127.0.0.1 \
		--horizontal-pod-autoscaler-sync-period 2s
	start scheduler "$BIN_KUBERNETES/kube-scheduler" \
		--kubeconfig "$STATE_DIR/scheduler.kubeconfig" --leader-elect=false \
		--bind-address 127.0.0.1
	wait_for controller-manager 60 kubectl_admin get serviceaccount default -n default
	wait_for scheduler 60 curl -sfk https://127.0.0.1:10259/healthz
}

start_control_plane() {
	start_etcd && start_apiserver && start_controllers
}

# The API server may take a minute to end while watches are open, and answers meanwhile; its data
# go anyway, so it is not given that long.
stop_control_plane() {
	stop scheduler 10
	stop controller-manager 10
	stop apiserver 3
	stop etcd 10
}
