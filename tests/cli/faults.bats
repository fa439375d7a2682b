#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Servers that break: an error in words, in bounded time and memory.

load common

setup_file() {
	clean_environment
	start_api
}

teardown_file() {
	stop_api
}

setup() {
	fresh_api
	put "$(job a)"
}

rule() {
	control POST /rules "[$1]" >/dev/null
}

# within SECONDS STATUS ARGS…: it ends by itself, with words, and with no more than 160 MB of memory.
within() {
	local limit=$1 want=$2
	shift 2
	run --separate-stderr timeout "$limit" /usr/bin/env python3 -c '
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if peak > 160000 and "asan" not in sys.argv[1]:
    sys.stderr.write("used %d KiB\n" % peak)
    code = 99
sys.exit(code)' "$ETJOB" "$@"
	same "status of $* ($stderr)" "$status" "$want"
}

@test "every command tells of a server that closes, resets, or sends garbage" {
	local fault words
	for fault in reset close garbage truncate; do
		control DELETE /rules >/dev/null
		rule "{\"times\": -1, \"fault\": \"$fault\"}"
		for words in 'get a' 'list' 'submit b --image=i run' 'scaleout a' 'delete a' 'describe a' 'history a' 'logs a' 'scale a --replicas=2' 'suspend a' 'events a'; do
			# shellcheck disable=SC2086 # words
			within 30 1 $words
			out_is ''
			[ -n "$stderr" ] || { echo "no word of $fault from $words"; return 1; }
		done
	done
}

@test "a stalled server: --request-timeout ends it" {
	rule '{"times": -1, "fault": "stall"}'
	local words
	for words in 'get a' 'list' 'submit b --image=i run' 'scaleout a' 'delete a'; do
		# shellcheck disable=SC2086 # words
		within 20 1 $words --request-timeout=1
		[[ $stderr == *'Unable to connect to the server: '* ]]
	done
}

@test "huge and endless answers end in an error, not in memory" {
	rule '{"times": -1, "fault": "endless"}'
	within 60 1 get a -o json
	[ -n "$stderr" ]
}

@test "busy answers are tried again as Retry-After says" {
	rule '{"times": 2, "status": 429, "reason": "TooManyRequests", "message": "busy", "headers": {"Retry-After": "0"}}'
	within 20 0 get a -o name
	out_is 'trainingjob.kai.alibabacloud.com/a'
	same requests "$(requests | wc -l)" 3
}

@test "a server error is told as kubectl tells it" {
	rule '{"times": -1, "status": 500, "reason": "InternalError", "message": "it broke"}'
	within 20 1 get a
	err_is 'Error from server (InternalError): it broke'
	control DELETE /rules >/dev/null
	rule '{"times": -1, "status": 403, "reason": "Forbidden", "message": "trainingjobs is forbidden"}'
	within 20 1 list
	[[ $stderr == *'Error from server (Forbidden): trainingjobs is forbidden'* ]]
}

@test "warnings of the server are shown once" {
	rule '{"times": -1, "warnings": ["old version", "old version", "new"]}'
	within 20 0 get a -o name
	err_is 'Warning: old version
Warning: new'
}

@test "what the webhook refuses is told whole" {
	rule '{"method": "POST", "status": 422, "reason": "Invalid", "message": "admission webhook \"validate.trainingjobs.kai.alibabacloud.com\" denied the request: metadata.name: \"b\" is taken by a job in namespace other"}'
	within 20 1 submit b --image=i run
	[[ $stderr == *'metadata.name: "b" is taken by a job in namespace other'* ]]
}

@test "a read-only HOME and none do no harm" {
	HOME=/proc/nonexistent within 20 0 get a -o name
	within 20 0 get a -o name --cache-dir=/proc/nonexistent
}

@test "no secret is shown at -v=9" {
	within 20 0 get a -o name -v 9
	[[ $stderr != *fake-token* ]]
	[[ $stderr == *GET* ]]
}

@test "what waits ends at once when the server was never there" {
	local words
	for words in 'wait a' 'get a -w' 'list -w' 'logs a -f' 'events a -w'; do
		# shellcheck disable=SC2086 # words
		within 20 1 $words --server=http://localhost:1
		err_is 'The connection to the server localhost:1 was refused - did you specify the right host or port?'
	done
}

@test "what waits goes on when the server was away for a while" {
	"$ETJOB" wait a --for=Succeeded -q >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	local pid=$!
	wait_until 10 bash -c "curl -sS $(cat "$API/control")/requests | jq -e 'any(.query.watch)'"
	rule '{"times": 2, "fault": "close"}'
	control POST /drop '{"how": "reset"}' >/dev/null
	put "$(job a '.status.phase = "Succeeded"')"
	wait "$pid"
	same stdout "$(cat "$BATS_TEST_TMPDIR/out")" 'trainingjob.kai.alibabacloud.com/a condition met'
}
