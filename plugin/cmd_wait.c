/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob wait: for scripts and pipelines. */
#include "watch.h"

struct wait_opts {
	const char *target;
	int64_t timeout_s;
};

/* clang-format off */
static const struct opt options[] = {
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct wait_opts, target, const char *), .name = "for",
	  .arg = "WORD", .values = "Running|Succeeded|Finished|Suspended|Deleted", .help = "what to wait for",
	  .given_offset = SIZE_MAX },
	OPT_SECS(struct wait_opts, timeout_s, 0, "timeout", "longest wait, 0 for no limit"),
	OPT_END,
};
/* clang-format on */

static int wait_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		    struct err *err)
{
	const struct wait_opts *o = opts;
	enum wait_for target;

	if (wait_parse(o->target, &target, err) < 0 || arg_name(args->v[0], err) < 0)
		return -1;
	if (wait_job(ctx, args->v[0], target, o->timeout_s, err) < 0)
		return -1;
	buf_printf(&ctx->out, "trainingjob.kai.alibabacloud.com/%s condition met\n", args->v[0]);
	return 0;
}

const struct cmd cmd_wait = {
	.name = "wait",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Wait until a job runs, succeeds or ends",
	.details =
		"Exit status 0: it is so far. 1: it can not get there any more, with the reason. 124: the time "
		"limit passed first.",
	.examples = "kubectl etjob wait elastic-training --for=Succeeded --timeout=2h",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct wait_opts),
	.defaults = &(const struct wait_opts){ .target = "Finished" },
	.run = wait_run,
};
