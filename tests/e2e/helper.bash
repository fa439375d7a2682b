# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For the tests on a cluster with real pods. They expect KUBECONFIG, kubectl and kubectl-etjob in
# PATH, the system installed and the Horovod image loaded: scripts/test e2e sees to it.

bats_require_minimum_version 1.5.0

IMAGE=localhost/horovod:test
# The command as its documentation has it; the shell in the launcher expands it.
# shellcheck disable=SC2016
HOROVODRUN='horovodrun -np $((${workers}*${gpus})) --min-np $((${minWorkers}*${gpus})) '\
'--max-np $((${maxWorkers}*${gpus})) --host-discovery-script /etc/edl/discover_hosts.sh'
# Not exported: the Makefile has an IMAGE too, which names the image of the servers.

# The tests of a file are the steps of a story: after one that failed, the rest fails at once.
story_step() {
	if [ -e "$BATS_FILE_TMPDIR/failed" ]; then
		echo "not tried, because of: $(cat "$BATS_FILE_TMPDIR/failed")"
		return 1
	fi
}

story_step_ended() {
	if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ ! -e "$BATS_FILE_TMPDIR/failed" ]; then
		echo "$BATS_TEST_DESCRIPTION" >"$BATS_FILE_TMPDIR/failed"
	fi
}

# Each file has a namespace of its own.
new_namespace() {
	NS=e2e-$(basename "$BATS_TEST_FILENAME" .bats)
	export NS
	kubectl delete namespace "$NS" --ignore-not-found --wait --timeout=120s
	kubectl create namespace "$NS"
}

drop_namespace() {
	kubectl delete namespace "$NS" --ignore-not-found --wait --timeout=120s
}

k() {
	kubectl -n "$NS" "$@"
}

etjob() {
	kubectl etjob -n "$NS" "$@"
}

# until_true SECONDS WHAT COMMAND…: waits for COMMAND to succeed. On failure says WHAT, and shows
# the job's state for whoever reads the report.
until_true() {
	local limit=$1 what=$2 end
	shift 2
	end=$((SECONDS + limit))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "after $limit s not: $what" >&2
			show_state >&2
			return 1
		fi
		sleep 0.3
	done
}

show_state() {
	k get trainingjobs,scaleouts,scaleins,pods -o wide
	k get trainingjobs -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{.status}{"\n"}{end}'
	k get events --sort-by=.lastTimestamp | tail -n 15
	for pod in $(k get pods -o name -l training-job-role=launcher); do
		k logs "$pod" --tail=15
		echo "its host list:"
		k exec "$pod" -- cat /etc/edl/hostfile
	done
	kubectl -n etjob-system logs -l app.kubernetes.io/name=etjob-controller --tail=15
}

# field KIND/NAME JSONPATH
field() {
	k get "$1" -o "jsonpath=$2" 2>/dev/null
}

# is KIND/NAME JSONPATH VALUE
is() {
	[ "$(field "$1" "$2")" = "$3" ]
}

phase_is() {
	is "trainingjob/$1" '{.status.phase}' "$2"
}

# Prints the job's worker pods that are not going, sorted, on one line.
workers_of() {
	k get pods -l "training-job-name=$1,training-job-role=worker" -o json |
		jq -r '[.items[] | select(.metadata.deletionTimestamp == null)
			| select(.status.phase == "Running" or .status.phase == "Pending")
			| .metadata.name] | sort | join(" ")'
}

workers_are() {
	[ "$(workers_of "$1")" = "$2" ]
}

# replaced JOB LOST: two workers run, and the lost one is none of them.
replaced() {
	local now
	now=$(workers_of "$1")
	[ "$(wc -w <<<"$now")" -eq 2 ] && [[ " $now " != *" $2 "* ]]
}

# The training's own log. Horovod puts "[rank]<stdout>:" before each line.
training_log() {
	k logs "$1-launcher" | grep -o 'train [^ ]* event=.*'
}

# last_size JOB: workers in the latest batch that the training logged.
last_size() {
	training_log "$1" | sed -n 's/.*event=batch batch=[0-9]* size=\([0-9]*\).*/\1/p' | tail -n 1
}

size_is() {
	[ "$(last_size "$1")" = "$2" ]
}

last_batch() {
	training_log "$1" | sed -n 's/.*event=batch batch=\([0-9]*\) .*/\1/p' | tail -n 1
}

batch_beyond() {
	local n
	n=$(last_batch "$1")
	[ "${n:-0}" -gt "$2" ]
}

# Fails, naming the first offence, when the batch counter ever went back.
batches_only_grow() {
	training_log "$1" | sed -n 's/.*event=batch batch=\([0-9]*\) .*/\1/p' |
		awk '$1 <= last && NR > 1 { print "batch " $1 " after " last; bad = 1 }
			{ last = $1 } END { exit bad || NR == 0 }'
}

# Prints the sizes that the training went through, without repetition: "2 3 2".
sizes_seen() {
	training_log "$1" | sed -n 's/.*event=batch batch=[0-9]* size=\([0-9]*\).*/\1/p' | uniq |
		paste -sd' '
}

# sizes_were JOB SIZES: fails, telling what was, when the training went through other sizes.
sizes_were() {
	local seen
	seen=$(sizes_seen "$1")
	[ "$seen" = "$2" ] || {
		echo "sizes seen: $seen, not $2"
		show_state
		k logs "$1-launcher" >"$BATS_TEST_TMPDIR/launcher.log"
		wc "$BATS_TEST_TMPDIR/launcher.log"
		grep -v 'event=batch' "$BATS_TEST_TMPDIR/launcher.log" | cut -c1-200 | tail -n 40
		return 1
	}
}

# rank_of JOB HOSTPREFIX: the rank that the host was given last.
rank_of() {
	training_log "$1" | sed -n "s/^train $2[^ ]* event=\(start\|reset\) rank=\([0-9]*\) .*/\2/p" |
		tail -n 1
}

# submit NAME [FLAG…]: an elastic job that trains until it is stopped. Horovod's own time-out of 30 s
# bounds how long a lost worker goes unnoticed, and also how long a new one may take to join.
submit() {
	local name=$1
	shift
	etjob submit etjob --name="$name" --gpus=1 --workers=2 --min-workers=1 --max-workers=3 \
		--image="$IMAGE" --image-pull-policy=IfNotPresent --working-dir=/examples \
		"$@" "$HOROVODRUN python /examples/train.py"
}

# joined JOB HOSTPREFIX BATCH: the host has started training, and batches beyond BATCH were done.
joined() {
	[ -n "$(rank_of "$1" "$2")" ] && batch_beyond "$1" "$3"
}

# ranks JOB HOSTPREFIX…: the ranks of these workers on one line.
ranks() {
	local job=$1 host out=
	shift
	for host; do
		out="$out $host=$(rank_of "$job" "$host")"
	done
	printf '%s\n' "${out# }"
}

# Ends the training the way a training ends: all ranks leave after the same batch.
stop_training() {
	k exec "$(workers_of "$1" | cut -d' ' -f1)" -- touch /tmp/stop
}
