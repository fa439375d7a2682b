#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What manifests and documents say about the programs is so. Needs no cluster.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
}

@test "dashboards, alerts and docs name metrics that are there" {
	cat manifests/grafana/etjob.json manifests/prometheus/rules.yaml docs/metrics.md |
		grep -o 'etjob_\(webhook\|controller\)_[a-z_]*[a-z]' |
		sed 's/_\(bucket\|sum\|count\)$//' | sort -u >"$BATS_TEST_TMPDIR/named"
	cat webhook/*.c controller/*.c | grep -o '"etjob_\(webhook\|controller\)_[a-z_]*[a-z]' |
		tr -d '"' | sed 's/_\(bucket\|sum\|count\)$//' | sort -u >"$BATS_TEST_TMPDIR/there"
	[ -s "$BATS_TEST_TMPDIR/there" ]
	run comm -23 "$BATS_TEST_TMPDIR/named" "$BATS_TEST_TMPDIR/there"
	[ "$output" = "" ] || { echo "no such metric: $output"; return 1; }
	# And docs/metrics.md leaves none out.
	grep -o 'etjob_\(webhook\|controller\)_[a-z_]*[a-z]' docs/metrics.md | sort -u >"$BATS_TEST_TMPDIR/docs"
	run comm -13 "$BATS_TEST_TMPDIR/docs" "$BATS_TEST_TMPDIR/there"
	[ "$output" = "" ] || { echo "not in docs/metrics.md: $output"; return 1; }
}

@test "the image in the manifests is the one that make images makes" {
	version=$(sed -n 's/^VERSION ?= //p' Makefile)
	run grep -h 'image: ' manifests/base/webhook.yaml manifests/base/controller.yaml
	[ "$output" = "          image: localhost/etjob-servers:$version
          image: localhost/etjob-servers:$version" ]
	grep -qx 'IMAGE ?= localhost/etjob-servers:$(VERSION)' Makefile
}

@test "flags in the manifests are flags of the programs" {
	"${BUILD:-build}/etjob-webhook" --help >"$BATS_TEST_TMPDIR/webhook"
	"${BUILD:-build}/etjob-controller" --help >"$BATS_TEST_TMPDIR/controller"
	# known PROGRAM FILE…
	known() {
		local program=$1 flag
		shift
		for flag in $(grep -hoE -- '(- |value: )--[a-z-]+' "$@" | grep -oE -- '--[a-z-]+'); do
			grep -qE -- "(^|[ ,])$flag([=, []|\$)" "$BATS_TEST_TMPDIR/$program" || {
				echo "etjob-$program has no $flag"
				return 1
			}
		done
	}
	known webhook manifests/base/webhook.yaml manifests/overlays/et-operator/*.yaml \
		manifests/overlays/cert-manager/*.yaml
	known controller manifests/base/controller.yaml manifests/components/scripts/*.yaml \
		manifests/overlays/namespace-scoped/*.yaml
}

@test "the API reference is that of the CRDs" {
	scripts/api-reference.py manifests/crds/{trainingjobs,scaleouts,scaleins}.yaml |
		cat -s | diff - docs/api.md || { echo "run make docs"; return 1; }
}

@test "the command reference is that of the option tables" {
	"${BUILD:-build}/kubectl-etjob" help --format=markdown | diff - docs/commands.md || {
		echo "run make docs"
		return 1
	}
}

@test "links between documents lead somewhere" {
	failed=0
	while IFS=: read -r file target; do
		path=$(dirname "$file")/${target%%#*}
		if [ ! -e "$path" ]; then
			echo "$file: $target is not there"
			failed=1
		fi
	done < <(grep -oHE '\]\((\.\./|[a-z])[^):]*\)' README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/how-to/*.md |
		sed 's/\](\(.*\))$/\1/')
	[ "$failed" -eq 0 ]
}
