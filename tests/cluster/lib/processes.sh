# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes that outlive the tool. Each has a file with its pid and its start time, so that a pid
# which the kernel gave to another process meanwhile is never taken for ours.

# Prints when process PID started, in clock ticks after boot; fails when there is no such process.
start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	# The second field, the name in brackets, may hold blanks.
	stat=${stat##*) }
	# A zombie has ended; only its parent has not noticed.
	[ "${stat%% *}" != Z ] || return 1
	cut -d' ' -f20 <<<"$stat"
}

# start NAME COMMAND…: runs COMMAND in the background with its output in NAME.log.
start() {
	local name=$1 pid
	shift
	mkdir -p "$LOGS" "$PIDS"
	setsid nohup "$@" >>"$LOGS/$name.log" 2>&1 </dev/null 8>&- 9>&- &
	pid=$!
	printf '%s %s\n' "$pid" "$(start_time "$pid" || echo 0)" >"$PIDS/$name"
}

# Prints the pid of NAME; fails when it does not run.
running() {
	local pid started
	[ -f "$PIDS/$1" ] && read -r pid started <"$PIDS/$1" || return 1
	[ "$(start_time "$pid")" = "$started" ] || return 1
	printf '%s\n' "$pid"
}

gone() {
	! running "$1"
}

# stop NAME SECONDS: asks it to end, waits, then insists.
stop() {
	local name=$1 limit=$2 pid
	if pid=$(running "$name"); then
		kill -TERM "$pid" 2>/dev/null
		if ! wait_until "$limit" "" gone "$name"; then
			kill -KILL "$pid" 2>/dev/null
			wait_until 10 "$name: ended on SIGKILL" gone "$name" || return 1
		fi
	fi
	rm -f "$PIDS/$name"
}

# The end of NAME's log, for a message about a failure.
show_log() {
	say "the end of $LOGS/$1.log:"
	tail -n 15 "$LOGS/$1.log" 2>/dev/null | cut -c1-300 >&2
}

# wait_for NAME SECONDS COMMAND…: until COMMAND succeeds; shows NAME's log when it does not, and
# does not wait for a process that ended.
wait_for() {
	local name=$1 limit=$2
	shift 2
	if ! wait_until "$limit" "$name: ready" alive_and "$name" "$@" || gone "$name" >/dev/null; then
		gone "$name" >/dev/null && say "$name ended by itself"
		show_log "$name"
		return 1
	fi
}

# Succeeds when the command does, and also when the process is gone, to end the waiting.
alive_and() {
	local name=$1
	shift
	running "$name" >/dev/null || return 0
	"$@"
}

# Succeeds when nothing listens on ADDRESS:PORT.
port_free() {
	! (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null
}
