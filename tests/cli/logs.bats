#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# logs: which pod, following, breaks of the connection.

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
	# each test has pods of its own, since the fake server keeps what a container said
	J=j$BATS_TEST_NUMBER
}

# say POD TEXT… : lines of a pod's log. OPTIONS: more members, as ,"end":true
say() {
	local pod=$1 lines='' text
	shift
	for text in "$@"; do
		lines+=${lines:+,}$(jq -n --arg t "$text" '$t')
	done
	control POST /logs "{\"namespace\":\"default\",\"pod\":\"$pod\",\"container\":\"et\",\"lines\":[$lines]${OPTIONS:-}}" >/dev/null
}

follow() {
	"$ETJOB" logs "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	PID=$!
}

has() {
	grep -qx -- "$1" "$BATS_TEST_TMPDIR/out"
}

ended() {
	local got=0
	wait "$PID" || got=$?
	same "status ($(cat "$BATS_TEST_TMPDIR/err"))" "$got" "$1"
}

@test "the launcher, a worker by its name or its end, all with a prefix" {
	put "$(job "$J")" "$(pod "$J" launcher 0)" "$(pod "$J" worker 0)" "$(pod "$J" worker 1)"
	OPTIONS=',"end":true' say "$J-launcher" l1 l2
	OPTIONS=',"end":true' say "$J-worker-0" a
	OPTIONS=',"end":true' say "$J-worker-1" b
	etjob 0 logs "$J"
	out_is 'l1
l2'
	etjob 0 logs "$J" -i "$J-worker-1"
	out_is b
	etjob 0 logs "$J" -i worker-0
	out_is a
	etjob 0 logs "$J" --all
	out_is '[launcher] l1
[launcher] l2
[worker-0] a
[worker-1] b'
	etjob 1 logs "$J" -i worker-7
	err_is "error: job \"$J\" has no pod \"worker-7\""
}

@test "what is asked of the server" {
	put "$(job "$J")" "$(pod "$J" launcher 0)"
	OPTIONS=',"end":true' say "$J-launcher" x
	etjob 0 logs "$J" --tail=5 --since=1m --timestamps
	same request "$(requests | grep /log)" "GET /api/v1/namespaces/default/pods/$J-launcher/log?container=et&sinceSeconds=60&tailLines=5&timestamps=true 200"
}

@test "the container of the annotation is the default" {
	put "$(job "$J")" "$(pod "$J" launcher 0 '.metadata.annotations = {"kubectl.kubernetes.io/default-container": "main"} | .spec.containers += [{name: "main", image: "i"}] | .status.containerStatuses += [{name: "main", state: {running: {}}}]')"
	control POST /logs "{\"namespace\":\"default\",\"pod\":\"$J-launcher\",\"container\":\"main\",\"lines\":[\"from main\"],\"end\":true}" >/dev/null
	etjob 0 logs "$J"
	out_is 'from main'
}

@test "a container that crashes again and again has its last log" {
	put "$(job "$J")" "$(pod "$J" launcher 0 '.status.containerStatuses[0] += {restartCount: 2, state: {waiting: {reason: "CrashLoopBackOff"}}, lastState: {terminated: {exitCode: 1}}}')"
	OPTIONS=',"end":true' say "$J-launcher" 'Traceback'
	etjob 0 logs "$J"
	out_is Traceback
	OPTIONS=',"end":true,"previous":true' say "$J-launcher" 'the run before'
	etjob 0 logs "$J" -p
	out_is 'the run before'
}

@test "-f waits for the launcher, follows a restart, and ends with the job" {
	put "$(job "$J" '.status = {phase: "Created"}')"
	follow "$J" -f -q
	put "$(pod "$J" launcher 0 '.status = {phase: "Pending"}')"
	say "$J-launcher" first
	put "$(pod "$J" launcher 0)"
	wait_until 10 has first
	say "$J-launcher" second
	wait_until 10 has second
	OPTIONS=',"end":true' say "$J-launcher" 'last of the first'
	wait_until 10 has 'last of the first'
	control DELETE "/objects?path=/api/v1/namespaces/default/pods/$J-launcher" >/dev/null
	put "$(pod "$J" launcher 0 '.metadata.uid = "another"')"
	OPTIONS=',"end":true' say "$J-launcher" 'of the second'
	wait_until 10 has 'of the second'
	put "$(job "$J" '.status = {phase: "Succeeded"}')"
	ended 0
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" ''
}

@test "-f loses and doubles no line when the connection breaks" {
	put "$(job "$J")" "$(pod "$J" launcher 0)"
	follow "$J" -f
	local how i=0
	for how in close reset end close; do
		say "$J-launcher" "line $((++i))" "line $((++i))"
		wait_until 10 has "line $i"
		control POST /drop "{\"how\": \"$how\"}" >/dev/null
		say "$J-launcher" "line $((++i))"
		wait_until 20 has "line $i"
	done
	put "$(job "$J" '.status = {phase: "Succeeded"}')"
	OPTIONS=',"end":true' say "$J-launcher" "line $((++i))"
	ended 0
	same lines "$(cat "$BATS_TEST_TMPDIR/out")" "$(seq -f 'line %g' "$i")"
}

@test "-f --all takes up workers that join" {
	put "$(job "$J")" "$(pod "$J" launcher 0)" "$(pod "$J" worker 0)"
	say "$J-launcher" start
	say "$J-worker-0" w0
	follow "$J" -f --all
	wait_until 10 has '\[worker-0\] w0'
	say "$J-worker-1" w1
	put "$(pod "$J" worker 1)"
	wait_until 10 has '\[worker-1\] w1'
	kill -TERM "$PID"
	ended 130
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" ''
}

@test "a job that is not there" {
	etjob 1 logs nope -f
	err_is 'Error from server (NotFound): trainingjobs.kai.alibabacloud.com "nope" not found'
}
