/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob validate: manifests checked without a cluster, with the webhook's own rules. */
#include "cmd.h"
#include "lint.h"

struct validate_opts {
	struct strs files;
	const char *output;
	bool strict, ignore_foreign;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_LIST(struct validate_opts, files, 'f', "filename", "FILE", "file, folder or - to check, may be repeated"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct validate_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "text|json|junit|sarif", .help = "format of the report",
	  .given_offset = SIZE_MAX },
	OPT_BOOL(struct validate_opts, ignore_foreign, 0, "ignore-foreign",
		 "pass over named files that are no manifests of this API, as in folders"),
	OPT_BOOL(struct validate_opts, strict, 0, "strict", "warnings are errors"),
	OPT_END,
};
/* clang-format on */

static int print(const struct lint *l, const char *format, struct buf *out, struct err *err)
{
	if (str_eq(format, "json"))
		return lint_print_json(l, out, err);
	if (str_eq(format, "junit"))
		return lint_print_junit(l, out, err);
	if (str_eq(format, "sarif"))
		return lint_print_sarif(l, out, err);
	return lint_print_text(l, out, err);
}

static int validate_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
			struct err *err)
{
	const struct validate_opts *o = opts;
	AUTO(lint) struct lint l = { .ignore_foreign = o->ignore_foreign };

	if (!o->files.n && !args->n)
		return err_set(err, FAIL_USAGE,
			       "validate needs -f FILE, a folder, or - for standard input");
	for (size_t i = 0; i < o->files.n; i++)
		if (lint_path(&l, o->files.v[i], err) < 0)
			return -1;
	for (size_t i = 0; i < args->n; i++)
		if (lint_path(&l, args->v[i], err) < 0)
			return -1;
	if (print(&l, o->output, &ctx->out, err) < 0)
		return -1;
	size_t errors = o->strict ? l.n : lint_errors(&l);
	if (errors)
		ctx->status = 1;
	if (ctx_flush(ctx, err) < 0) /* the sum comes after the findings */
		return -1;
	ctx_note(ctx, "%zu object%s in %zu file%s, %zu error%s", l.objects,
		 l.objects == 1 ? "" : "s", l.files, l.files == 1 ? "" : "s", errors,
		 errors == 1 ? "" : "s");
	return 0;
}

const struct cmd cmd_validate = {
	.name = "validate",
	.group = GROUP_FILES,
	.args = "[FILE...]",
	.summary = "Check manifests without a cluster, with the webhook's own rules",
	.details =
		"Reads YAML and JSON, several documents a file, lists, and folders. Objects of other APIs are "
		"passed over. Each error is printed with file, line and column; with one the exit status is 1.",
	.examples = "kubectl etjob validate -f manifests/\n"
		    "kubectl etjob validate -f job.yaml -o sarif > etjob.sarif",
	.nargs = { 0, -1 },
	.opts = options,
	.opts_size = sizeof(struct validate_opts),
	.defaults = &(const struct validate_opts){ .output = "text" },
	.flags = CMD_NO_CLUSTER,
	.run = validate_run,
};
