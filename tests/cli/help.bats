#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Help, version, wrong use, and the documents made from the tables. No server.

load common

setup_file() {
	clean_environment
}

commands() {
	"$ETJOB" help | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

@test "every command has help that begins with its summary and ends with status 0" {
	local name
	[ "$(commands | wc -l)" -ge 28 ]
	for name in $(commands); do
		etjob 0 "$name" --help
		err_is ''
		[[ ${lines[0]} == *. ]]
		[[ $output == *$'\nUsage:\n  kubectl etjob '"$name"* ]]
		same "help $name" "$("$ETJOB" help "$name")" "$output"
	done
}

@test "help lists commands in groups, options lists the global flags" {
	etjob 0
	same 'no words' "$output" "$("$ETJOB" --help)"
	etjob 0 options
	[[ $output == 'Flags that every command takes:'*--context*--kubeconfig* ]]
	[[ $output != *--type* ]]
}

@test "flags may come before the command" {
	etjob 0 -n x --kubeconfig= template n --image=i -o name run
	out_is 'trainingjob.kai.alibabacloud.com/n'
	etjob 0 -q version
	out_is "Client Version: $("$ETJOB" version -o json | jq -r .clientVersion)"
}

@test "wrong use: one line on stderr, status 2" {
	etjob 2 sumbit
	err_is 'error: unknown command "sumbit": did you mean "submit"? see kubectl etjob help'
	etjob 2 get --nmespace=x a
	[[ $stderr == 'error: '*'--nmespace'*'--namespace'* ]]
	etjob 2 scaleout a --count=0
	[[ $stderr == 'error: '*'--count'* ]]
	etjob 2 scaleout
	err_is 'error: the name of the job is missing: give NAME or --name=NAME'
	etjob 2 get Bad_Name
	err_is 'error: "Bad_Name" is no name of a job: lower-case letters, digits and "-"'
	etjob 2 list -T mpijob
	[[ $stderr == 'error: '*type* ]]
	etjob 2 list more
	err_is 'error: list: unexpected argument "more"'
	etjob 2 wait
	err_is 'error: wait needs NAME: kubectl etjob wait NAME'
	etjob 2 scalein a --count=1 --pods=b
	err_is 'error: give --count or --pods, not both'
	etjob 2 logs a --all -i b
	err_is 'error: give --all or --instance, not both'
	etjob 2 exec a ls
	err_is 'error: write kubectl etjob exec NAME -- COMMAND [ARG...]'
	etjob 2 help nonsense
	err_is 'error: unknown command "nonsense": see kubectl etjob help'
}

@test "arena's words get, list, logs and delete take --type" {
	etjob 1 get a --type etjob
	err_is 'The connection to the server localhost:8080 was refused - did you specify the right host or port?'
}

@test "the manual and the reference are those of the tables" {
	same docs/commands.md "$(cat "$TOP/docs/commands.md")" "$("$ETJOB" help --format=markdown)"
	same docs/kubectl-etjob.1 "$(cat "$TOP/docs/kubectl-etjob.1")" "$("$ETJOB" help --format=man)"
	if command -v man >/dev/null && command -v groff >/dev/null; then
		same groff "$(groff -man -Tutf8 -ww -z "$TOP/docs/kubectl-etjob.1" 2>&1)" ''
	else
		skip 'groff is not there'
	fi
}

@test "a full disk is status 1" {
	[ -e /dev/full ] || skip '/dev/full is not there'
	run bash -c "'$ETJOB' help >/dev/full"
	same status "$status" 1
	same error "$output" 'error: cannot write to standard output: No space left on device'
}

@test "a closed pipe is silent" {
	run bash -c "set -o pipefail; '$ETJOB' help --format=markdown 2>&1 >&3 3>&- | cat >&2" 3>&1
	run bash -c "'$ETJOB' help --format=man 2>'$BATS_TEST_TMPDIR/err' | true; echo \${PIPESTATUS[0]}"
	same status "$output" 0
	same stderr "$(cat "$BATS_TEST_TMPDIR/err")" ''
}

@test "no HOME, LANG=C and 40 columns" {
	run env -u HOME -u LC_ALL LANG=C "$ETJOB" template n --image=i -o name run
	same status "$status" 0
	run env -u HOME "$ETJOB" get a
	same status "$status" 1
	same error "$output" 'The connection to the server localhost:8080 was refused - did you specify the right host or port?'
}

@test "a flag that would do nothing is refused" {
	local words
	for words in 'submit a --image=i --timeout=1m run' 'delete a --timeout=1m' 'scale a --replicas=2 --timeout=1m' 'suspend a --timeout=1m' 'install --timeout=1m'; do
		# shellcheck disable=SC2086 # words
		etjob 2 $words
		err_is 'error: --timeout goes with --wait'
	done
	etjob 2 submit a --image=i --wait --logs run
	err_is 'error: give --wait or --logs, not both'
	etjob 2 scaleout a 3
	err_is 'error: scaleout: write --count=3'
	etjob 0 --version
	same version "$output" "$("$ETJOB" version)"
}
