/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubectl etjob scale: another number of workers through /scale. Where the spec says
 * that number already but a ScaleOut or ScaleIn moved the target, /scale would
 * change nothing: then it makes the scaler for the difference.
 */
#include "etjob/names.h"
#include "fetch.h"
#include "report.h"
#include "scaling.h"
#include "watch.h"

struct scale_opts {
	int64_t replicas, current, timeout_s;
	bool wait;
	const char *name, *dry_run;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_STR(struct scale_opts, name, 0, "name", "NAME", "name of the job, instead of the argument"),
	OPT_INT(struct scale_opts, replicas, 0, "replicas", "N", 1, INT32_MAX, "workers to have (required)"),
	OPT_INT(struct scale_opts, current, 0, "current-replicas", "N", -1, INT32_MAX,
		"only when the job is meant to have so many now"),
	OPT_BOOL(struct scale_opts, wait, 0, "wait", "wait until so many workers are ready"),
	OPT_SECS(struct scale_opts, timeout_s, 0, "timeout", "longest wait, 0 for no limit"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct scale_opts, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only show what would be sent, or let the server check it", .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

static int check(struct cmd_ctx *ctx, const cJSON *obj, int64_t replicas, struct err *err)
{
	AUTO_JSON cJSON *now = json_copy(obj, err);
	struct faults faults = FAULTS_INIT;
	cJSON *worker = json_at_mut(now, "spec", "etReplicaSpecs", "worker", NULL);
	int rc;

	if (!now)
		return -1;
	if (!worker)
		return err_set(err, FAIL_STATE, "the job has no workers in its spec");
	if (json_set_int(worker, "replicas", replicas, err) < 0)
		return -1;
	rc = validate_job_update(obj, now, (struct scaler_set){ 0 }, &faults, err);
	if (rc == 0)
		rc = report_faults(ctx, &faults, FAIL_STATE, err);
	faults_release(&faults);
	return rc;
}

static int patch(struct cmd_ctx *ctx, const char *name, const struct scale_opts *o, struct err *err)
{
	AUTO_JSON cJSON *body = cJSON_CreateObject();
	cJSON *spec = body ? json_need_object(body, "spec", err) : NULL;

	if (!spec)
		return err_nomem(err);
	if (json_set_int(spec, "replicas", o->replicas, err) < 0)
		return -1;
	return kube_patch(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, "scale", "merge", body,
			  str_eq(o->dry_run, "server"), NULL, err);
}

struct ready {
	const char *name;
	int64_t want;
};

static int look(void *arg, const cJSON *obj, struct buf *line, struct err *err)
{
	const struct ready *w = arg;
	struct job job;

	if (!obj)
		return err_set(err, FAIL_STATE, "job \"%s\" was deleted", w->name);
	job_view(obj, &job);
	buf_printf(line, "%s: %zu of %" PRId64 " workers ready", w->name,
		   json_len(job.current_workers), w->want);
	if (job_finished(&job))
		return err_set(err, FAIL_STATE, "job \"%s\" has finished", w->name);
	return job.target == w->want && (int64_t)json_len(job.current_workers) == w->want;
}

static int wait_ready(struct cmd_ctx *ctx, const char *name, const struct scale_opts *o,
		      struct err *err)
{
	struct ready state = { .name = name, .want = o->replicas };
	const struct watch_one w = {
		.res = &kube_trainingjobs,
		.name = name,
		.timeout_s = o->timeout_s,
		.what = "the workers",
		.interrupted = "the scaling goes on in the cluster",
		.look = look,
		.arg = &state,
	};

	return watch_until(ctx, &w, err);
}

/* The spec says so already: only a scaler moves the target. */
static int by_scaler(struct cmd_ctx *ctx, const struct job *job, const struct scale_opts *o,
		     struct err *err)
{
	const struct scaling_opts opts = {
		.count = -1, .timeout_s = 600, .backoff_limit = -1, .dry_run = o->dry_run
	};
	int64_t diff = o->replicas - job->target;
	const struct scaling s = {
		.out = diff > 0, .job = job->name, .count = diff > 0 ? diff : -diff, .o = &opts
	};

	ctx_info(ctx,
		 "The spec of %s says %" PRId64 " already, scalings made it %" PRId64
		 ": a %s takes it back",
		 job->name, o->replicas, job->target, s.out ? KIND_SCALEOUT : KIND_SCALEIN);
	return scaling_run(ctx, &s, job->obj, err);
}

static int scale_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		     struct err *err)
{
	AUTO_JSON cJSON *obj = NULL;
	const struct scale_opts *o = opts;
	const char *name, *dry = o->dry_run ? o->dry_run : "none";
	struct job job;
	size_t rest;

	if (o->replicas < 0)
		return err_set(err, FAIL_USAGE, "--replicas is required");
	if (arg_job(o->name, args, &name, &rest, err) < 0)
		return -1;
	if (o->timeout_s && !o->wait)
		return err_set(err, FAIL_USAGE, "--timeout goes with --wait");
	if (o->wait && !str_eq(dry, "none"))
		return err_set(err, FAIL_USAGE, "--wait makes no sense with --dry-run");
	if (ctx_api(ctx, err) < 0 ||
	    kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, &obj, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	job_view(obj, &job);
	if (o->current >= 0 && job.target != o->current)
		return err_set(err, FAIL_STATE, "Expected replicas to be %" PRId64 ", was %" PRId64,
			       o->current, job.target);
	if (check(ctx, obj, o->replicas, err) < 0)
		return -1;
	if (job.replicas == o->replicas && job.target != o->replicas) {
		if (by_scaler(ctx, &job, o, err) < 0)
			return -1;
	} else {
		if (!str_eq(dry, "client") && patch(ctx, name, o, err) < 0)
			return -1;
		buf_printf(&ctx->out, "trainingjob.kai.alibabacloud.com/%s scaled%s\n", name,
			   str_eq(dry, "client")   ? " (dry run)"
			   : str_eq(dry, "server") ? " (server dry run)"
						   : "");
	}
	if (ctx_flush(ctx, err) < 0)
		return -1;
	return o->wait ? wait_ready(ctx, name, o, err) : 0;
}

const struct cmd cmd_scale = {
	.name = "scale",
	.group = GROUP_SCALE,
	.args = "NAME",
	.summary = "Set the number of workers of a job",
	.details =
		"Changes the job's declared size through its scale subresource, as kubectl scale does. Where "
		"the declared size is that number already and scalings moved the job away from it, it makes "
		"the ScaleOut or ScaleIn that takes it back.",
	.examples = "kubectl etjob scale elastic-training --replicas=5 --wait",
	.nargs = { 0, 2 },
	.opts = options,
	.opts_size = sizeof(struct scale_opts),
	.defaults = &(const struct scale_opts){ .replicas = -1, .current = -1 },
	.run = scale_run,
};
