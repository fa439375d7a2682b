/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs: a container's log, line by line, asynchronously; with follow it
 * reconnects after a broken connection without losing or doubling a line
 * (timestamps + sinceTime).
 */
#ifndef KUBE_LOGS_H
#define KUBE_LOGS_H
#include "kube/client.h"

struct logs;
struct logs_opts {
	const char *ns, *pod, *container; /* container NULL: the server's choice */
	bool follow, previous, timestamps;
	int64_t tail_lines;     /* -1: all */
	int64_t since_s;        /* 0: none */
	const char *since_time; /* RFC 3339 or NULL */
	int64_t limit_bytes;    /* 0: none */
	/* One line without its newline; nonzero stops (FAIL_CANCELED). */
	int (*on_line)(void *arg, const char *line, size_t n);
	/* Called once when the log has ended (container gone, or not following), or on error. */
	void (*on_end)(void *arg, const struct err *err);
	void *arg;
};
MUST_USE int logs_start(struct kube *k, const struct logs_opts *opts, struct logs **out,
			struct err *err);
/* No callback comes after this. NULL is fine. */
void logs_free(struct logs *l);
#endif
