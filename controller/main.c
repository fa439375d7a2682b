/* SPDX-License-Identifier: Apache-2.0 */
/* etjob-controller: turns TrainingJobs into pods and keeps their host lists true. */
#include <signal.h>

#include "base/file.h"
#include "base/limits.h"
#include "controller/run.h"

static int say(const struct buf *text)
{
	struct err err = ERR_INIT;

	return file_write_fd(STDOUT_FILENO, buf_text(text), text->len, &err) < 0 ? 1 : 0;
}

static int help(void)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_str(&text, "Turns TrainingJobs into pods, keeps their host lists true, and carries out "
		       "ScaleOuts and\nScaleIns.\n\nUsage:\n  etjob-controller [options]\n\n"
		       "Options:\n");
	opt_help(run_options, &run_defaults, 100, &text);
	return say(&text);
}

static int version(void)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_str(&text, "etjob-controller " ETJOB_RELEASE "\n");
	return say(&text);
}

static int parse(int argc, char **argv, struct run_opts *opts, struct err *err)
{
	const struct opt_set set = { .opts = run_options, .into = opts };
	AUTO(opt_args) struct opt_args args = { .dashdash = -1 };

	if (opt_parse(&set, 1, argc - 1, argv + 1, &args, err) < 0)
		return -1;
	if (args.n)
		return err_set(err, FAIL_USAGE, "unexpected argument \"%s\"", args.v[0]);
	return 0;
}

/* Before the first thread of any library, so that all of them inherit it. */
static void block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* these arguments can not fail */
	(void)signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct run_opts opts = run_defaults;
	struct err err = ERR_INIT;
	struct log log = { .fd = STDERR_FILENO, .clock = clock_system() };
	int rc;

	block_signals();
	rc = parse(argc, argv, &opts, &err);
	if (rc == 0 && (opts.help || opts.version)) {
		rc = opts.help ? help() : version();
		opt_release(run_options, &opts);
		return rc;
	}
	if (rc == 0) {
		(void)log_format_parse(opts.log_format, &log.format); /* the option's own words */
		(void)log_level_parse(opts.log_level, &log.level);
		rc = run(&opts, &log, &err);
	}
	if (rc < 0) {
		if (err.fail == FAIL_USAGE)
			(void)dprintf(STDERR_FILENO, "etjob-controller: %s\n", err.msg);
		else
			log_event(&log, LOG_ERROR, "the controller ends", "error", err.msg, NULL);
	}
	opt_release(run_options, &opts);
	return rc == 0 ? 0 : err.fail == FAIL_USAGE ? 2 : 1;
}
