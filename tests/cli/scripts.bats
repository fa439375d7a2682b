#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The scripts that run in pods, under dash and busybox sh, with a real sshd and a real ssh.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    export BUILD=${BUILD:-build}
    make -s "$BUILD/tests/unit/test_scripts" >&2
    export SCRIPTS=$BATS_FILE_TMPDIR/scripts
    mkdir "$SCRIPTS"
    local name
    for name in discover worker idle probe prestop launcher kubexec; do
        "$BUILD/tests/unit/test_scripts" print "$name" >"$SCRIPTS/$name"
    done
    chmod +x "$SCRIPTS"/*
    SHELLS=
    command -v dash >/dev/null && SHELLS=dash
    command -v busybox >/dev/null && SHELLS="$SHELLS${SHELLS:+:}busybox sh"
    export SHELLS=${SHELLS:-sh}
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# each COMMAND...: for every shell, in $sh.
each() {
    local IFS=: sh
    for sh in $SHELLS; do
        IFS=' ' "$@" || return 1
    done
}

# sandbox: the commands on stdin, in a pod of sorts, under every shell.
sandbox() {
    if [ "$(id -u)" != 0 ] || ! unshare -mnpf true 2>/dev/null; then
        skip "needs root and namespaces"
    fi
    if [ ! -x /usr/sbin/sshd ] || ! command -v setpriv >/dev/null; then
        skip "needs openssh-server and setpriv"
    fi
    cat >commands
    each in_sandbox
}
in_sandbox() {
    local rc=0
    timeout 60 "$BATS_TEST_DIRNAME/pod-sandbox" "$SCRIPTS" "$sh" "$PWD/commands" >out 2>&1 || rc=$?
    if [ "$rc" != 0 ]; then
        echo "under $sh, status $rc:"
        cat out
        return 1
    fi
}

@test "the scripts are right for the shell checker" {
    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    for name in worker idle probe prestop launcher; do
        shellcheck -s sh -e SC1007,SC2015,SC2016 "$SCRIPTS/$name"
    done
    shellcheck -e SC2016 "$SCRIPTS/discover" "$SCRIPTS/kubexec"
}

discovers() { # discovers FILE-CONTENT WANTED-OUTPUT WANTED-STATUS
    local rc=0
    printf '%b' "$1" >hosts
    ETJOB_HOSTFILE=$PWD/hosts $sh "$SCRIPTS/discover" >out 2>err || rc=$?
    printf '%b' "$2" >want
    echo "under $sh: status $rc" && cat err
    cmp want out && [ "$rc" = "$3" ]
}

@test "discovery prints the hosts, also the last line without its end" {
    each discovers 'a.b:1\nc.d:2\n' 'a.b:1\nc.d:2\n' 0
    each discovers 'a.b:1\n\nc.d:2' 'a.b:1\nc.d:2\n' 0
    each discovers '%s\\n:1\n' '%s\\n:1\n' 0
}

@test "discovery fails rather than print nothing" {
    each discovers '' '' 1
    [ "$(cat err)" = "discover_hosts.sh: no worker is ready" ]
    each discovers '\n\n' '' 1
    rm hosts
    ETJOB_HOSTFILE=$PWD/hosts run dash "$SCRIPTS/discover"
    [ "$status" = 1 ]
    [ "$output" = "discover_hosts.sh: cannot read $PWD/hosts" ]
}

@test "discovery leaves out a new host that does not answer, and keeps one that did" {
    sandbox <<'END'
    worker && until_ready
    printf '127.0.0.1:1\n127.0.0.2:1\n' >/run/hosts
    kill "$worker" && wait "$worker" || true
    find_hosts() { TMPDIR=/run ETJOB_HOSTFILE=/run/hosts ETJOB_CHECK_PORT=22 "${sh[@]}" "$scripts/discover"; }
    ! find_hosts
    mkdir -p /run/sshd
    /usr/sbin/sshd -f /dev/null -h /run/etjob/host_key -o ListenAddress=127.0.0.1 -o PidFile=/run/pid
    until_true [ -s /run/pid ]
    [ "$(find_hosts)" = 127.0.0.1:1 ]
    kill "$(cat /run/pid)"
    until_true [ ! -e /run/pid ]
    [ "$(find_hosts)" = 127.0.0.1:1 ]
END
}

@test "as root: port 22, output, errors, input and status go through, nothing runs twice" {
    sandbox <<'END'
    worker && until_ready
    [ "$(cut -d' ' -f2 /run/etjob/sshd)" = 22 ]
    rc=0
    launcher 0 22 sh -c 'ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no localhost \
        "echo out; echo err >&2; cat; echo once >>/run/count; exit 7"' \
        <<<"in" >/run/out 2>/run/err || rc=$?
    [ "$rc" = 7 ]
    [ "$(cat /run/out)" = "out
in" ]
    [ "$(cat /run/err)" = err ]
    # 255 is what ssh itself fails with, and a command may end with it too.
    launcher 0 22 ssh localhost 'echo once >>/run/count; exit 255' || rc=$?
    [ "$rc" = 255 ]
    [ "$(wc -l </run/count)" = 2 ]
    # No probe and no launcher has left a complaint in the worker's log.
    ! grep -E 'error|closed by remote' /run/worker.log
END
}

@test "as another user: port 2222, found by a launcher that was not told" {
    sandbox <<'END'
    worker 1234 && until_ready
    [ "$(cut -d' ' -f2 /run/etjob/sshd)" = 2222 ]
    [ "$(launcher 1234 auto ssh localhost 'id -un')" = trainer ]
    [ "$(launcher 1234 2222 ssh localhost 'id -u')" = 1234 ]
    # horovodrun's own -p comes after ours, which stands.
    [ "$(launcher 1234 2222 ssh localhost -p 22 'id -u')" = 1234 ]
END
}

@test "a launcher waits for a port that refuses and for a name that does not resolve" {
    sandbox <<'END'
    launcher 0 22 ssh et-worker-0.et-workers 'echo there; echo once >>/run/count' >/run/out 2>/run/err &
    ssh=$!
    until_true [ -x /run/etjob/bin/ssh ]
    until_true eval 'grep -q resolve /run/etjob/log.* 2>/dev/null'
    echo '127.0.0.1 et-worker-0.et-workers' >>/etc/hosts
    until_true eval 'grep -q refused /run/etjob/log.* 2>/dev/null'
    worker && until_ready
    wait "$ssh"
    [ "$(cat /run/out)" = there ]
    [ ! -s /run/err ]
    [ "$(wc -l </run/count)" = 1 ]
END
}

@test "a launcher that is stopped takes its ssh along" {
    sandbox <<'END'
    worker && until_ready
    launcher 0 22 ssh localhost 'echo started >/run/started; exec sleep 60' &
    ssh=$!
    until_true [ -s /run/started ]
    set -- /run/etjob/up.*
    rc=0; kill "${1##*.}" && wait "$ssh" || rc=$?
    [ "$rc" != 0 ]
    [ -z "$(ls /run/etjob/up.* /run/etjob/log.* 2>/dev/null)" ]
    ! pgrep -x ssh
END
}

@test "a command ends when its connection does, with all that it started" {
    sandbox <<'END'
    worker && until_ready
    launcher 0 22 ssh localhost 'sleep 61 & sh -c "trap \"\" TERM; echo started >/run/started; while :; do sleep 0.1; done"' &
    until_true [ -s /run/started ]
    set -- /run/etjob/up.*
    kill -KILL "$(pgrep -P "${1##*.}" -x ssh)"
    # One that does not listen is given 10 s.
    until_true eval '! pgrep -f "^sleep 61" >/dev/null'
    pgrep -f '^sh -c trap' >/dev/null
    until_true eval '! pgrep -f "^sh -c trap" >/dev/null'
    # After an end in good order nothing is touched.
    launcher 0 22 ssh localhost 'setsid sleep 62 >/dev/null 2>&1 </dev/null & sleep 63 >/dev/null 2>&1 </dev/null &'
    sleep 1.5
    pgrep -f '^sleep 62' && pgrep -f '^sleep 63'
END
}

@test "a command sees signals, its shell and its words as under plain ssh" {
    sandbox <<'END'
    worker && until_ready
    [ "$(launcher 0 22 ssh localhost 'printf "%s|" "a  b" "\$HOME" $SHELL; echo ${SSH_ORIGINAL_COMMAND-unset}')" = 'a  b|$HOME|/bin/bash|unset' ]
    rc=0; launcher 0 22 ssh localhost 'kill -TERM $$' || rc=$?
    [ "$rc" = 143 ]
    # No more is ignored than here; make leaves two signals ignored that nobody can reset.
    [ "$(launcher 0 22 ssh localhost 'grep SigIgn /proc/self/status')" = "$(grep SigIgn /proc/self/status)" ]
    # As long as an argument may be.
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    [ "$(launcher 0 22 ssh localhost "echo $long | wc -c")" = 100001 ]
    [ "$(echo 'echo from a shell' | launcher 0 22 ssh localhost)" = 'from a shell' ]
END
}

@test "a key that is made anew works without a restart" {
    sandbox <<'END'
    worker && until_ready
    [ "$(launcher 0 22 ssh localhost 'echo 1')" = 1 ]
    keys
    [ "$(launcher 0 22 ssh localhost 'echo 2')" = 2 ]
    [ "$(stat -c %a /run/etjob/id)" = 600 ]
END
}

@test "a key that only the group may read, as with fsGroup, is copied for the user alone" {
    sandbox <<'END'
    chmod 440 /run/etjob-ssh/* && chgrp 1234 /run/etjob-ssh /run/etjob-ssh/*
    worker 1234 && until_ready
    [ "$(stat -c %a /run/etjob/host_key)" = 600 ]
    [ "$(launcher 1234 auto ssh localhost 'echo 1')" = 1 ]
END
}

@test "an image without sshd says so" {
    sandbox <<'END'
    mount --bind /dev/null /usr/sbin/sshd
    worker && rc=0
    wait "$worker" || rc=$?
    [ "$rc" = 110 ]
    want="the image has no sshd: install openssh-server in it, give the worker a command of its own, or set launcherAttachMode to kubexec"
    [ "$(cat "$told")" = "$want" ]
    [ "$(cat /run/worker.log)" = "etjob: $want" ]
END
}

@test "a user whom sshd would refuse is told why" {
    sandbox <<'END'
    rc=0; worker 4321; wait "$worker" || rc=$?
    [ "$rc" = 112 ]
    [ "$(cat "$told")" = "user 4321 has no entry in the image's /etc/passwd: add one with a login shell, or set runAsUser to a user that has one" ]
    rc=0; worker 1235; wait "$worker" || rc=$?
    [ "$rc" = 112 ]
    [ "$(cat "$told")" = "user nobodys (uid 1235) has the login shell /usr/sbin/nologin, which ends every session: give it a real one in the image, or set runAsUser to a user that has one" ]
    echo 'zed:x:1236:1236::/tmp:/bin/nosuchshell' >>/etc/passwd
    rc=0; worker 1236; wait "$worker" || rc=$?
    [ "$rc" = 112 ]
    grep -q 'login shell /bin/nosuchshell, which the image does not have' "$told"
END
}

@test "a user without an entry gets one where the image lets it" {
    sandbox <<'END'
    chmod 666 /etc/passwd
    worker 4321 && until_ready
    grep -q '^etjob:x:4321:' /etc/passwd
    [ "$(launcher 4321 auto ssh localhost 'id -un')" = etjob ]
END
}

@test "a key that can not be read is told" {
    sandbox <<'END'
    chmod 400 /run/etjob-ssh/*
    rc=0; worker 1234; wait "$worker" || rc=$?
    [ "$rc" = 111 ]
    grep -q "user 1234 can not read the job's key in /run/etjob-ssh: set fsGroup" "$told"
END
}

@test "root without the capabilities of sshd is told" {
    sandbox <<'END'
    rc=0
    setpriv --bounding-set -sys_chroot "${sh[@]}" -c "$(text worker)" etjob-worker auto "$told" 2>/run/log || rc=$?
    [ "$rc" = 113 ]
    grep -q 'needs the capabilities SETUID, SETGID and SYS_CHROOT' "$told"
END
}

@test "root who may not take port 22 takes 2222, and the launcher finds it" {
    sandbox <<'END'
    setpriv --bounding-set -net_bind_service "${sh[@]}" -c "$(text worker)" etjob-worker auto "$told" 2>>/run/worker.log &
    worker=$!
    until_ready
    [ "$(cut -d' ' -f2 /run/etjob/sshd)" = 2222 ]
    [ "$(launcher 0 auto ssh localhost 'echo 1')" = 1 ]
END
}

@test "a locked root, as some images have it, is let in" {
    sandbox <<'END'
    sed -i 's/^root:[^:]*:/root:!locked:/' /run/copies/shadow
    cat /run/copies/shadow >/etc/shadow
    worker && until_ready
    [ "$(launcher 0 22 ssh localhost 'echo 1')" = 1 ]
    grep -q '^root:\*:' /etc/shadow
END
}

@test "a worker that ends waits for its training processes, and not for more" {
    sandbox <<'END'
    worker && until_ready
    t0=$(now) && prestop ssh && [ $(($(now) - t0)) -lt 2000 ]
    launcher 0 22 ssh localhost 'echo started >/run/started; until [ -e /run/go ]; do sleep 0.05; done; echo ended >/run/ended' &
    until_true [ -s /run/started ]
    (sleep 1 && : >/run/go) &
    prestop ssh
    [ "$(cat /run/ended)" = ended ]
END
}

@test "a worker that brings its own sshd is waited for too" {
    sandbox <<'END'
    mkdir -p /run/sshd
    cp /run/etjob-ssh/id /run/host && chmod 600 /run/host
    /usr/sbin/sshd -f /dev/null -h /run/host -p 22 -o AuthorizedKeysFile=/run/etjob-ssh/id.pub -o StrictModes=no -o UsePAM=no -o PidFile=/run/pid
    until_true [ -s /run/pid ]
    t0=$(now) && prestop ssh && [ $(($(now) - t0)) -lt 2000 ]
    launcher 0 - ssh localhost 'echo started >/run/started; until [ -e /run/go ]; do sleep 0.05; done; echo ended >/run/ended' &
    until_true [ -s /run/started ]
    (sleep 1 && : >/run/go) &
    prestop ssh
    [ "$(cat /run/ended)" = ended ]
END
}

@test "a launcher without an ssh client says so and runs the command all the same" {
    sandbox <<'END'
    out=$(PATH=/nowhere launcher 0 22 /bin/echo hello 2>/run/err) || true
    mkdir /run/bin && for tool in setpriv dash busybox sed cat; do ln -s "$(command -v $tool)" /run/bin/ 2>/dev/null || true; done
    out=$(PATH=/run/bin launcher 0 22 /bin/echo hello 2>/run/err)
    [ "$out" = hello ]
    grep -q 'the image has no ssh client' /run/err
END
}

kubexec_calls() {
    mkdir -p bin
    printf '#!/bin/sh\nprintf "%%s|" "$@"; exit 3\n' >bin/kubectl
    chmod +x bin/kubectl
    local rc=0
    PATH=$PWD/bin:/usr/bin:/bin $sh "$SCRIPTS/kubexec" et-worker-0.et-workers 'cd /x;' 'echo "$A"' >out || rc=$?
    cat out
    [ "$rc" = 3 ] && [ "$(cat out)" = 'exec|et-worker-0|--|/bin/sh|-c|cd /x; echo "$A"|' ]
}

@test "kubexec runs the command in the pod of the host" {
    if [ -x /usr/local/bin/kubectl ] || [ -x /usr/bin/kubectl ] || [ -x /opt/kube/kubectl ]; then
        skip "a kubectl of the machine's own comes first"
    fi
    each kubexec_calls
}

idles() {
    $sh "$SCRIPTS/idle" &
    local pid=$!
    local n=0
    until grep -q . "/proc/$pid/task/$pid/children"; do
        n=$((n + 1)) && [ "$n" -lt 100 ] && sleep 0.05
    done
    kill "$pid" && wait "$pid"
}

@test "the idle worker ends when it is told to" {
    each idles
}
