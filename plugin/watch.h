/* SPDX-License-Identifier: Apache-2.0 */
/* watch: waiting until one object is as it should be, with progress on standard error. */
#ifndef PLUGIN_WATCH_H
#define PLUGIN_WATCH_H
#include "cmd.h"

struct watch_one {
	const struct kube_res *res;
	const char *ns; /* NULL: the one in use */
	const char *name;
	int64_t timeout_s;       /* 0: no limit */
	const char *what;        /* "the job to be Running": for time-outs */
	const char *interrupted; /* what goes on in the cluster after Ctrl-C */
	/*
	 * Looks at the object (NULL: it is gone). Appends a line that says how things are.
	 * Returns 0 to go on, 1 when done, -1 with err when it can not be reached any more.
	 */
	int (*look)(void *arg, const cJSON *obj, struct buf *line, struct err *err);
	void *arg;
};
MUST_USE int watch_until(struct cmd_ctx *ctx, const struct watch_one *w, struct err *err);

/*
 * Whether an informer's error ends the command: the server refuses, or was never reached. What
 * breaks later is tried again.
 */
bool watch_fatal(const struct err *err, bool synced);

/* One line that is overwritten on a terminal, and written anew when it changed elsewhere. */
struct progress {
	struct cmd_ctx *ctx;
	struct buf shown;
};
#define PROGRESS_INIT(ctx_) ((struct progress){ .ctx = (ctx_), .shown = BUF_INIT(4096) })
void progress_set(struct progress *p, const char *line);
/* Ends the line; the cursor is at the start of a fresh one. */
void progress_release(struct progress *p);

enum wait_for { WAIT_RUNNING, WAIT_SUCCEEDED, WAIT_FINISHED, WAIT_SUSPENDED, WAIT_DELETED };
/* The word of --for; FAIL_USAGE for another. */
MUST_USE int wait_parse(const char *word, enum wait_for *out, struct err *err);
/* Waits for a job. FAIL_TIMEOUT, or FAIL_STATE when it can not get there any more. */
MUST_USE int wait_job(struct cmd_ctx *ctx, const char *name, enum wait_for target,
		      int64_t timeout_s, struct err *err);
#endif
