/* SPDX-License-Identifier: Apache-2.0 */
/* etjob-webhook: the admission webhook of TrainingJob, ScaleOut and ScaleIn. */
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/file.h"
#include "webhook/app.h"
#include "webhook/arena.h"
#include "webhook/cmd_certs.h"

#define STATUS_USAGE 2

static int parse(const struct opt *table, void *into, int argc, char **argv, struct err *err)
{
	const struct opt_set set = { .opts = table, .into = into };
	struct opt_args args = { .dashdash = -1 };
	int rc = opt_parse(&set, 1, argc, argv, &args, err);

	if (rc == 0 && args.n)
		rc = err_set(err, FAIL_USAGE, "unexpected argument \"%s\"", args.v[0]);
	opt_args_release(&args);
	return rc;
}

static int run_certs(int argc, char **argv, struct buf *out, struct err *err)
{
	struct certs_options o = certs_options_defaults;
	int rc = parse(certs_options_table, &o, argc, argv, err);

	if (rc == 0 && o.help)
		options_help(true, out);
	else if (rc == 0)
		rc = cmd_certs(&o, out, err);
	opt_release(certs_options_table, &o);
	return rc;
}

/* Blocked before the first thread is made, so that all threads inherit it. */
static int block_signals(struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_set(err, FAIL_OS, "cannot block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_os(err, errno, "cannot make a signalfd") : fd;
}

static int serve(const struct options *o, struct err *err)
{
	struct log log = { .fd = STDERR_FILENO, .clock = clock_system() };
	AUTO_CLOSE int signal_fd = -1;
	int rc;

	/* Both are checked by the option table already. */
	(void)log_format_parse(o->log_format, &log.format);
	(void)log_level_parse(o->log_level, &log.level);
	signal_fd = block_signals(err);
	if (signal_fd < 0)
		return -1;
	arena_install();
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, FAIL_NOMEM, "libcurl does not start");
	rc = app_run(o, signal_fd, &log, err);
	curl_global_cleanup();
	return rc;
}

static int run_server(int argc, char **argv, struct buf *out, struct err *err)
{
	struct options o = options_defaults;
	int rc = parse(options_table, &o, argc, argv, err);

	if (rc == 0 && o.help)
		options_help(false, out);
	else if (rc == 0 && o.version)
		buf_printf(out, "etjob-webhook %s\n", ETJOB_RELEASE);
	else if (rc == 0)
		rc = options_check(&o, err) < 0 ? -1 : serve(&o, err);
	opt_release(options_table, &o);
	return rc;
}

int main(int argc, char **argv)
{
	AUTO(buf) struct buf out = BUF_INIT(1 << 20);
	struct err err = ERR_INIT;
	int rc;

	if (argc > 1 && strcmp(argv[1], "certs") == 0)
		rc = run_certs(argc - 2, argv + 2, &out, &err);
	else
		rc = run_server(argc - 1, argv + 1, &out, &err);
	if (rc == 0 && out.len)
		rc = file_write_fd(STDOUT_FILENO, buf_text(&out), out.len, &err);
	if (rc == 0)
		return 0;
	fprintf(stderr, "etjob-webhook: %s\n", err.msg);
	return err.fail == FAIL_USAGE ? STATUS_USAGE : 1;
}
