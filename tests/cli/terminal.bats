#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a terminal shows, driven through tmux.

load common

setup_file() {
	clean_environment
	command -v tmux >/dev/null || skip 'tmux is not there'
	start_api
}

teardown_file() {
	stop_api
}

teardown() {
	tmux -S "$SOCKET" kill-server 2>/dev/null || true
}

setup() {
	command -v tmux >/dev/null || skip 'tmux is not there'
	fresh_api
	SOCKET=$BATS_FILE_TMPDIR/t$BATS_TEST_NUMBER
}

# terminal COLUMNS: a fresh terminal with a shell that has a short prompt.
terminal() {
	tmux -S "$SOCKET" -u -f /dev/null new-session -d -x "$1" -y 24 \
		"env -u NO_COLOR PS1='> ' PATH='$PLUGIN_BUILD:$PATH' KUBECONFIG='$KUBECONFIG' LC_ALL=$LC_ALL bash --norc --noprofile" 3>&-
	wait_until 10 shows '^>$'
}

type_line() {
	tmux -S "$SOCKET" send-keys -l "$1"
	tmux -S "$SOCKET" send-keys Enter
}

screen() {
	tmux -S "$SOCKET" capture-pane -p "$@" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

shows() {
	screen | grep -q -- "$1"
}

@test "get -w is drawn in place, follows the size, and ends with the job" {
	put "$(job a)" "$(pod a launcher 0)"
	terminal 100
	type_line 'kubectl-etjob get a -w'
	wait_until 10 shows RUNNING
	put "$(job a '.status.phase = "Scaling"')"
	wait_until 10 shows SCALING
	same rows "$(screen | grep -c ETJOB)" 1
	tmux -S "$SOCKET" resize-window -x 40
	put "$(job a '.status.phase = "Restarting"')"
	wait_until 10 shows RESTARTING
	put "$(job a '.status.phase = "Succeeded"')"
	wait_until 10 shows '^>$'
	same end "$(screen | grep -c SUCCEEDED)" 1
}

@test "Ctrl-C leaves a sane terminal and says what goes on" {
	put "$(job a)"
	terminal 100
	type_line 'kubectl-etjob wait a --for=Succeeded; echo "status $?"'
	wait_until 10 shows '3 of 3 workers ready'
	tmux -S "$SOCKET" send-keys C-c
	wait_until 10 shows 'status 130'
	shows '^error: interrupted: the job goes on in the cluster, see kubectl etjob get a$'
	same progress "$(screen | grep -c 'workers ready' || true)" 0
	type_line 'stty -a | grep -o " echo "'
	wait_until 10 shows '^ echo'
}

@test "progress is one line, cut to the terminal" {
	put "$(job a '.status.phase = "Created"')"
	terminal 30
	type_line 'kubectl-etjob wait a --for=Running'
	wait_until 10 shows '^a: Created, 3 of 3 workers r'
	put "$(job a)"
	wait_until 10 shows 'condition met'
	same progress "$(screen | grep -c 'Created' || true)" 0
}

@test "colour on a terminal, none with NO_COLOR" {
	terminal 100
	type_line 'kubectl-etjob submit a --image=i --no-preflight run'
	wait_until 10 shows 'INFO.0000. The Job a has been submitted successfully'
	screen -e | grep -q $'\e\\[36mINFO'
	type_line 'clear; NO_COLOR=1 kubectl-etjob submit b --image=i --no-preflight run'
	wait_until 10 shows 'The Job b has been submitted successfully'
	same escapes "$(screen -e | grep -c $'\e\\[36m' || true)" 0
}

# in_shell COMMAND: a terminal with that shell, where kubectl-etjob is completed.
in_shell() {
	tmux -S "$SOCKET" -u -f /dev/null new-session -d -x 100 -y 24 \
		"env HOME='$HOME' ZDOTDIR='$HOME' PATH='$PLUGIN_BUILD:$PATH' KUBECONFIG='$KUBECONFIG' LC_ALL=$LC_ALL TERM=screen $1" 3>&-
	wait_until 20 shows '[$%>#]$'
	type_line "$2"
	type_line 'echo re""ady'
	wait_until 20 shows '^ready'
}

# completes TYPED WANT: after TYPED and the tab key, WANT stands on the line.
completes() {
	tmux -S "$SOCKET" send-keys C-l C-u
	tmux -S "$SOCKET" send-keys -l "$1"
	tmux -S "$SOCKET" send-keys Tab
	wait_until 20 shows "$2"
	tmux -S "$SOCKET" send-keys C-c
}

@test "bash completes at the tab key" {
	put "$(job apple)"
	in_shell "PS1='> ' bash --norc --noprofile" 'source <(kubectl-etjob completion bash)'
	completes 'kubectl-etjob scaleo' 'kubectl-etjob scaleout'
	completes 'kubectl-etjob get ap' 'kubectl-etjob get apple'
	completes 'kubectl-etjob submit --dry-run=cl' 'submit --dry-run=client'
}

@test "zsh completes at the tab key" {
	command -v zsh >/dev/null || skip 'zsh is not there'
	put "$(job apple)"
	in_shell "PS1='> ' zsh -f" 'autoload -U compinit && compinit -u -D && source <(kubectl-etjob completion zsh)'
	completes 'kubectl-etjob scaleo' 'kubectl-etjob scaleout'
	completes 'kubectl-etjob get ap' 'kubectl-etjob get apple'
	completes 'kubectl-etjob submit --dry-run=cl' 'submit --dry-run=client'
}

@test "fish completes at the tab key" {
	command -v fish >/dev/null || skip 'fish is not there'
	put "$(job apple)"
	in_shell 'fish --no-config' 'kubectl-etjob completion fish | source'
	completes 'kubectl-etjob scaleo' 'kubectl-etjob scaleout'
	completes 'kubectl-etjob get ap' 'kubectl-etjob get apple'
	completes 'kubectl-etjob submit --dry-run=cl' 'submit --dry-run=client'
}

@test "list keeps a job on one line, -o wide does not" {
	put "$(job a '.status = {phase: "Failed", conditions: [{type: "Failed", status: "True", reason: "X", message: "a very long story that goes on and on and on until its very end"}]}')"
	terminal 100
	type_line 'clear; kubectl-etjob list; echo "don"e'
	wait_until 10 shows '^done$'
	same lines "$(screen | sed -n '/^NAME/,/^done/p' | wc -l)" 3
	same end "$(screen | grep -c 'very end' || true)" 0
	type_line 'clear; kubectl-etjob list -o wide | cat; echo "don"e'
	wait_until 10 shows 'end$'
}

@test "help is wrapped to the terminal" {
	terminal 40
	type_line 'clear; kubectl-etjob help prune | awk "length > 40"; echo done'
	wait_until 10 shows '^done$'
	type_line 'clear; kubectl-etjob help prune | head -5'
	wait_until 10 shows 'Delete jobs that ended long ago'
}
