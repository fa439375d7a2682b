# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The node: containerd, kubelet, cluster DNS and kube-proxy, all as processes of this machine.

# Says, a line each, what this machine lacks to run a node. Nothing means that it can.
node_obstacles() {
	local tool dir
	if [ "$(id -u)" != 0 ]; then
		echo "root (this is $(id -un))"
		return
	fi
	for tool in containerd ctr runc iptables ip; do
		command -v "$tool" >/dev/null || echo "$tool (run scripts/install-deps)"
	done
	[ -n "$(cni_dir)" ] || echo "CNI plugins (run scripts/install-deps)"
	[ -f "$(busybox_static)" ] || echo "busybox-static (run scripts/install-deps)"
	dir=$(mktemp -d "${STATE_DIR%/*}/etjob-probe.XXXXXX") || return
	mkdir "$dir"/{a,b,w,m}
	if mount -t overlay overlay -o "lowerdir=$dir/a,upperdir=$dir/b,workdir=$dir/w" "$dir/m" \
		2>/dev/null; then
		umount "$dir/m"
	else
		echo "overlay mounts in ${STATE_DIR%/*}"
	fi
	rm -rf "$dir"
	if ip link add etj-probe type bridge 2>/dev/null; then
		ip link del etj-probe
	else
		echo "the right to make a network bridge"
	fi
	iptables -w -t nat -S >/dev/null 2>&1 || echo "iptables' nat table"
	[ -d /sys/fs/cgroup ] && [ -w /sys/fs/cgroup ] || echo "a writable /sys/fs/cgroup"
}

cni_dir() {
	local dir
	for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
		if [ -x "$dir/bridge" ] && [ -x "$dir/host-local" ]; then
			printf '%s' "$dir"
			return
		fi
	done
}

start_containerd() {
	mkdir -p "$STATE_DIR/cni"
	cat >"$STATE_DIR/cni/10-etj.conflist" <<-C
	{"cniVersion": "0.4.0", "name": "etj", "plugins": [
	 {"type": "bridge", "bridge": "$BRIDGE", "isGateway": true, "ipMasq": true,
	  "hairpinMode": true,
	  "ipam": {"type": "host-local", "dataDir": "$STATE_DIR/cni-ipam",
	   "ranges": [[{"subnet": "$POD_SUBNET"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	 {"type": "portmap", "capabilities": {"portMappings": true}}]}
	C
	# restrict_oom_score_adj: without CAP_SYS_RESOURCE no sandbox would start.
	cat >"$STATE_DIR/containerd.toml" <<-C
	version = 2
	root = "$STATE_DIR/containerd"
	state = "$STATE_DIR/containerd-run"
	[grpc]
	  address = "$CONTAINERD_SOCK"
	[plugins."io.containerd.internal.v1.opt"]
	  path = "$STATE_DIR/containerd-opt"
	[plugins."io.containerd.grpc.v1.cri"]
	  restrict_oom_score_adj = true
	  sandbox_image = "localhost/pause:1"
	  [plugins."io.containerd.grpc.v1.cri".cni]
	    bin_dir = "$(cni_dir)"
	    conf_dir = "$STATE_DIR/cni"
	  [plugins."io.containerd.grpc.v1.cri".containerd]
	    snapshotter = "overlayfs"
	    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	      runtime_type = "io.containerd.runc.v2"
	      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	        SystemdCgroup = false
	C
	start containerd containerd -c "$STATE_DIR/containerd.toml"
	wait_for containerd 30 containers images ls -q
}

start_kubelet() {
	cat >"$STATE_DIR/kubelet.yaml" <<-K
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	address: $NODE_IP
	authentication:
	  anonymous: {enabled: false}
	  webhook: {enabled: true}
	  x509: {clientCAFile: $PKI/ca.crt}
	authorization: {mode: Webhook}
	tlsCertFile: $PKI/$NODE_NAME.crt
	tlsPrivateKeyFile: $PKI/$NODE_NAME.key
	containerRuntimeEndpoint: unix://$CONTAINERD_SOCK
	cgroupDriver: cgroupfs
	cgroupsPerQOS: true
	enforceNodeAllocatable: []
	failSwapOn: false
	clusterDNS: [$NODE_IP]
	clusterDomain: cluster.local
	resolvConf: /dev/null
	imageGCHighThresholdPercent: 100
	evictionHard: {nodefs.available: "0%", imagefs.available: "0%", memory.available: "0%"}
	maxPods: 200
	volumePluginDir: $STATE_DIR/kubelet/plugins
	staticPodPath: ""
	K
	# The newest kubelets ask to be told that cgroup v1 is meant.
	if [ ! -f /sys/fs/cgroup/cgroup.controllers ] && kubernetes_at_least 35; then
		echo "failCgroupV1: false" >>"$STATE_DIR/kubelet.yaml"
	fi
	start kubelet "$BIN_KUBERNETES/kubelet" --config "$STATE_DIR/kubelet.yaml" \
		--kubeconfig "$STATE_DIR/$NODE_NAME.kubeconfig" --root-dir "$STATE_DIR/kubelet" \
		--hostname-override "$NODE_NAME" --node-ip "$NODE_IP" -v 1
}

kubernetes_at_least() {
	[ "$(cut -d. -f2 <<<"$KUBERNETES_VERSION")" -ge "$1" ]
}

# Names of the world outside are answered at once with "no such name". A refusal instead would
# make a pod's resolver try for half a minute wherever a name of the cluster is not there yet.
start_dns() {
	cat >"$STATE_DIR/Corefile" <<-C
	cluster.local:53 in-addr.arpa:53 {
	  bind $NODE_IP
	  errors
	  ready 127.0.0.1:8181
	  kubernetes cluster.local in-addr.arpa {
	    kubeconfig $ADMIN_KUBECONFIG
	    ttl 0
	  }
	}
	.:53 {
	  bind $NODE_IP
	  template ANY ANY {
	    rcode NXDOMAIN
	  }
	}
	C
	start coredns "$BIN_COREDNS/coredns" -conf "$STATE_DIR/Corefile"
}

start_proxy() {
	cat >"$STATE_DIR/proxy.yaml" <<-P
	apiVersion: kubeproxy.config.k8s.io/v1alpha1
	kind: KubeProxyConfiguration
	mode: iptables
	clientConnection: {kubeconfig: $ADMIN_KUBECONFIG}
	clusterCIDR: $CLUSTER_CIDR
	hostnameOverride: $NODE_NAME
	conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	iptables: {minSyncPeriod: 0s}
	metricsBindAddress: 127.0.0.1:10249
	healthzBindAddress: 127.0.0.1:10256
	P
	start proxy "$BIN_KUBERNETES/kube-proxy" --config "$STATE_DIR/proxy.yaml"
}

node_ready() {
	[ "$(kubectl_admin get node "$NODE_NAME" -o \
		'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]
}

# advertise_gpus NODE COUNT: no device stands behind them; pods that ask for one are placed and run.
advertise_gpus() {
	kubectl_admin patch node "$1" --subresource=status --type=json -p "[
		{\"op\": \"add\", \"path\": \"/status/capacity/nvidia.com~1gpu\", \"value\": \"$2\"},
		{\"op\": \"add\", \"path\": \"/status/allocatable/nvidia.com~1gpu\", \"value\": \"$2\"}
	]" >/dev/null
}

start_node() {
	start_containerd && load_base_images && start_kubelet && start_dns && start_proxy || return 1
	wait_for kubelet 90 node_ready || return 1
	wait_for coredns 30 curl -sf http://127.0.0.1:8181/ready || return 1
	wait_for proxy 30 curl -sf http://127.0.0.1:10256/healthz || return 1
	advertise_gpus "$NODE_NAME" "$GPUS"
}

# Prints the network name spaces that containerd made for this cluster's pods.
pod_netns() {
	local id
	for id in $(containers containers ls -q 2>/dev/null); do
		containers containers info "$id" 2>/dev/null
	done | grep -o '/[a-z/]*/netns/cni-[0-9a-f-]*' | sort -u
}

stop_pods() {
	local id
	running containerd >/dev/null || return 0
	pod_netns >>"$STATE_DIR/netns"
	for id in $(containers tasks ls -q 2>/dev/null); do
		containers tasks kill -a -s KILL "$id" >/dev/null 2>&1
	done
	for id in $(containers tasks ls -q 2>/dev/null); do
		containers tasks rm -f "$id" >/dev/null 2>&1
	done
	for id in $(containers containers ls -q 2>/dev/null); do
		containers containers rm "$id" >/dev/null 2>&1
	done
}

# our_cgroups DIR: prints the cgroups of the pods that our kubelet had, the deepest first. Its folder
# names them, so another kubelet's pods are never taken for ours.
our_cgroups() {
	local pod
	for pod in "$STATE_DIR"/kubelet/pods/*; do
		[ -d "$pod" ] || continue
		find /sys/fs/cgroup -depth -type d -path "*/kubepods*/pod${pod##*/}*" 2>/dev/null
	done
}

# Whatever runs in the pods' cgroups, also when containerd is gone.
kill_pod_processes() {
	local dir pid
	our_cgroups | while IFS= read -r dir; do
		while read -r pid; do
			kill -KILL "$pid" 2>/dev/null
		done <"$dir/cgroup.procs"
	done
}

# The shims name our socket in their command line, and no other process's shims do.
kill_shims() {
	local dir
	for dir in /proc/[0-9]*; do
		if { tr '\0' ' ' <"$dir/cmdline"; } 2>/dev/null |
			grep -q "^[^ ]*containerd-shim.* -address $CONTAINERD_SOCK "; then
			kill -KILL "${dir#/proc/}" 2>/dev/null
		fi
	done
}

remove_mounts() {
	local point
	awk -v top="$STATE_DIR/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
		while IFS= read -r point; do
			umount -l "$point" 2>/dev/null
		done
}

remove_netns() {
	local path
	[ -f "$STATE_DIR/netns" ] || return 0
	while IFS= read -r path; do
		[ -e "$path" ] || continue
		umount "$path" 2>/dev/null
		rm -f "$path"
	done <"$STATE_DIR/netns"
	rm -f "$STATE_DIR/netns"
}

no_pod_cgroups() {
	our_cgroups | xargs -r rmdir 2>/dev/null
	[ -z "$(our_cgroups)" ] || return 1
	# The folders above them, where nobody else's pods are in them.
	find /sys/fs/cgroup -depth -type d \( -path '*/kubepods/burstable' -o \
		-path '*/kubepods/besteffort' -o -name kubepods \) -exec rmdir {} + 2>/dev/null
	return 0
}

# A crashed run may have left pods without a containerd: it is started once more to tell what they
# were, which also gives the name spaces.
revive_containerd() {
	running containerd >/dev/null && return 0
	[ -f "$STATE_DIR/containerd.toml" ] && [ -d "$STATE_DIR/containerd" ] || return 0
	start containerd containerd -c "$STATE_DIR/containerd.toml"
	wait_for containerd 20 containers containers ls -q
}

stop_node() {
	stop kubelet 15
	stop proxy 10
	stop coredns 10
	revive_containerd
	stop_pods
	stop containerd 15
	kill_shims
	kill_pod_processes
	remove_mounts
	remove_netns
	wait_until 10 "the pods' cgroups are empty" no_pod_cgroups
	clean_network
}
