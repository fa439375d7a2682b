#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Hostile clients at the webhook's HTTPS port; abuse.py says what each does. Needs no cluster.

bats_require_minimum_version 1.5.0

setup_file() {
	local build=${BUILD:-build} top
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	case $build in /*) ;; *) build=$top/$build ;; esac
	ulimit -n 8192
	"$build/tests/bench/webhook_server" --threads=2 --listen=127.0.0.1:0 \
		--health-listen=127.0.0.1:19590 >"$BATS_FILE_TMPDIR/out" 2>"$BATS_FILE_TMPDIR/err" 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	for _ in $(seq 100); do
		grep -q ready "$BATS_FILE_TMPDIR/out" && break
		sleep 0.1
	done
	PORT=$(sed -n 's/^ready //p' "$BATS_FILE_TMPDIR/out")
	export PORT
	[ -n "$PORT" ]
}

teardown_file() {
	local pid
	pid=$(cat "$BATS_FILE_TMPDIR/pid")
	kill "$pid"
	for _ in $(seq 200); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$BATS_FILE_TMPDIR/err"
	run ! kill -0 "$pid"
	[ ! -s "$BATS_FILE_TMPDIR/err" ]
}

abuse() {
	ulimit -n 8192
	"$BATS_TEST_DIRNAME/abuse.py" "$1" "$PORT" 19590
	kill -0 "$(cat "$BATS_FILE_TMPDIR/pid")"
}

@test "heads that come byte by byte" {
	abuse slow_heads
}

@test "bodies that never end" {
	abuse slow_bodies
}

@test "handshakes that never go on" {
	abuse half_open
}

@test "1,000 idle connections" {
	abuse idle
}

@test "more connections than allowed" {
	abuse too_many
}

@test "a crowd does not push out a client that works" {
	abuse proven_stays
}

@test "garbage" {
	abuse garbage
}

@test "the corners of HTTP" {
	abuse protocol
}

@test "7 MiB, and one byte more" {
	abuse sizes
}

@test "many large bodies at once" {
	abuse large_at_once
}

@test "depth and number bombs" {
	abuse bombs
}
