/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob scalein: take workers from a running job. */
#include "output.h"
#include "scaling.h"

/* clang-format off */
static const struct opt options[] = {
	OPT_STR(struct scaling_opts, name, 0, "name", "NAME", "name of the job, instead of the argument"),
	OPT_INT(struct scaling_opts, count, 0, "count", "N", 1, INT32_MAX, "workers to take away (default 1)"),
	OPT_CSV(struct scaling_opts, pods, 0, "pods", "POD,...", "these workers (worker-2, or whole names), instead of a number"),
	OPT_SECS(struct scaling_opts, timeout_s, 0, "timeout", "longest time for the workers to leave"),
	OPT_BOOL(struct scaling_opts, wait, 0, "wait", "wait for the end, and fail when the scaling does"),
	OPT_LIST(struct scaling_opts, env, 'e', "env", "NAME=VALUE", "environment variable of the script, may be repeated"),
	OPT_STR(struct scaling_opts, script, 0, "script", "COMMAND", "run in the launcher after the scaling, where the controller allows it"),
	OPT_INT(struct scaling_opts, backoff_limit, 0, "backoff-limit", "N", 0, INT32_MAX, "failures of the script before the scaling fails"),
	{ .kind = OPT_KIND_INT, .offset = OPT_FIELD_(struct scaling_opts, backoff_limit, int64_t), .name = "retry",
	  .arg = "N", .min = 0, .max = INT32_MAX, .help = "older spelling", .flags = OPT_HIDDEN, .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct scaling_opts, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only show what would be sent, or let the server check it", .given_offset = SIZE_MAX },
	OPT_OUTPUT(struct scaling_opts, OUTPUT_OBJECT_HELP),
	OPT_END,
};
/* clang-format on */

static int scalein_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	return scaling_command(ctx, false, opts, args, err);
}

const struct cmd cmd_scalein = {
	.name = "scalein",
	.group = GROUP_SCALE,
	.args = "NAME",
	.summary = "Take workers from a job while it trains",
	.details =
		"Takes workers that do not run first, then those with the highest index. With --pods it takes these.",
	.examples = "kubectl etjob scalein elastic-training --count=1 --timeout=10m --wait\n"
		    "kubectl etjob scalein elastic-training --pods=elastic-training-worker-2",
	.nargs = { 0, 2 },
	.opts = options,
	.opts_size = sizeof(struct scaling_opts),
	.defaults =
		&(const struct scaling_opts){ .count = -1, .timeout_s = 600, .backoff_limit = -1 },
	.run = scalein_run,
};
