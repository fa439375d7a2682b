/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob list: all jobs, a row each. */
#include "list.h"
#include "output.h"

/* clang-format off */
static const struct opt options[] = {
	OPT_BOOL(struct list_opts, all, 'A', "all-namespaces", "jobs of all namespaces"),
	OPT_STR(struct list_opts, selector, 'l', "selector", "LABELS", "only jobs with these labels: k=v,k2!=v"),
	OPT_STR(struct list_opts, field_selector, 0, "field-selector", "FIELDS",
		"only jobs with these fields: metadata.name=n"),
	OPT_STR(struct list_opts, sort_by, 0, "sort-by", "PATH", "order by a field: .metadata.creationTimestamp"),
	OPT_OUTPUT(struct list_opts, OUTPUT_HELP),
	OPT_BOOL(struct list_opts, watch, 'w', "watch", "go on showing the jobs until all have ended"),
	OPT_BOOL(struct list_opts, no_headers, 0, "no-headers", "leave the heads of the columns out"),
	{ .kind = OPT_KIND_BOOL, .offset = OPT_FIELD_(struct list_opts, all, bool), .name = "allNamespaces",
	  .help = "older spelling", .flags = OPT_HIDDEN, .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

static int list_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		    struct err *err)
{
	const struct list_opts *o = opts;

	(void)args; /* main refused any */
	return o->watch ? list_watch(ctx, o, err) : list_jobs(ctx, o, err);
}

const struct cmd cmd_list = {
	.name = "list",
	.aliases = "ls",
	.group = GROUP_LOOK,
	.args = "",
	.summary = "List jobs, with what is wrong with each",
	.examples = "kubectl etjob list -A\n"
		    "kubectl etjob list -l team=vision --sort-by=.metadata.creationTimestamp",
	.nargs = { 0, 0 },
	.opts = options,
	.opts_size = sizeof(struct list_opts),
	.defaults = &(const struct list_opts){ 0 },
	.run = list_run,
};
