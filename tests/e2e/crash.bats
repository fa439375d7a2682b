#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The controller is killed again and again, at every kind of moment, through a whole walk; each
# time it starts anew and finishes what it finds. It runs outside of the cluster here, because a
# kubelet would wait longer and longer before it restarts one that dies.

load helper

setup_file() {
	new_namespace
	kubectl -n etjob-system scale deployment etjob-controller --replicas=0
	kubectl -n etjob-system wait pods -l app.kubernetes.io/name=etjob-controller \
		--for=delete --timeout=60s
	KILLS=$BATS_FILE_TMPDIR/kills
	export KILLS
	: >"$KILLS"
	keep_killing 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/killer"
}

setup() {
	story_step
}

teardown() {
	story_step_ended
}

teardown_file() {
	touch "$BATS_FILE_TMPDIR/stop"
	until_true 30 "the killer ended" test -e "$BATS_FILE_TMPDIR/stopped"
	kubectl -n etjob-system scale deployment etjob-controller --replicas=2
	kubectl -n etjob-system rollout status deployment etjob-controller --timeout=90s
	drop_namespace
}

# Lives of 50 ms to 1.5 s, drawn from a seed that is told, so that a failure can be run again.
keep_killing() {
	local pid life n=0
	RANDOM=${CRASH_SEED:-4711}
	while [ ! -e "$BATS_FILE_TMPDIR/stop" ]; do
		life=$((50 + RANDOM % 1450))
		etjob-controller --leader-elect=false --listen=127.0.0.1:18081 \
			>>"$BATS_FILE_TMPDIR/controller.log" 2>&1 &
		pid=$!
		sleep "$(printf '%d.%03d' $((life / 1000)) $((life % 1000)))"
		kill -KILL "$pid" || echo "controller ended by itself" >>"$BATS_FILE_TMPDIR/ended"
		wait "$pid" 2>/dev/null || true
		n=$((n + 1))
		echo "$n" >"$KILLS"
	done
	touch "$BATS_FILE_TMPDIR/stopped"
}

@test "a job starts" {
	submit crash
	until_true 90 "the job is Running" phase_is crash Running
	until_true 90 "training with 2 workers" size_is crash 2
}

@test "it grows" {
	so=$(etjob scaleout crash --count=1 --timeout=3m -q)
	so=${so% created}
	until_true 120 "$so succeeded" is "$so" '{.status.phase}' ScaleSucceeded
	until_true 60 "training with 3 workers" size_is crash 3
	workers_are crash "crash-worker-0 crash-worker-1 crash-worker-2"
}

@test "it shrinks" {
	si=$(etjob scalein crash --count=1 --timeout=2m -q)
	si=${si% created}
	until_true 120 "$si succeeded" is "$si" '{.status.phase}' ScaleSucceeded
	until_true 60 "training with 2 workers" size_is crash 2
	workers_are crash "crash-worker-0 crash-worker-1"
}

@test "the sizes were 2, 3, 2, and the batch counter never went back" {
	sizes_were crash "2 3 2"
	batches_only_grow crash
}

@test "a lost worker is replaced" {
	k delete pod crash-worker-1 --force --grace-period=0
	until_true 60 "the worker is replaced" replaced crash crash-worker-1
	# Its number may be above 3: a name that was reserved before a kill is not used after it.
	new=$(workers_of crash)
	until_true 150 "${new##* } trains" joined crash "${new##* }" "$(last_batch crash)"
}

@test "it ends" {
	stop_training crash
	until_true 90 "the job Succeeded" phase_is crash Succeeded
	until_true 90 "the workers are gone" workers_are crash ""
}

@test "the controller was killed at least 20 times, and never ended by itself" {
	n=$(cat "$KILLS")
	[ "$n" -ge 20 ] || {
		echo "only $n times"
		return 1
	}
	[ ! -e "$BATS_FILE_TMPDIR/ended" ] || {
		tail -n 20 "$BATS_FILE_TMPDIR/controller.log"
		return 1
	}
}
