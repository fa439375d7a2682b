/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob get: one job on a screen. */
#include "etjob/names.h"
#include "fetch.h"
#include "list.h"
#include "output.h"
#include "show.h"

struct get_opts {
	const char *output;
	bool watch, all;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_OUTPUT(struct get_opts, OUTPUT_HELP),
	OPT_BOOL(struct get_opts, watch, 'w', "watch", "go on showing the job until it ends"),
	OPT_BOOL(struct get_opts, all, 'A', "all-namespaces", "look in all namespaces, without a name"),
	OPT_END,
};
/* clang-format on */

static int get_object(struct cmd_ctx *ctx, const char *name, const struct output *o,
		      struct err *err)
{
	AUTO_JSON cJSON *job = NULL;

	if (ctx_api(ctx, err) < 0)
		return -1;
	if (kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, &job, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	return output_object(ctx, o, job, err);
}

/*
 * Why the last scaling failed, when it did: the job's history names the scaler, which has the
 * reason. One more request, only then. NULL: nothing to tell.
 */
static int last_failure(struct cmd_ctx *ctx, const cJSON *job, cJSON **scaler, struct err *err)
{
	const cJSON *list = json_at(job, "status", "scaleHistory", NULL);
	const cJSON *last = json_len(list) ? json_index(list, json_len(list) - 1) : NULL;
	const char *cause = json_get_str(last, "cause", ""), *name = strchr(cause, ' ');
	struct err gone = ERR_INIT;

	if (!name || !str_eq(json_get_str(last, "result", ""), "Failed") ||
	    (!str_starts(cause, KIND_SCALEOUT " ") && !str_starts(cause, KIND_SCALEIN " ")))
		return 0;
	if (kube_get(ctx->api, str_starts(cause, KIND_SCALEOUT) ? &kube_scaleouts : &kube_scaleins,
		     ctx_ns(ctx), name + 1, scaler, &gone) < 0 &&
	    gone.fail == FAIL_NOMEM)
		return err_nomem(err);
	return 0; /* a scaler that is gone, or may not be read, costs only its reason */
}

static int get_screen(struct cmd_ctx *ctx, const char *name, bool wide, struct err *err)
{
	AUTO_JSON cJSON *job = NULL, *scaler = NULL;
	AUTO(pods) struct pods pods = { 0 };
	int64_t now = clock_wall_ms(ctx->clock);
	struct jobinfo j;

	if (fetch_job(ctx, name, &job, &pods, err) < 0 || last_failure(ctx, job, &scaler, err) < 0)
		return -1;
	jobinfo_view(job, pods.v, pods.n, now, &j);
	if (show_job(&j, wide, now, &ctx->out, err) < 0)
		return -1;
	if (scaler) {
		buf_str(&ctx->out, "  last failure: ");
		scaler_reason(scaler, &ctx->out);
		buf_char(&ctx->out, '\n');
	}
	return 0;
}

static int get_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		   struct err *err)
{
	const struct get_opts *o = opts;
	struct output output;
	const char *name;
	size_t rest;

	if (output_parse(o->output, &output, err) < 0)
		return -1;
	if (!args->n && !o->watch) { /* kubectl's habit: get without a name lists */
		const struct list_opts list = { .output = o->output, .all = o->all };

		return list_jobs(ctx, &list, err);
	}
	if (o->all)
		return err_set(
			err, FAIL_USAGE,
			"a resource cannot be retrieved by name across all namespaces: leave -A out");
	if (arg_job(NULL, args, &name, &rest, err) < 0)
		return -1;
	if (rest < args->n)
		return err_set(err, FAIL_USAGE, "get shows one job, for several use list");
	if (o->watch)
		return list_watch(
			ctx, &(const struct list_opts){ .output = o->output, .name = name }, err);
	if (output.kind == OUT_TABLE || output.kind == OUT_WIDE)
		return get_screen(ctx, name, output.kind == OUT_WIDE, err);
	return get_object(ctx, name, &output, err);
}

const struct cmd cmd_get = {
	.name = "get",
	.group = GROUP_LOOK,
	.args = "[NAME]",
	.summary = "Show a job, its pods and what is wrong with them",
	.details = "Without a name it lists all jobs of the namespace, as list does.",
	.examples = "kubectl etjob get elastic-training\n"
		    "kubectl etjob get elastic-training -o jsonpath='{.status.phase}'",
	.nargs = { 0, 2 },
	.opts = options,
	.opts_size = sizeof(struct get_opts),
	.defaults = &(const struct get_opts){ 0 },
	.run = get_run,
};
