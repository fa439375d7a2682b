/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts: the POSIX sh text that runs in the pods of a job. Static, never freed.
 * The worker's side needs nothing of the image but sh and sshd; the launcher's,
 * which has Python and with it the usual tools, cat, chmod, mkdir, mv, rm and sleep.
 *
 * Text that goes into `command` or `args` passes through the kubelet, which reads
 * "$$" as "$" and "$(NAME)" as a variable: scripts_escape() takes care. Text of
 * probes and hooks is not expanded.
 */
#ifndef ETJOB_SCRIPTS_H
#define ETJOB_SCRIPTS_H
#include "base/buf.h"

/* Exit statuses of the worker's script; the reason is in the termination message. */
#define SCRIPT_EXIT_NO_SSHD 110 /* the image has no sshd */
#define SCRIPT_EXIT_NO_KEY 111  /* the job's key can not be read or copied */
#define SCRIPT_EXIT_USER 112    /* the user has no passwd entry, or no login shell */
#define SCRIPT_EXIT_CAPS 113    /* root without the capabilities that sshd needs */

/* discover_hosts.sh of the ConfigMap. */
const char *scripts_discover(void);
/* sh -c TEXT NAME PORT TERMINATION_LOG: sshd in the foreground; PORT is a number or "auto". */
const char *scripts_worker(void);
/* sh -c TEXT: waits until it is killed (workers that are reached by kubectl exec). */
const char *scripts_idle(void);
/* sh -c TEXT: whether the worker's sshd listens. */
const char *scripts_probe(void);
/* sh -c TEXT NAME ssh|kubexec: returns when no training process is left. */
const char *scripts_prestop(void);
/* sh -c TEXT NAME PORT COMMAND...: PORT is a number, "auto" or "-" (not ours to say). */
const char *scripts_launcher(void);
/* kubexec.sh, which Horovod calls in place of ssh: HOST COMMAND... */
const char *scripts_kubexec(void);
/* ssh client configuration for images whose own entrypoint calls ssh. */
const char *scripts_ssh_config(void);
/* Appends text with each "$" before "$" or "(" doubled, for `command` and `args`. */
void scripts_escape(const char *text, struct buf *out);
#endif
