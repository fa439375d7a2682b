/* SPDX-License-Identifier: Apache-2.0 */
/* scaling: making a ScaleOut or ScaleIn, and waiting for its end. */
#ifndef PLUGIN_SCALING_H
#define PLUGIN_SCALING_H
#include "cmd.h"

struct scaling_opts {
	const char *name, *output, *dry_run, *script;
	int64_t count; /* -1: not given */
	int64_t timeout_s, backoff_limit;
	struct strs env, pods;
	bool wait;
};

struct scaling {
	bool out;
	const char *job;
	int64_t count;
	const struct scaling_opts *o;
};
/* The document; the caller owns *out. now_s makes the name, <job>-<unix seconds>. */
MUST_USE int scaling_build(const struct scaling *s, const char *ns, int64_t now_s, cJSON **out,
			   struct err *err);
/* Checks against the job, creates, prints, waits with o->wait. job NULL: it is read here. */
MUST_USE int scaling_run(struct cmd_ctx *ctx, const struct scaling *s, const cJSON *job,
			 struct err *err);
/* run of scaleout and scalein */
MUST_USE int scaling_command(struct cmd_ctx *ctx, bool out, const struct scaling_opts *o,
			     const struct opt_args *args, struct err *err);
#endif
