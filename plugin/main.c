/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl-etjob: finds the command, runs it, and maps how it went to the exit status. */
#include <langinfo.h>
#include <locale.h>
#include <signal.h>

#include "base/file.h"
#include "base/limits.h"
#include "cmd.h"
#include "complete.h"
#include "help.h"

/* Whether word is a global option whose value is the next word. */
static bool takes_next(const char *word)
{
	if (strchr(word, '='))
		return false;
	for (const struct opt *o = global_options; o->kind != OPT_KIND_END; o++) {
		if (o->kind == OPT_KIND_BOOL || o->kind == OPT_KIND_GROUP)
			continue;
		if (word[1] == '-' ? str_eq(word + 2, o->name)
				   : o->letter && word[1] == o->letter && !word[2])
			return true;
	}
	return false;
}

/* Index of the verb in argv, or argc: the first word that is no flag and no flag's value. */
static int find_verb(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			return i;
		if (str_eq(argv[i], "--"))
			return argc;
		if (takes_next(argv[i]))
			i++;
	}
	return argc;
}

static int check_count(const struct cmd *cmd, const struct opt_args *args, struct err *err)
{
	if (cmd->flags & CMD_RAW_ARGS)
		return 0;
	if (args->n < (size_t)cmd->nargs.min)
		return err_set(err, FAIL_USAGE, "%s needs %s: kubectl etjob %s %s", cmd->name,
			       cmd->args, cmd->name, cmd->args);
	if (cmd->nargs.max >= 0 && args->n > (size_t)cmd->nargs.max)
		return err_set(err, FAIL_USAGE, "%s: unexpected argument \"%s\"", cmd->name,
			       args->v[cmd->nargs.max]);
	return 0;
}

/* Parses the words of cmd (argv without program and verb) and runs it. */
static int run_command(struct cmd_ctx *ctx, const struct cmd *cmd, int argc, char **argv,
		       struct err *err)
{
	AUTO(opt_args) struct opt_args args = { 0 };
	AUTO_FREE void *opts = calloc(1, cmd->opts_size + 1);
	struct opt_set sets[] = {
		{ .opts = global_options, .into = &ctx->global },
		{ .opts = cmd->opts, .into = opts },
	};

	if (!opts)
		return err_nomem(err);
	if (cmd->defaults)
		memcpy(opts, cmd->defaults, cmd->opts_size);
	ctx->cmd = cmd;
	int rc = opt_parse(sets, cmd->opts ? 2 : 1, argc, argv, &args, err);
	if (rc == 0 && ctx->global.help)
		help_command(cmd, ctx_width(ctx->out_fd, 80), &ctx->out);
	else if (rc == 0 && (rc = check_count(cmd, &args, err)) == 0)
		rc = cmd->run(ctx, opts, &args, err);
	if (cmd->opts)
		opt_release(cmd->opts, opts);
	return rc;
}

static int dispatch(struct cmd_ctx *ctx, int argc, char **argv, struct err *err)
{
	int at = find_verb(argc, argv);

	if (argc == 2 && str_eq(argv[1], "--version")) { /* many a program's habit */
		argv[1] = (char *)(uintptr_t) "version"; /* only read */
		at = 1;
	}
	char **words = argv + 1;

	if (at == argc) {
		AUTO(opt_args) struct opt_args args = { 0 };
		struct opt_set set = { .opts = global_options, .into = &ctx->global };

		if (opt_parse(&set, 1, argc - 1, argv + 1, &args, err) < 0)
			return -1;
		if (args.n)
			return err_set(err, FAIL_USAGE, "a command comes before \"--\"");
		help_root(ctx_width(ctx->out_fd, 80), &ctx->out);
		return 0;
	}
	const struct cmd *cmd = cmds_find(argv[at]);
	if (!cmd) {
		const char *near = cmds_nearest(argv[at]);

		return err_set(err, FAIL_USAGE,
			       "unknown command \"%s\": %s%s%ssee kubectl etjob help", argv[at],
			       near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "");
	}
	for (int i = at; i > 1; i--) /* the verb goes, the flags before it stay in order */
		argv[i] = argv[i - 1];
	words = argv + 2;
	return run_command(ctx, cmd, argc - 2, words, err);
}

static int exit_status(const struct cmd_ctx *ctx, const struct err *err)
{
	if (ctx->pipe_closed)
		return 0;
	switch (err->fail) {
	case FAIL_NONE:
		return ctx->status;
	case FAIL_USAGE:
		return EXIT_WRONG_USE;
	case FAIL_TIMEOUT:
		return EXIT_TIMEOUT;
	case FAIL_CANCELED:
		return EXIT_INTERRUPTED;
	default:
		return 1;
	}
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct cmd_ctx ctx = {
		.clock = clock_system(),
		.env_get = getenv,
		.out_fd = STDOUT_FILENO,
		.err_fd = STDERR_FILENO,
		.out_tty = isatty(STDOUT_FILENO),
		.err_tty = isatty(STDERR_FILENO),
		.out = BUF_INIT(LIMIT_ANSWER),
		.signal_fd = -1,
		.global = global_defaults,
	};
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	int rc;

	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), handled there */
	(void)setlocale(LC_CTYPE, "");
	ctx.utf8 = str_eq(nl_langinfo(CODESET), "UTF-8");
	ctx.color = ctx.out_tty && !(no_color && *no_color) && term && !str_eq(term, "dumb");
	ctx.started_ms = clock_mono_ms(ctx.clock);
	rc = complete_is_helper(argv[0]) ? complete_main(&ctx, argc - 1, argv + 1, &err)
	     : argc > 1 && str_eq(argv[1], "__complete")
		     ? complete_main(&ctx, argc - 2, argv + 2, &err)
		     : dispatch(&ctx, argc, argv, &err);
	struct err flush = ERR_INIT;
	if (ctx_flush(&ctx, &flush) < 0 && rc == 0)
		err = flush;
	if (err.fail != FAIL_NONE && !ctx.pipe_closed && err.msg[0]) {
		AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);

		ctx_error_line(&err, &line);
		ignore_result(file_write_fd(ctx.err_fd, line.data, line.len,
					    NULL)); /* the status says it */
	}
	rc = exit_status(&ctx, &err);
	ctx_release(&ctx);
	return rc;
}
