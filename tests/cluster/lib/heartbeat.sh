# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# A sign of life for whatever takes long.

# heartbeat PID WHAT: waits for PID, says every 30 s that it is alive, returns its status.
heartbeat() {
	local pid=$1 what=$2 started=$SECONDS next=$((SECONDS + 30))
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if [ "$SECONDS" -ge "$next" ]; then
			say "$what: $((SECONDS - started)) s so far"
			next=$((SECONDS + 30))
		fi
	done
	wait "$pid"
}
