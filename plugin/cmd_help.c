/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob help, options: from the tables; hidden formats make the manual and the reference.
 */
#include "help.h"

struct help_opts {
	const char *format;
};

static const struct opt help_options[] = {
	{ .kind = OPT_KIND_ENUM,
	  .offset = OPT_FIELD_(struct help_opts, format, const char *),
	  .name = "format",
	  .arg = "WORD",
	  .values = "text|man|markdown",
	  .help = "text, or the whole manual as man or markdown",
	  .given_offset = SIZE_MAX },
	OPT_END,
};

static int help_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		    struct err *err)
{
	const struct help_opts *o = opts;
	size_t width = ctx_width(ctx->out_fd, 80);

	if (o->format && !str_eq(o->format, "text")) {
		if (str_eq(o->format, "man"))
			help_man(&ctx->out);
		else
			help_markdown(&ctx->out);
		return 0;
	}
	if (!args->n) {
		help_root(width, &ctx->out);
		return 0;
	}
	const struct cmd *cmd = cmds_find(args->v[0]);
	if (!cmd)
		return err_set(err, FAIL_USAGE, "unknown command \"%s\": see kubectl etjob help",
			       args->v[0]);
	help_command(cmd, width, &ctx->out);
	return 0;
}

const struct cmd cmd_help = {
	.name = "help",
	.group = GROUP_OTHER,
	.args = "[COMMAND]",
	.summary = "Tell of the commands, or of one of them",
	.nargs = { 0, 1 },
	.opts = help_options,
	.opts_size = sizeof(struct help_opts),
	.defaults = &(const struct help_opts){ 0 },
	.flags = CMD_NO_CLUSTER,
	.run = help_run,
};

static int options_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	(void)opts;
	(void)args; /* main refused any */
	(void)err;
	help_global(ctx_width(ctx->out_fd, 80), &ctx->out);
	return 0;
}

const struct cmd cmd_options = {
	.name = "options",
	.group = GROUP_OTHER,
	.args = "",
	.summary = "List the flags that every command takes",
	.nargs = { 0, 0 },
	.flags = CMD_NO_CLUSTER,
	.run = options_run,
};
