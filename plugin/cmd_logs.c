/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob logs: what the launcher, a worker or all of them printed. */
#include "follow.h"

struct logs_opt {
	const char *instance, *container, *since_time;
	bool all, follow, previous, timestamps;
	int64_t tail, since_s;
};

/* clang-format off */
static const struct opt options[] = {
	{ .kind = OPT_KIND_STR, .offset = OPT_FIELD_(struct logs_opt, instance, const char *), .letter = 'i',
	  .name = "instance", .arg = "POD", .values = "@instances",
	  .help = "a pod of the job: its name, or worker-0 (default the launcher)", .given_offset = SIZE_MAX },
	OPT_BOOL(struct logs_opt, all, 0, "all", "all pods of the job, each line with a prefix"),
	OPT_BOOL(struct logs_opt, follow, 'f', "follow", "go on until the job ends, through restarts"),
	OPT_INT(struct logs_opt, tail, 't', "tail", "N", -1, INT32_MAX, "only the last lines, -1 for all"),
	OPT_SECS(struct logs_opt, since_s, 0, "since", "only what is newer than this"),
	OPT_STR(struct logs_opt, since_time, 0, "since-time", "TIME", "only what is newer than this RFC 3339 time"),
	OPT_BOOL(struct logs_opt, timestamps, 0, "timestamps", "a time before each line"),
	OPT_BOOL(struct logs_opt, previous, 'p', "previous", "the run of the container before this one"),
	OPT_STR(struct logs_opt, container, 'c', "container", "NAME", "container of the pod"),
	OPT_END,
};
/* clang-format on */

static int logs_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		    struct err *err)
{
	const struct logs_opt *o = opts;
	struct follow_opts f = {
		.instance = o->instance,
		.container = o->container,
		.all = o->all,
		.follow = o->follow,
		.previous = o->previous,
		.timestamps = o->timestamps,
		.tail = o->tail,
		.since_s = o->since_s,
		.since_time = o->since_time,
	};
	size_t rest;

	if (arg_job(NULL, args, &f.name, &rest, err) < 0)
		return -1;
	if (rest < args->n)
		return err_set(err, FAIL_USAGE, "logs: unexpected argument \"%s\"", args->v[rest]);
	if (o->all && o->instance)
		return err_set(err, FAIL_USAGE, "give --all or --instance, not both");
	if (o->follow && o->previous)
		return err_set(err, FAIL_USAGE, "--previous has ended: it can not be followed");
	if (o->since_s && o->since_time)
		return err_set(err, FAIL_USAGE, "give --since or --since-time, not both");
	return follow_logs(ctx, &f, err);
}

const struct cmd cmd_logs = {
	.name = "logs",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Print the log of a job's launcher, a worker, or all pods",
	.details =
		"With -f it goes on through restarts of the launcher until the job ends, and takes up a "
		"broken connection where it was.",
	.examples = "# the last ten lines of the training\n"
		    "kubectl etjob logs elastic-training --tail 10\n"
		    "# everything from now on, from every pod\n"
		    "kubectl etjob logs elastic-training --all -f",
	.nargs = { 0, 2 },
	.opts = options,
	.opts_size = sizeof(struct logs_opt),
	.defaults = &(const struct logs_opt){ .tail = -1 },
	.run = logs_run,
};
