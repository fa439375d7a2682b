/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: several GETs at once, so that a command pays one round trip for all. */
#ifndef PLUGIN_FETCH_H
#define PLUGIN_FETCH_H
#include "cmd.h"
#include "jobinfo.h"

struct fetch {
	const struct kube_res *res;
	const char *ns;   /* NULL: all namespaces or cluster scope */
	const char *name; /* NULL: a list */
	const char *label_selector;
	int64_t limit; /* of a list; 0: none */
	/* the answer */
	cJSON *json;    /* owned */
	struct err err; /* of this request alone */
	bool done;
};
void fetch_release(struct fetch *f, size_t n);
/* Runs all; -1 only when they could not run at all: each has its own err. */
MUST_USE int fetch_all(struct cmd_ctx *ctx, struct fetch *v, size_t n, struct err *err);
/*
 * A job and its pods. A failure to list pods costs only the pods, with a warning; job and
 * pods are the caller's.
 */
MUST_USE int fetch_job(struct cmd_ctx *ctx, const char *name, cJSON **job, struct pods *pods,
		       struct err *err);
/* Moves the items of a list into pods. */
MUST_USE int fetch_pods(cJSON *list, struct pods *pods, struct err *err);
/* "Error from server (NotFound)" for an object that a watch does not see. Returns -1. */
int fetch_not_found(struct err *err, const struct kube_res *res, const char *name);
/* The hint about missing CRDs, when err is the server's 404 for the whole resource. */
void fetch_hint(struct cmd_ctx *ctx, const struct err *err);
#endif
