# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the other files
# SPDX-License-Identifier: Apache-2.0
#
# What every part of the cluster tool shares: where things are, and how it speaks.
# Sourced by `cluster` and by scripts that build what the cluster runs.

# Versions of what is built from Go modules; tests/cluster/go/*/go.mod pin the same ones.
KUBERNETES_VERSION=${CLUSTER_VERSION:-v1.34.4}
COREDNS_VERSION=v1.12.4
KWOK_VERSION=v0.8.0

CLUSTER_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Finished downloads and builds, kept between runs.
CACHE_DIR=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/etjob-cluster
# What the running cluster writes. Short, because unix socket paths are at most 107 bytes.
STATE_DIR=${ETJOB_CLUSTER_STATE:-/var/tmp/etjob-cluster-$(id -u)}

# Go, where scripts/install-deps had to get it because the machine has none or an old one.
GO_DIR=$CACHE_DIR/go
PATH=$GO_DIR/go/bin:$PATH:/usr/sbin:/sbin

BIN_KUBERNETES=$CACHE_DIR/kubernetes-$KUBERNETES_VERSION
BIN_COREDNS=$CACHE_DIR/coredns-$COREDNS_VERSION
BIN_KWOK=$CACHE_DIR/kwok-$KWOK_VERSION

say() {
	printf '%s\n' "cluster: $*" >&2
}

die() {
	printf '%s\n' "cluster: $*" >&2
	exit 1
}

# wait_until SECONDS WHAT COMMAND…: runs COMMAND until it succeeds.
# Fails when SECONDS have passed, with a line that names WHAT unless that is empty.
wait_until() {
	local limit=$1 what=$2 end
	shift 2
	end=$((SECONDS + limit))
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			[ -z "$what" ] || say "$what: not after $limit s"
			return 1
		fi
		sleep 0.2
	done
}

# with_lock FILE COMMAND…: runs COMMAND while it holds an exclusive lock on FILE.
# Processes that COMMAND leaves in the background must close descriptor 9.
with_lock() {
	local file=$1 rc
	shift
	mkdir -p "$(dirname "$file")"
	exec 9>"$file"
	if ! flock -n 9; then
		say "waiting for another run that holds $file"
		flock 9
	fi
	"$@"
	rc=$?
	exec 9>&-
	return "$rc"
}
