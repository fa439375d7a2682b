# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The cluster's programs, built from Go modules into the cache. Each is built once; a build that
# was interrupted leaves nothing under its final name.

# name, module directory under go/, package, target directory, usual seconds on 2 cores
program_table() {
	local k=$BIN_KUBERNETES
	cat <<T
kube-apiserver kubernetes k8s.io/kubernetes/cmd/kube-apiserver $k 265
kube-controller-manager kubernetes k8s.io/kubernetes/cmd/kube-controller-manager $k 65
kube-scheduler kubernetes k8s.io/kubernetes/cmd/kube-scheduler $k 10
kubelet kubernetes k8s.io/kubernetes/cmd/kubelet $k 20
kubectl kubernetes k8s.io/kubernetes/cmd/kubectl $k 70
kube-proxy kubernetes k8s.io/kubernetes/cmd/kube-proxy $k 20
coredns coredns github.com/coredns/coredns $BIN_COREDNS 180
kwok kwok sigs.k8s.io/kwok/cmd/kwok $BIN_KWOK 110
T
}

# Prints the linker's flags that make program NAME tell its true version.
program_ldflags() {
	local pkg v=${KUBERNETES_VERSION#v}
	printf '%s' '-s -w'
	case $1 in
	kube*)
		for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
			printf ' -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s' \
				"$pkg" "v$v" "$pkg" "${v%%.*}" "$pkg" "$(cut -d. -f2 <<<"$v")"
		done
		;;
	esac
}

# Prints the directory with the go.mod for module directory NAME. Another Kubernetes than the
# pinned one gets a copy whose versions are replaced, resolved anew by `go mod tidy`.
module_dir() {
	local dir=$CLUSTER_SRC/go/$1 pinned copy v
	if [ "$1" != kubernetes ]; then
		printf '%s\n' "$dir"
		return
	fi
	pinned=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' "$dir/go.mod")
	if [ "$pinned" = "$KUBERNETES_VERSION" ]; then
		printf '%s\n' "$dir"
		return
	fi
	v=${KUBERNETES_VERSION#v1.}
	copy=$CACHE_DIR/go.mod-$KUBERNETES_VERSION
	if [ ! -f "$copy/done" ]; then
		mkdir -p "$copy"
		sed -e "s|k8s.io/kubernetes $pinned|k8s.io/kubernetes $KUBERNETES_VERSION|" \
			-e "s|^\(\tk8s.io/[a-z-]* => k8s.io/[a-z-]*\) v0.*|\1 v0.$v|" \
			-e '/k8s.io\/kubernetes /!{/\/\/ indirect$/d}' "$dir/go.mod" >"$copy/go.mod"
		(cd "$copy" && go mod tidy) >&2 || return 1
		touch "$copy/done"
	fi
	printf '%s\n' "$copy"
}

# build_program NAME MODULE PACKAGE TARGETDIR SECONDS
build_program() {
	local name=$1 module=$2 package=$3 target=$4 usual=$5 dir started=$SECONDS
	[ -x "$target/$name" ] && return 0
	mkdir -p "$target"
	rm -f "$target/.$name".part.*
	dir=$(module_dir "$module") || return 1
	say "building $name (usually $usual s on 2 cores)"
	(cd "$dir" && GOFLAGS='-mod=readonly -buildvcs=false' CGO_ENABLED=0 nice go build \
		-ldflags "$(program_ldflags "$name")" -o "$target/.$name.part.$$" "$package") &
	heartbeat $! "building $name" || {
		rm -f "$target/.$name.part.$$"
		say "building $name failed: see the messages above"
		return 1
	}
	mv "$target/.$name.part.$$" "$target/$name"
	say "built $name in $((SECONDS - started)) s"
}

missing_programs() {
	local name target
	program_table | while read -r name _ _ target _; do
		[ -x "$target/$name" ] || printf '%s\n' "$name"
	done
}

build_missing() {
	local line
	while read -r -a line; do
		build_program "${line[@]}" </dev/null || return 1
	done < <(program_table)
}

# Makes sure that every program is in the cache; two runs at once build each program once.
ensure_binaries() {
	[ -z "$(missing_programs)" ] && return 0
	command -v go >/dev/null ||
		die "Go 1.26 or newer is needed to build the cluster: run scripts/install-deps"
	with_lock "$CACHE_DIR/build.lock" build_missing
}
