# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The bridge that pods share with the host, and what the cluster changes in the host's network
# and kernel settings: recorded by `up`, taken back by `down`.

# Settings that kubelet, kube-proxy and the bridge plugin change.
CHANGED_SYSCTLS=(net.ipv4.ip_forward net.ipv4.conf.all.route_localnet vm.overcommit_memory
	kernel.panic kernel.panic_on_oops)

# cluster_chains TABLE…: prints "TABLE CHAIN" for every chain of the kind that kubelet, kube-proxy
# and CNI plugins make.
cluster_chains() {
	local table
	for table in "$@"; do
		iptables -w -t "$table" -S 2>/dev/null |
			sed -nE "s/^-N ((KUBE|CNI)-[^ ]+)$/$table \1/p"
	done
}

record_host() {
	local key
	[ -f "$STATE_DIR/host.sysctls" ] && return
	cluster_chains nat filter mangle >"$STATE_DIR/host.chains"
	for key in "${CHANGED_SYSCTLS[@]}"; do
		printf '%s=%s\n' "$key" "$(sysctl -n "$key" 2>/dev/null)"
	done | grep -v '=$' >"$STATE_DIR/host.sysctls.part" || true
	mv "$STATE_DIR/host.sysctls.part" "$STATE_DIR/host.sysctls"
}

# The route lets the API server reach Services, also on a machine without a default route.
make_bridge() {
	if ! ip link show "$BRIDGE" >/dev/null 2>&1; then
		ip link add "$BRIDGE" type bridge || return 1
	fi
	ip addr replace "$NODE_IP/24" dev "$BRIDGE" && ip link set "$BRIDGE" up &&
		ip route replace "$SERVICE_CIDR" dev "$BRIDGE"
}

# Removes the chains that were not there before `up`, and the rules that lead there; a table is
# replaced in one step, so that other rules stay as they are at every moment.
clean_iptables() {
	local table new pattern
	command -v iptables-save >/dev/null || return 0
	[ -f "$STATE_DIR/host.chains" ] || return 0
	for table in nat filter mangle; do
		new=$(cluster_chains "$table" | grep -vxFf "$STATE_DIR/host.chains" |
			cut -d' ' -f2 | paste -sd'|')
		[ -n "$new" ] || continue
		pattern="^:($new) |-A ($new) | -[jg] ($new)( |\$)"
		iptables-save -c -t "$table" | grep -vE -- "$pattern" |
			iptables-restore -w -c -T "$table"
	done
}

clean_network() {
	local line
	ip link show "$BRIDGE" >/dev/null 2>&1 && ip link del "$BRIDGE"
	rm -f /var/lib/cni/results/etj-* 2>/dev/null
	clean_iptables
	if [ -f "$STATE_DIR/host.sysctls" ]; then
		while IFS= read -r line; do
			sysctl -qw "$line" >/dev/null 2>&1
		done <"$STATE_DIR/host.sysctls"
	fi
	rm -f "$STATE_DIR/host.sysctls" "$STATE_DIR/host.chains"
}
