/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob suspend, resume, restart: through spec.suspend. */
#include "fetch.h"
#include "jobinfo.h"
#include "watch.h"

struct suspend_opts {
	bool wait;
	int64_t timeout_s;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_BOOL(struct suspend_opts, wait, 0, "wait", "wait until it is done"),
	OPT_SECS(struct suspend_opts, timeout_s, 0, "timeout", "longest wait, 0 for no limit"),
	OPT_END,
};
static const struct opt restart_options[] = {
	OPT_BOOL(struct suspend_opts, wait, 0, "wait", "wait until the job runs again"),
	OPT_SECS(struct suspend_opts, timeout_s, 0, "timeout", "longest wait for each step, 0 for no limit"),
	OPT_END,
};
/* clang-format on */

static int set_suspend(struct cmd_ctx *ctx, const char *name, bool suspend, const char *did,
		       struct err *err)
{
	AUTO_JSON cJSON *body = cJSON_CreateObject(), *job = NULL;
	cJSON *spec = body ? json_need_object(body, "spec", err) : NULL;
	struct job j;

	if (!spec)
		return err_nomem(err);
	if (json_set_bool(spec, "suspend", suspend, err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	if (kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, &job, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	job_view(job, &j);
	if (job_finished(&j))
		return err_set(err, FAIL_STATE, "job \"%s\" has finished (%s): submit it anew",
			       name, job_phase_name(j.phase));
	if (kube_patch(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, NULL, "merge", body, false,
		       NULL, err) < 0)
		return -1;
	if (did)
		buf_printf(&ctx->out, "trainingjob.kai.alibabacloud.com/%s %s\n", name, did);
	return ctx_flush(ctx, err);
}

static int check(const struct suspend_opts *o, const char *name, struct err *err)
{
	if (o->timeout_s && !o->wait)
		return err_set(err, FAIL_USAGE, "--timeout goes with --wait");
	return arg_name(name, err);
}

static int suspend_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	const struct suspend_opts *o = opts;
	const char *name = args->v[0];

	if (check(o, name, err) < 0 || set_suspend(ctx, name, true, "suspended", err) < 0)
		return -1;
	return o->wait ? wait_job(ctx, name, WAIT_SUSPENDED, o->timeout_s, err) : 0;
}

static int resume_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	const struct suspend_opts *o = opts;
	const char *name = args->v[0];

	if (check(o, name, err) < 0 || set_suspend(ctx, name, false, "resumed", err) < 0)
		return -1;
	return o->wait ? wait_job(ctx, name, WAIT_RUNNING, o->timeout_s, err) : 0;
}

static int restart_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	const struct suspend_opts *o = opts;
	const char *name = args->v[0];

	if (arg_name(name, err) < 0 || set_suspend(ctx, name, true, NULL, err) < 0)
		return -1;
	if (wait_job(ctx, name, WAIT_SUSPENDED, o->timeout_s, err) < 0)
		return err_wrap(
			err,
			"the job is suspended and was not started again: kubectl etjob resume %s",
			name);
	if (set_suspend(ctx, name, false, "restarted", err) < 0)
		return -1;
	return o->wait ? wait_job(ctx, name, WAIT_RUNNING, o->timeout_s, err) : 0;
}

static const struct suspend_opts defaults = { 0 };
static const struct suspend_opts restart_defaults = { .timeout_s = 300 };

const struct cmd cmd_suspend = {
	.name = "suspend",
	.group = GROUP_JOBS,
	.args = "NAME",
	.summary = "Take a job's pods away and keep the job",
	.details =
		"Names and history of the job go on with kubectl etjob resume. Training goes on where its last "
		"checkpoint was.",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct suspend_opts),
	.defaults = &defaults,
	.run = suspend_run,
};

const struct cmd cmd_resume = {
	.name = "resume",
	.group = GROUP_JOBS,
	.args = "NAME",
	.summary = "Start a suspended job again",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct suspend_opts),
	.defaults = &defaults,
	.run = resume_run,
};

const struct cmd cmd_restart = {
	.name = "restart",
	.group = GROUP_JOBS,
	.args = "NAME",
	.summary = "Suspend a job and start it again with new pods",
	.nargs = { 1, 1 },
	.opts = restart_options,
	.opts_size = sizeof(struct suspend_opts),
	.defaults = &restart_defaults,
	.run = restart_run,
};
