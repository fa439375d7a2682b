#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Completion, driven through real shells where they are there.

load common

setup_file() {
	clean_environment
	start_api
	mkdir -p "$BATS_FILE_TMPDIR/bin"
	ln -sf "$ETJOB" "$BATS_FILE_TMPDIR/bin/kubectl-etjob"
	ln -sf "$ETJOB" "$BATS_FILE_TMPDIR/bin/kubectl_complete-etjob"
	export PATH=$BATS_FILE_TMPDIR/bin:$PATH
}

teardown_file() {
	stop_api
}

setup() {
	fresh_api
}

words() {
	sed 's/\t.*//' <<<"$output"
}

@test "kubectl asks kubectl_complete-etjob" {
	run kubectl_complete-etjob scale
	same words "$(words)" 'scaleout
scalein
scale
:4'
	[[ ${lines[0]} == $'scaleout\tAdd workers to a job while it trains' ]]
}

@test "flags, values and arguments" {
	put "$(job apple)" "$(job banana)" '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}'
	run kubectl-etjob __complete get --out
	same words "$(words)" '--output
:4'
	run kubectl-etjob __complete submit --image-pull-policy I
	same words "$(words)" 'IfNotPresent
:4'
	run kubectl-etjob __complete submit --start-policy=
	same words "$(words)" '--start-policy=All
--start-policy=Minimum
:4'
	run kubectl-etjob __complete get a
	same words "$(words)" 'apple
:4'
	[[ ${lines[0]} == $'apple\tRunning' ]]
	run kubectl-etjob __complete get -n t
	same words "$(words)" 'team
:4'
	run kubectl-etjob __complete --context f
	same words "$(words)" 'fake
:4'
	run kubectl-etjob __complete completion ''
	same words "$(words)" 'bash
zsh
fish
:4'
	run kubectl-etjob __complete validate ''
	same words "$(words)" ':0'
}

@test "a server that is away gives no words and no error" {
	run env KUBECONFIG=/nonexistent kubectl-etjob __complete get ''
	same status "$status" 0
	same words "$output" ':4'
}

# complete_in_bash LINE: what bash offers for the line.
complete_in_bash() {
	# shellcheck disable=SC2016 # for the other shell
	bash --norc --noprofile -c '
		source <(kubectl-etjob completion bash)
		COMP_LINE=$1 COMP_POINT=${#1}
		# bash parts the line at blanks and at =
		read -ra COMP_WORDS <<<"${1//=/ = }"
		[[ $1 == *[[:space:]=] ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		compopt() { :; }
		_kubectl_etjob
		printf "%s\n" "${COMPREPLY[@]}"' _ "$1"
}

@test "bash" {
	put "$(job apple)"
	same verb "$(complete_in_bash 'kubectl-etjob scaleo')" scaleout
	same name "$(complete_in_bash 'kubectl-etjob get ap')" apple
	same value "$(complete_in_bash 'kubectl-etjob submit --dry-run=cl')" client
	same flag "$(complete_in_bash 'kubectl-etjob logs --ti')" --timestamps
}

@test "zsh and fish read their scripts" {
	local shell found=
	for shell in zsh fish; do
		if command -v "$shell" >/dev/null; then
			kubectl-etjob completion "$shell" >"$BATS_TEST_TMPDIR/$shell"
			run "$shell" -n "$BATS_TEST_TMPDIR/$shell"
			same "$shell" "$output" ''
			found=1
		fi
	done
	[ -n "$found" ] || skip 'neither zsh nor fish is there'
}

@test "fish" {
	command -v fish >/dev/null || skip 'fish is not there'
	put "$(job apple)"
	run fish --no-config -c 'kubectl-etjob completion fish | source; complete -C "kubectl-etjob get ap"'
	same fish "$output" $'apple\tRunning'
}

@test "kubectl's own completion asks it" {
	command -v kubectl >/dev/null || skip 'kubectl is not there'
	put "$(job apple)"
	run --separate-stderr kubectl __complete etjob get ap
	same word "${lines[0]}" $'apple\tRunning'
	run --separate-stderr kubectl __complete etjob scaleo
	same word "${lines[0]}" $'scaleout\tAdd workers to a job while it trains'
}

@test "an unknown shell" {
	etjob 2 completion tcsh
	err_is 'error: "tcsh" is no shell that is known here: bash, zsh or fish'
}
