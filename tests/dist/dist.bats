#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What make dist makes: the same bytes in another folder, sums that hold, packages that lintian
# likes, a plugin that runs on other systems. Builds everything twice, so it takes some minutes.

setup_file() {
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	A=$BATS_FILE_TMPDIR/one
	B=$BATS_FILE_TMPDIR/some/other/folder
	DIST=$BATS_FILE_TMPDIR/dist
	export TOP A B DIST
	cd "$TOP" || return 1
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
	export SOURCE_DATE_EPOCH RELEASE_URL=https://releases.example/v0
	mkdir -p "$A" "$B"
	# What is in the working tree, not what was committed last.
	git ls-files -z | tar --null -T - -cf - | tee >(tar -xf - -C "$B") | tar -xf - -C "$A"
	(cd "$A" && scripts/dist "$DIST") >"$BATS_FILE_TMPDIR/log" 2>&1 || {
		tail -n 30 "$BATS_FILE_TMPDIR/log" >&2
		return 1
	}
}

setup() {
	cd "$DIST" || return 1
}

# The libraries that every Debian 12, Debian 13 and Ubuntu 22.04 has, or has a package of.
NEEDS='libc.so.6 libcrypto.so.3 libcurl.so.4 libcjson.so.1 libgcc_s.so.1 libm.so.6 libssl.so.3'

@test "the same bytes in another folder" {
	(cd "$B" && scripts/dist "$BATS_TEST_TMPDIR/again") >"$BATS_TEST_TMPDIR/log" 2>&1
	diff -r "$DIST" "$BATS_TEST_TMPDIR/again"
}

@test "the sums hold, for every file" {
	sha256sum --check --strict SHA256SUMS
	[ "$(wc -l <SHA256SUMS)" -eq "$(find . -type f -not -name SHA256SUMS | wc -l)" ]
}

@test "lintian has nothing to say" {
	command -v lintian >/dev/null || skip "lintian is not installed"
	run lintian --fail-on=info,warning,error ./*.deb
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "the packages install and the plugin runs from them" {
	mkdir "$BATS_TEST_TMPDIR/root"
	for deb in ./*.deb; do
		dpkg-deb -x "$deb" "$BATS_TEST_TMPDIR/root"
	done
	run "$BATS_TEST_TMPDIR/root/usr/bin/kubectl-etjob" version
	[ "$status" -eq 0 ]
	run "$BATS_TEST_TMPDIR/root/usr/bin/etjob-webhook" --version
	[ "$status" -eq 0 ]
	run "$BATS_TEST_TMPDIR/root/usr/bin/etjob-controller" --version
	[ "$status" -eq 0 ]
	man -l "$BATS_TEST_TMPDIR/root/usr/share/man/man1/kubectl-etjob.1.gz" >"$BATS_TEST_TMPDIR/man" 2>&1 ||
		command -v man >/dev/null || skip "man is not installed"
	grep -q scaleout "$BATS_TEST_TMPDIR/man"
}

@test "the plugin of the archive needs no more than older systems have" {
	tar -xzf kubectl-etjob_*_linux_*.tar.gz -C "$BATS_TEST_TMPDIR"
	plugin=$BATS_TEST_TMPDIR/kubectl-etjob
	for lib in $(objdump -p "$plugin" | awk '/NEEDED/ { print $2 }'); do
		[[ " $NEEDS " == *" $lib "* ]] || { echo "needs $lib"; return 1; }
	done
	# Ubuntu 22.04 has glibc 2.35.
	for file in "$plugin" "$BATS_TEST_TMPDIR"/lib/*; do
		newest=$(objdump -T "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
		[ "$(printf '%s\nGLIBC_2.35\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.35 ] || {
			echo "$file needs $newest"
			return 1
		}
	done
}

@test "the plugin of the archive runs on Debian 13" {
	command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
	[ "$(id -u)" -eq 0 ] || skip "not root: no chroot"
	root=$BATS_TEST_TMPDIR/trixie
	if ! mmdebstrap --variant=apt --include=libcurl4t64,libssl3t64 trixie "$root" \
		>"$BATS_TEST_TMPDIR/log" 2>&1; then
		skip "no Debian archive can be reached: $(tail -n 1 "$BATS_TEST_TMPDIR/log")"
	fi
	tar -xzf kubectl-etjob_*_linux_*.tar.gz -C "$root/opt"
	cp "$TOP/examples/elastic-training.yaml" "$root/opt/"
	# The loader finds lib/ beside the program through /proc.
	in_trixie() {
		unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
	}
	in_trixie /opt/kubectl-etjob version
	in_trixie /opt/kubectl-etjob submit -f /opt/elastic-training.yaml --dry-run=client -o name
}

@test "the SBOM names every library of the image" {
	python3 - etjob-servers_*.spdx.json etjob-servers_*.oci.tar <<-'END'
	import json, sys, tarfile
	document = json.load(open(sys.argv[1]))
	assert document["spdxVersion"] == "SPDX-2.3"
	elements = [e["SPDXID"] for e in document["packages"] + document["files"]]
	assert len(elements) == len(set(elements)), "two elements with one id"
	known = set(elements) | {"SPDXRef-DOCUMENT"}
	for r in document["relationships"]:
	    assert {r["spdxElementId"], r["relatedSpdxElement"]} <= known, r
	image = tarfile.open(sys.argv[2])
	manifest = json.load(image.extractfile("blobs/sha256/" + json.load(
	    image.extractfile("index.json"))["manifests"][0]["digest"].split(":")[1]))
	layer = tarfile.open(fileobj=image.extractfile(
	    "blobs/sha256/" + manifest["layers"][0]["digest"].split(":")[1]))
	in_image = {"./" + m.name for m in layer if m.isfile()}
	in_document = {f["fileName"] for f in document["files"]}
	assert in_image == in_document, in_image ^ in_document
	owners = {}
	for r in document["relationships"]:
	    if r["relationshipType"] == "CONTAINS":
	        owners[r["relatedSpdxElement"]] = r["spdxElementId"]
	for f in document["files"]:
	    if ".so" in f["fileName"]:
	        assert owners[f["SPDXID"]] != "SPDXRef-etjob-servers", f["fileName"]
	END
}

@test "the image for CI has a shell, and checks manifests" {
	[ "$(id -u)" -eq 0 ] || skip "not root: no chroot"
	command -v busybox >/dev/null || skip "busybox is not installed"
	cd "$TOP"
	make -s validate-image BUILD="${BUILD:-build}"
	cp -R "${BUILD:-build}/stage-validate" "$BATS_TEST_TMPDIR/root"
	cp examples/elastic-training.yaml "$BATS_TEST_TMPDIR/root/"
	chroot "$BATS_TEST_TMPDIR/root" /bin/sh -c 'kubectl-etjob validate -f elastic-training.yaml'
}

@test "the krew manifest has the archive's sum, and krew takes it" {
	sum=$(sha256sum kubectl-etjob_*_linux_*.tar.gz | cut -d' ' -f1)
	grep -q "sha256: \"$sum\"" etjob.krew.yaml
	run grep -c @ etjob.krew.yaml
	[ "$output" = 0 ]
	tar -tzf kubectl-etjob_*_linux_*.tar.gz | grep -qx ./LICENSE
	export KREW_ROOT=$BATS_TEST_TMPDIR/krew
	"$("$TOP/tests/tools/tool" krew)" install --manifest=etjob.krew.yaml \
		--archive="$(echo "$PWD"/kubectl-etjob_*_linux_*.tar.gz)"
	PATH=$KREW_ROOT/bin:$PATH kubectl etjob version
}
