# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Images without a registry: OCI tars, made here and imported into the node's containerd.

busybox_static() {
	local path
	for path in /bin/busybox /usr/bin/busybox; do
		if [ -x "$path" ] && ! ldd "$path" >/dev/null 2>&1; then
			printf '%s' "$path"
			return
		fi
	done
}

make_pause_image() {
	local work=$1 out=$2
	mkdir -p "$work/pause"
	"${CC:-cc}" -Os -static -s -o "$work/pause/pause" "$CLUSTER_SRC/pause.c" || return 1
	"$CLUSTER_SRC/oci-image" --name localhost/pause:1 --layer "$work/pause" \
		--entrypoint /pause "$out"
}

make_busybox_image() {
	local work=$1 out=$2 root=$1/busybox applet
	mkdir -p "$root/bin" "$root/tmp" "$root/etc" "$root/root"
	chmod 1777 "$root/tmp"
	cp "$(busybox_static)" "$root/bin/busybox" || return 1
	"$root/bin/busybox" --list | while IFS= read -r applet; do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnobody:x:65534:\n' >"$root/etc/group"
	"$CLUSTER_SRC/oci-image" --name localhost/busybox:1 --layer "$root" \
		--env PATH=/bin --cmd sh "$out"
}

# make_image_once NAME: into the cache, by make_NAME_image.
make_image_once() {
	local name=$1 key out work rc=0
	key=$(cat "$CLUSTER_SRC/oci-image" "$CLUSTER_SRC/lib/images.sh" "$CLUSTER_SRC/pause.c" |
		sha256sum | cut -c1-12)
	out=$CACHE_DIR/$name-$key.tar
	if [ ! -f "$out" ]; then
		mkdir -p "$CACHE_DIR"
		rm -f "$CACHE_DIR/$name"-*.tar
		work=$(mktemp -d)
		"make_${name}_image" "$work" "$out" || rc=1
		rm -rf "$work"
		[ "$rc" = 0 ] || return 1
	fi
	printf '%s\n' "$out"
}

load_base_images() {
	local name file
	for name in pause busybox; do
		file=$(make_image_once "$name") || return 1
		load_image "$file" 2>/dev/null || return 1
	done
}

load_image() {
	[ -f "$1" ] || {
		say "no such file: $1"
		return 1
	}
	if [ "$(cluster_mode)" = kwok ]; then
		say "no pod runs for real on this cluster: $1 is not loaded"
		return 0
	fi
	running containerd >/dev/null || {
		say "the cluster is not up: run tests/cluster/cluster up"
		return 1
	}
	containers images import "$1" >"$LOGS/import.log" 2>&1 || {
		cat "$LOGS/import.log" >&2
		return 1
	}
	say "loaded $(sed -n 's/^unpacking \([^ ]*\) .*/\1/p' "$LOGS/import.log" | paste -sd' ')"
}
