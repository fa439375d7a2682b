/* SPDX-License-Identifier: Apache-2.0 */
/* ctx: the context of a command: client, output, words to the user, signals. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "base/file.h"
#include "base/limits.h"
#include "cmd.h"
#include "wire/time.h"

/* A note is worth nothing more than an attempt: standard error may be closed. */
static void say(const struct cmd_ctx *ctx, const struct buf *line)
{
	if (line->len)
		ignore_result(file_write_fd(ctx->err_fd, line->data, line->len, NULL));
}

static void on_warning(void *arg, const char *text)
{
	struct cmd_ctx *ctx = arg;

	ctx_warn(ctx, "%s", text);
}

/* What -v asks for; the client has masked what is secret. */
static void on_log(void *arg, int level, const char *line)
{
	AUTO(buf) struct buf shown = BUF_INIT(LIMIT_ANSWER);

	(void)level; /* the client asks for no more than -v says */
	buf_visible(&shown, line, strlen(line));
	buf_char(&shown, '\n');
	say(arg, &shown);
}

int ctx_config(struct cmd_ctx *ctx, struct err *err)
{
	if (ctx->have_config)
		return 0;
	global_flags(&ctx->global);
	if (kube_config_load(&ctx->global.kube, ctx->env_get, &ctx->config, err) < 0)
		return -1;
	ctx->have_config = true;
	return 0;
}

int ctx_api(struct cmd_ctx *ctx, struct err *err)
{
	const struct kube_opts opts = {
		.user_agent = "kubectl-etjob/" ETJOB_RELEASE " (linux)",
		.field_manager = "kubectl-etjob",
		.verbosity = (int)ctx->global.verbosity,
		.on_warning = on_warning,
		.warning_arg = ctx,
		.on_log = on_log,
		.log_arg = ctx,
		.max_retries = 10,
	};

	if (ctx->api)
		return 0;
	if (ctx_config(ctx, err) < 0)
		return -1;
	if (!ctx->loop && loop_new(ctx->clock, &ctx->loop, err) < 0)
		return -1;
	return kube_new(ctx->loop, &ctx->config, &opts, &ctx->api, err);
}

const char *ctx_ns(const struct cmd_ctx *ctx)
{
	return ctx->config.ns ? ctx->config.ns : "default";
}

int ctx_flush(struct cmd_ctx *ctx, struct err *err)
{
	struct err e = ERR_INIT;

	if (buf_check(&ctx->out, err) < 0)
		return -1;
	if (!ctx->out.len)
		return 0;
	int rc = file_write_fd(ctx->out_fd, ctx->out.data, ctx->out.len, &e);
	buf_clear(&ctx->out);
	if (rc == 0)
		return 0;
	if (e.os == EPIPE) {
		ctx->pipe_closed = true;
		return err_set(err, FAIL_CANCELED, "standard output was closed");
	}
	return err_os(err, e.os, "cannot write to standard output");
}

/* logfmt's quoting of a message, as arena's logger prints it when it is no terminal. */
static void quote(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_char(out, '\\');
		buf_char(out, *s);
	}
}

void ctx_info(struct cmd_ctx *ctx, const char *fmt, ...)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT * 2);
	va_list ap;

	if (ctx->global.quiet)
		return;
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (ctx->err_tty) {
		int64_t s = (clock_mono_ms(ctx->clock) - ctx->started_ms) / 1000;
		bool color = ctx->color;

		buf_printf(&line, "%sINFO%s[%04" PRId64 "] %s\n", color ? "\033[36m" : "",
			   color ? "\033[0m" : "", s, buf_text(&text));
	} else {
		char now[TIME_TEXT_SIZE];

		time_format(clock_wall_ms(ctx->clock), now);
		buf_printf(&line, "time=\"%s\" level=info msg=\"", now);
		quote(&line, buf_text(&text));
		buf_str(&line, "\"\n");
	}
	say(ctx, &line);
}

void ctx_warn(struct cmd_ctx *ctx, const char *fmt, ...)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT * 4);
	bool color = ctx->err_tty && ctx->color;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	buf_str(&line, color ? "\033[33;1mWarning:\033[0m " : "Warning: ");
	buf_visible(&line, buf_text(&text), text.len);
	buf_char(&line, '\n');
	say(ctx, &line);
}

void ctx_note(struct cmd_ctx *ctx, const char *fmt, ...)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	buf_char(&line, '\n');
	say(ctx, &line);
}

void ctx_error_line(const struct err *err, struct buf *out)
{
	static const char *const own[] = { "error: ",    "error:\t", "Error ",     "Error:",
					   "Unable to ", "The ",     "Unexpected " };
	bool whole = false;

	if (err->fail == FAIL_HTTP || err->fail == FAIL_NET || err->fail == FAIL_CONFIG)
		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			whole = whole || str_starts(err->msg, own[i]);
	buf_printf(out, "%s%s\n", whole ? "" : "error: ", err->msg);
}

void ctx_fail(struct cmd_ctx *ctx, const struct err *err)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);

	ctx_error_line(err, &line);
	say(ctx, &line);
	ctx->status = 1;
}

void ctx_ns_hint(const struct cmd_ctx *ctx, struct buf *out)
{
	if (ctx->global.ns && *ctx->global.ns)
		buf_printf(out, " -n %s", ctx->global.ns);
}

static void on_signal(void *arg)
{
	struct cmd_ctx *ctx = arg;
	struct signalfd_siginfo info;

	if (read(ctx->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		ctx->caught = (int)info.ssi_signo;
		loop_stop(ctx->loop);
	}
}

int ctx_catch(struct cmd_ctx *ctx, struct err *err)
{
	sigset_t set;

	if (ctx->signal_watch)
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_os(err, errno, "cannot block signals");
	ctx->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ctx->signal_fd < 0)
		return err_os(err, errno, "cannot watch for signals");
	ctx->signal_watch = loop_watch_fd(ctx->loop, ctx->signal_fd, on_signal, ctx);
	return ctx->signal_watch ? 0 : err_nomem(err);
}

void ctx_release(struct cmd_ctx *ctx)
{
	if (ctx->signal_watch)
		loop_unwatch_fd(ctx->loop, ctx->signal_watch);
	if (ctx->signal_fd >= 0)
		(void)close(ctx->signal_fd);
	ctx->signal_fd = -1;
	ctx->signal_watch = NULL;
	kube_free(ctx->api);
	ctx->api = NULL;
	loop_free(ctx->loop);
	ctx->loop = NULL;
	kube_config_release(&ctx->config);
	ctx->have_config = false;
	global_release(&ctx->global);
	buf_release(&ctx->out);
}

size_t ctx_width(int fd, size_t fallback)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return fallback;
}

int arg_name(const char *text, struct err *err)
{
	if (!*text)
		return err_set(err, FAIL_USAGE, "the name is empty");
	if (strlen(text) > 253 ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") != strlen(text))
		return err_set(err, FAIL_USAGE,
			       "\"%s\" is no name of a job: lower-case letters, digits and \"-\"",
			       text);
	return 0;
}

int arg_job(const char *name_flag, const struct opt_args *args, const char **name, size_t *rest,
	    struct err *err)
{
	size_t i = 0;

	if (args->n && str_eq(args->v[0], "etjob") && (name_flag || args->n > 1))
		i = 1;
	if (name_flag) {
		*name = name_flag;
	} else if (args->n > i) {
		*name = args->v[i++];
	} else {
		return err_set(err, FAIL_USAGE,
			       "the name of the job is missing: give NAME or --name=NAME");
	}
	*rest = i;
	return arg_name(*name, err);
}
