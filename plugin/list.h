/* SPDX-License-Identifier: Apache-2.0 */
/* list: jobs as rows, once or as they change. */
#ifndef PLUGIN_LIST_H
#define PLUGIN_LIST_H
#include "cmd.h"

struct list_opts {
	const char *output, *selector, *field_selector, *sort_by;
	const char *name; /* watch only this job; NULL: all */
	bool all, watch, no_headers;
};
MUST_USE int list_jobs(struct cmd_ctx *ctx, const struct list_opts *o, struct err *err);
/*
 * Redraws on a terminal, prints a row a change elsewhere; ends when the named job has
 * ended, or when all have.
 */
MUST_USE int list_watch(struct cmd_ctx *ctx, const struct list_opts *o, struct err *err);
#endif
