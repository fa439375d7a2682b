/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/scripts.h"

/* One line of a script, one line here. */
/* clang-format off */
/*
 * Prints the hostfile. Never prints nothing: to Horovod an empty answer means that all
 * hosts are gone, while a failed call keeps the hosts that it has. With ETJOB_CHECK_PORT, a
 * host that is new is left out until it answers there (where the image has bash and timeout):
 * a second net against hosts that are listed too early. A host that once answered stays.
 */
static const char discover_text[] =
	"#!/bin/sh\n"
	"# The workers of this job that Horovod may use, one \"host:slots\" a line.\n"
	"file=${ETJOB_HOSTFILE:-/etc/edl/hostfile}\n"
	"port=${ETJOB_CHECK_PORT:-}\n"
	"seen=${TMPDIR:-/tmp}/etjob-hosts-seen\n"
	"nl='\n"
	"'\n"
	"if [ -n \"$port\" ]; then\n"
	"\tcommand -v bash >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1 || port=\n"
	"fi\n"
	"answers() {\n"
	"\tif [ -r \"$seen\" ]; then\n"
	"\t\twhile IFS= read -r known; do\n"
	"\t\t\tif [ \"$known\" = \"$1\" ]; then return 0; fi\n"
	"\t\tdone <\"$seen\"\n"
	"\tfi\n"
	"\ttimeout 1 bash -c 'exec 3<>\"/dev/tcp/$1/$2\"' bash \"$1\" \"$port\" 2>/dev/null || return 1\n"
	"\t{ printf '%s\\n' \"$1\" >>\"$seen\"; } 2>/dev/null\n"
	"\treturn 0\n"
	"}\n"
	"[ -r \"$file\" ] || {\n"
	"\techo \"discover_hosts.sh: cannot read $file\" >&2\n"
	"\texit 1\n"
	"}\n"
	"out=\n"
	"while IFS= read -r line || [ -n \"$line\" ]; do\n"
	"\tif [ -z \"$line\" ]; then continue; fi\n"
	"\tif [ -n \"$port\" ] && ! answers \"${line%:*}\"; then continue; fi\n"
	"\tout=$out$line$nl\n"
	"done <\"$file\"\n"
	"[ -n \"$out\" ] || {\n"
	"\techo \"discover_hosts.sh: no worker is ready\" >&2\n"
	"\texit 1\n"
	"}\n"
	"printf '%s' \"$out\"\n";

/*
 * Runs sshd in the foreground as the container's first process. The job's key is copied to a
 * private file because sshd refuses one that others may read, as a Secret's files are with
 * fsGroup. authorized_keys is read from the mounted Secret, so a new key needs no restart.
 * Everything that can keep sshd from working is told in the termination message. Sessions run
 * under a script that ends their processes when the connection is gone, as sshd alone does not.
 */
static const char worker_text[] =
	"run=/run/etjob keys=/etc/etjob-ssh port=$1 told=${2:-/dev/termination-log}\n"
	"fail() {\n"
	"\tprintf 'etjob: %s\\n' \"$2\" >&2\n"
	"\t{ printf '%s' \"$2\" >\"$told\"; } 2>/dev/null\n"
	"\texit \"$1\"\n"
	"}\n"
	"uid= gid= caps=0\n"
	"while read -r key value _; do\n"
	"\tcase $key in\n"
	"\tUid:) uid=$value ;;\n"
	"\tGid:) gid=$value ;;\n"
	"\tCapEff:) caps=$value ;;\n"
	"\tesac\n"
	"done </proc/self/status\n"
	"sshd=\n"
	"for file in /usr/sbin/sshd /usr/local/sbin/sshd /usr/bin/sshd /usr/local/bin/sshd; do\n"
	"\tif [ -x \"$file\" ]; then sshd=$file && break; fi\n"
	"done\n"
	"[ -n \"$sshd\" ] || sshd=$(command -v sshd) || fail 110 \"the image has no sshd: install openssh-server in it, give the worker a command of its own, or set launcherAttachMode to kubexec\"\n"
	"user= shell=\n"
	"find_user() {\n"
	"\twhile IFS=: read -r name _ id _ _ _ sh; do\n"
	"\t\tif [ \"$id\" = \"$uid\" ]; then user=$name shell=${sh:-/bin/sh} && return 0; fi\n"
	"\tdone\n"
	"\treturn 1\n"
	"}\n"
	"find_user </etc/passwd\n"
	"if [ -z \"$user\" ] && command -v getent >/dev/null; then\n"
	"\tfind_user <<END\n"
	"$(getent passwd \"$uid\")\n"
	"END\n"
	"fi\n"
	"if [ -z \"$user\" ] && [ -w /etc/passwd ]; then\n"
	"\tprintf 'etjob:x:%s:%s:etjob:%s:/bin/sh\\n' \"$uid\" \"$gid\" \"$run\" >>/etc/passwd && user=etjob shell=/bin/sh\n"
	"fi\n"
	"[ -n \"$user\" ] || fail 112 \"user $uid has no entry in the image's /etc/passwd: add one with a login shell, or set runAsUser to a user that has one\"\n"
	"case $shell in\n"
	"*/nologin | */false) fail 112 \"user $user (uid $uid) has the login shell $shell, which ends every session: give it a real one in the image, or set runAsUser to a user that has one\" ;;\n"
	"esac\n"
	"[ -x \"$shell\" ] || fail 112 \"user $user (uid $uid) has the login shell $shell, which the image does not have: install it, or change the shell\"\n"
	"[ -r \"$keys/id\" ] && [ -r \"$keys/id.pub\" ] || fail 111 \"user $uid can not read the job's key in $keys: set fsGroup in the worker's securityContext\"\n"
	"(\n"
	"\tumask 077\n"
	"\twhile IFS= read -r line; do printf '%s\\n' \"$line\"; done <\"$keys/id\" >\"$run/host_key\"\n"
	") || fail 111 \"user $uid can not write to $run: set fsGroup in the worker's securityContext\"\n"
	"if [ \"$uid\" = 0 ]; then\n"
	"\t# SETGID, SETUID, SYS_CHROOT\n"
	"\t[ $((0x$caps & 0x400c0)) = $((0x400c0)) ] || fail 113 \"sshd as root needs the capabilities SETUID, SETGID and SYS_CHROOT, which are dropped: keep them, or set runAsUser to a user other than root\"\n"
	"\tif [ ! -d /run/sshd ]; then mkdir -p /run/sshd; fi\n"
	"\tchmod 755 /run/sshd\n"
	"\t# A locked password locks the key out too.\n"
	"\tlocked= all=\n"
	"\tif [ -r /etc/shadow ]; then\n"
	"\t\twhile IFS= read -r line; do\n"
	"\t\t\tcase $line in\n"
	"\t\t\t\"$user\":!*) locked=1 rest=${line#*:} && line=\"$user:*:${rest#*:}\" ;;\n"
	"\t\t\tesac\n"
	"\t\t\tall=\"$all$line\n"
	"\"\n"
	"\t\tdone </etc/shadow\n"
	"\tfi\n"
	"\tif [ -n \"$locked\" ]; then\n"
	"\t\t[ -w /etc/shadow ] && printf '%s' \"$all\" >/etc/shadow || fail 112 \"user $user is locked in the image's /etc/shadow, and sshd refuses it: unlock it (passwd -d, or * for the password)\"\n"
	"\tfi\n"
	"fi\n"
	"if [ \"$port\" = auto ]; then\n"
	"\t# NET_BIND_SERVICE\n"
	"\tif [ \"$uid\" = 0 ] && [ $((0x$caps & 0x400)) != 0 ]; then port=22; else port=2222; fi\n"
	"fi\n"
	"printf '%s' '# A session: the command ends when its connection does. A launcher that died would leave its\n"
	"# processes behind, and the next one would meet them on the same GPUs.\n"
	"if [ -z \"$SSH_ORIGINAL_COMMAND\" ]; then exec \"${SHELL:-/bin/sh}\"; fi\n"
	"command=$SSH_ORIGINAL_COMMAND\n"
	"unset SSH_ORIGINAL_COMMAND\n"
	"(\n"
	"\ttrap \"\" TERM HUP\n"
	"\tparent=$PPID\n"
	"\twhile [ \"$parent\" = \"$PPID\" ]; do\n"
	"\t\tsleep 1 || exit\n"
	"\t\tread -r _ _ _ parent _ <\"/proc/$$/stat\" || exit\n"
	"\tdone\n"
	"\tkill -TERM \"-$$\"\n"
	"\tsleep 10\n"
	"\tkill -KILL \"-$$\"\n"
	") </dev/null >/dev/null 2>&1 &\n"
	"watch=$!\n"
	"\"${SHELL:-/bin/sh}\" -c \"$command\"\n"
	"status=$?\n"
	"kill -KILL \"$watch\" 2>/dev/null\n"
	"exit \"$status\"\n"
	"' >\"$run/session\"\n"
	"printf '%s %s\\n' \"$$\" \"$port\" >\"$run/sshd\"\n"
	"exec \"$sshd\" -D -e -f /dev/null -h \"$run/host_key\" -p \"$port\" \\\n"
	"\t-o ForceCommand=\"exec /bin/sh $run/session\" -o AuthorizedKeysFile=\"$keys/id.pub\" \\\n"
	"\t-o StrictModes=no -o UsePAM=no -o PidFile=none \\\n"
	"\t-o PasswordAuthentication=no -o ChallengeResponseAuthentication=no \\\n"
	"\t-o PermitRootLogin=without-password -o UseDNS=no -o PrintMotd=no -o PrintLastLog=no \\\n"
	"\t-o MaxStartups=1000 -o MaxSessions=1000 -o ClientAliveInterval=10 -o ClientAliveCountMax=3\n";

/* The first process of a worker that kubectl exec reaches: it only has to be there. */
static const char idle_text[] =
	"trap 'kill \"$!\" 2>/dev/null; exit 0' TERM INT\n"
	"while :; do\n"
	"\tsleep 3600 &\n"
	"\twait \"$!\"\n"
	"done\n";

/*
 * Looks in /proc for the listening socket instead of connecting, which sshd would log as an
 * error each time. Run as a startup probe, so it costs nothing once the worker is up.
 */
static const char probe_text[] =
	"read -r pid port </run/etjob/sshd || exit 1\n"
	"read -r _ name _ <\"/proc/$pid/stat\" || exit 1\n"
	"[ \"$name\" = \"(sshd)\" ] || exit 1\n"
	"want=$(printf '%04X' \"$port\")\n"
	"for file in /proc/net/tcp /proc/net/tcp6; do\n"
	"\tif [ ! -r \"$file\" ]; then continue; fi\n"
	"\twhile read -r _ local _ state _; do\n"
	"\t\tcase $local:$state in\n"
	"\t\t*:\"$want\":0A) exit 0 ;;\n"
	"\t\tesac\n"
	"\tdone <\"$file\"\n"
	"done\n"
	"exit 1\n";

/*
 * Holds the end of a worker back until its training processes have left by themselves. A
 * session is an sshd (from 9.8 on sshd-session) whose parent is an sshd; with kubectl exec it
 * is a process whose parent is outside of the container. The grace period is the limit.
 */
static const char prestop_text[] =
	"mode=$1 main=\n"
	"if [ -r /run/etjob/sshd ]; then read -r main _ </run/etjob/sshd; fi\n"
	"busy() {\n"
	"\tdaemons=\" \"\n"
	"\tfor file in /proc/[0-9]*/stat; do\n"
	"\t\tread -r pid name _ ppid _ <\"$file\" || continue\n"
	"\t\tcase $name in\n"
	"\t\t\"(sshd)\" | \"(sshd-session)\") daemons=\"$daemons$pid \" ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tfor file in /proc/[0-9]*/stat; do\n"
	"\t\tread -r pid name _ ppid _ <\"$file\" || continue\n"
	"\t\tcase $mode:$name in\n"
	"\t\t\"ssh:(sshd)\" | \"ssh:(sshd-session)\")\n"
	"\t\t\tif [ -n \"$main\" ]; then\n"
	"\t\t\t\tif [ \"$ppid\" = \"$main\" ]; then return 0; fi\n"
	"\t\t\telse\n"
	"\t\t\t\tcase $daemons in\n"
	"\t\t\t\t*\" $ppid \"*) return 0 ;;\n"
	"\t\t\t\tesac\n"
	"\t\t\tfi\n"
	"\t\t\t;;\n"
	"\t\tkubexec:*)\n"
	"\t\t\tif [ \"$ppid\" = 0 ] && [ \"$pid\" != 1 ] && [ \"$pid\" != \"$$\" ]; then return 0; fi\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\treturn 1\n"
	"}\n"
	"while busy 2>/dev/null; do\n"
	"\tsleep 0.2 2>/dev/null || sleep 1 || exit 0\n"
	"done\n"
	"exit 0\n";

/*
 * Puts an ssh of its own first in PATH and runs the user's command. That ssh has the job's key
 * and port, and tries again while a worker's name does not resolve or its port refuses, which
 * ssh alone does not or not long enough, and which would end the whole job. It tells a failed
 * connection from a failed command by LocalCommand, which runs once a session is there.
 * Nothing in the user's home is touched, so any user id works.
 */
static const char launcher_text[] =
	"run=/run/etjob port=$1\n"
	"shift\n"
	"uid= gid=\n"
	"while read -r key value _; do\n"
	"\tcase $key in\n"
	"\tUid:) uid=$value ;;\n"
	"\tGid:) gid=$value ;;\n"
	"\tesac\n"
	"done </proc/self/status\n"
	"user=\n"
	"while IFS=: read -r name _ id _; do\n"
	"\tif [ \"$id\" = \"$uid\" ]; then user=$name; fi\n"
	"done </etc/passwd\n"
	"if [ -z \"$user\" ]; then\n"
	"\tif [ -w /etc/passwd ]; then\n"
	"\t\tprintf 'etjob:x:%s:%s:etjob:%s:/bin/sh\\n' \"$uid\" \"$gid\" \"$run\" >>/etc/passwd\n"
	"\telif ! getent passwd \"$uid\" >/dev/null 2>&1; then\n"
	"\t\techo \"etjob: user $uid has no entry in the image's /etc/passwd, and ssh refuses to run: add one, or set runAsUser to a user that has one\" >&2\n"
	"\tfi\n"
	"fi\n"
	"if real=$(command -v ssh); then\n"
	"\t(\n"
	"\t\tumask 077\n"
	"\t\tmkdir -p \"$run/bin\" && {\n"
	"\t\t\tprintf '#!/bin/sh\\nreal=\"%s\" port=\"%s\"\\n' \"$real\" \"$port\"\n"
	"\t\t\tcat <<'SCRIPT'\n"
	"run=/run/etjob keys=/etc/etjob-ssh\n"
	"umask 077\n"
	"# A private copy of the key, as ssh wants it; made again when the Secret has a new one.\n"
	"slurp() {\n"
	"\ttext=\n"
	"\twhile IFS= read -r line; do\n"
	"\t\ttext=\"$text$line\n"
	"\"\n"
	"\tdone\n"
	"}\n"
	"if [ -r \"$keys/id\" ]; then\n"
	"\tslurp <\"$keys/id\"\n"
	"\tnow=$text text=\n"
	"\tif [ -r \"$run/id\" ]; then slurp <\"$run/id\"; fi\n"
	"\tif [ \"$now\" != \"$text\" ]; then\n"
	"\t\tprintf '%s' \"$now\" >\"$run/id.$$\" && mv -f \"$run/id.$$\" \"$run/id\"\n"
	"\tfi\n"
	"fi\n"
	"up=$run/up.$$ log=$run/log.$$\n"
	"other=\n"
	"case $port in\n"
	"auto) port=22 other=2222 ;;\n"
	"-) port= ;;\n"
	"esac\n"
	"exec 3<&0\n"
	"pid= stop=\n"
	"end() {\n"
	"\tstop=1\n"
	"\tif [ -n \"$pid\" ]; then kill \"$pid\" 2>/dev/null; fi\n"
	"}\n"
	"trap end TERM INT HUP\n"
	"tries=0\n"
	"while :; do\n"
	"\trm -f \"$up\" \"$log\"\n"
	"\t\"$real\" -E \"$log\" -i \"$run/id\" -o BatchMode=yes -o StrictHostKeyChecking=no \\\n"
	"\t\t-o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null \\\n"
	"\t\t-o LogLevel=ERROR -o ConnectTimeout=10 \\\n"
	"\t\t-o ServerAliveInterval=5 -o ServerAliveCountMax=3 \\\n"
	"\t\t-o PermitLocalCommand=yes -o LocalCommand=\": >$up\" \\\n"
	"\t\t${port:+-p \"$port\"} \"$@\" <&3 3<&- &\n"
	"\tpid=$!\n"
	"\twait \"$pid\"\n"
	"\tstatus=$?\n"
	"\twhile kill -0 \"$pid\" 2>/dev/null; do\n"
	"\t\twait \"$pid\"\n"
	"\t\tstatus=$?\n"
	"\tdone\n"
	"\tpid=\n"
	"\t# Tried again only where no session came to be.\n"
	"\tif [ \"$status\" != 255 ] || [ -e \"$up\" ] || [ -n \"$stop\" ] || [ \"$tries\" -ge 60 ]; then break; fi\n"
	"\twhy=\n"
	"\tif [ -r \"$log\" ]; then\n"
	"\t\tslurp <\"$log\"\n"
	"\t\twhy=$text\n"
	"\tfi\n"
	"\tcase $why in\n"
	"\t*\"onnection refused\"*)\n"
	"\t\tif [ -n \"$other\" ]; then\n"
	"\t\t\twas=$port port=$other other=$was\n"
	"\t\t\tif [ \"$port\" = 2222 ]; then continue; fi\n"
	"\t\tfi\n"
	"\t\t;;\n"
	"\t*\"ould not resolve\"* | *\"timed out\"* | *\"o route to host\"* | *\"nreachable\"*) ;;\n"
	"\t*\"onnection reset\"* | *\"onnection closed by\"*) ;;\n"
	"\t*) break ;;\n"
	"\tesac\n"
	"\ttries=$((tries + 1))\n"
	"\tsleep 1\n"
	"done\n"
	"if [ -s \"$log\" ]; then cat \"$log\" >&2; fi\n"
	"rm -f \"$up\" \"$log\"\n"
	"exit \"$status\"\n"
	"SCRIPT\n"
	"\t\t} >\"$run/bin/ssh\" && chmod 700 \"$run/bin/ssh\"\n"
	"\t) && PATH=$run/bin:$PATH && export PATH\n"
	"else\n"
	"\techo \"etjob: the image has no ssh client, so horovodrun can not reach the workers: install openssh-client in it\" >&2\n"
	"fi\n"
	"exec \"$@\"\n";

/*
 * What Horovod calls for OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh. The pod's name is the
 * host's first label.
 */
static const char kubexec_text[] =
	"#!/bin/sh\n"
	"# Runs a command in a worker: kubexec.sh HOST COMMAND...\n"
	"kubectl=\n"
	"for file in /opt/kube/kubectl /usr/local/bin/kubectl /usr/bin/kubectl; do\n"
	"\tif [ -x \"$file\" ]; then kubectl=$file && break; fi\n"
	"done\n"
	"[ -n \"$kubectl\" ] || kubectl=$(command -v kubectl) || {\n"
	"\techo \"kubexec.sh: the image has no kubectl: install it, or set launcherAttachMode to ssh\" >&2\n"
	"\texit 127\n"
	"}\n"
	"pod=${1%%.*}\n"
	"shift\n"
	"exec \"$kubectl\" exec \"$pod\" -- /bin/sh -c \"$*\"\n";

/* For a launcher whose image brings the command itself: there is nothing to wrap. */
static const char ssh_config_text[] =
	"Host *\n"
	"\tStrictHostKeyChecking no\n"
	"\tUserKnownHostsFile /dev/null\n"
	"\tGlobalKnownHostsFile /dev/null\n"
	"\tConnectTimeout 10\n"
	"\tConnectionAttempts 20\n"
	"\tServerAliveInterval 5\n"
	"\tServerAliveCountMax 3\n"
	"\tLogLevel ERROR\n";
/* clang-format on */

const char *scripts_discover(void)
{
	return discover_text;
}

const char *scripts_worker(void)
{
	return worker_text;
}

const char *scripts_idle(void)
{
	return idle_text;
}

const char *scripts_probe(void)
{
	return probe_text;
}

const char *scripts_prestop(void)
{
	return prestop_text;
}

const char *scripts_launcher(void)
{
	return launcher_text;
}

const char *scripts_kubexec(void)
{
	return kubexec_text;
}

const char *scripts_ssh_config(void)
{
	return ssh_config_text;
}

void scripts_escape(const char *text, struct buf *out)
{
	for (const char *c = text; *c; c++) {
		if (c[0] == '$' && (c[1] == '$' || c[1] == '('))
			buf_char(out, '$');
		buf_char(out, *c);
	}
}
