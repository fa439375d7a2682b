/* SPDX-License-Identifier: Apache-2.0 */
/* scaling: scaleout, scalein, and scale where it must make one of them. */
#include "scaling.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "fetch.h"
#include "jobinfo.h"
#include "output.h"
#include "report.h"
#include "watch.h"

#define NAME_TRIES 5   /* seconds that may all be taken */
#define ROLLBACK_S 120 /* after its timeout a scaling still takes its pods away */

static int add_env(const struct scaling_opts *o, cJSON *spec, struct err *err)
{
	cJSON *list;

	if (!o->env.n)
		return 0;
	if (!(list = json_need_array(spec, "env", err)))
		return -1;
	for (size_t i = 0; i < o->env.n; i++) {
		const char *eq = strchr(o->env.v[i], '=');
		AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
		cJSON *e;

		if (!eq || eq == o->env.v[i])
			return err_set(err, FAIL_USAGE, "--env \"%s\": write NAME=VALUE",
				       o->env.v[i]);
		buf_add(&name, o->env.v[i], (size_t)(eq - o->env.v[i]));
		if (buf_check(&name, err) < 0)
			return -1;
		if (!(e = cJSON_CreateObject()))
			return err_nomem(err);
		if (json_append(list, e, err) < 0 ||
		    json_set_str(e, "name", buf_text(&name), err) < 0 ||
		    json_set_str(e, "value", eq + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int add_amount(const struct scaling *s, cJSON *spec, struct err *err)
{
	cJSON *amount = json_need_object(spec, s->out ? "toAdd" : "toDelete", err), *list;

	if (!amount)
		return -1;
	if (!s->o->pods.n)
		return json_set_int(amount, "count", s->count, err);
	if (!(list = json_need_array(amount, "podNames", err)))
		return -1;
	for (size_t i = 0; i < s->o->pods.n; i++) {
		const char *pod = s->o->pods.v[i];
		AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);

		/* "worker-2" is short for it, as in logs -i */
		buf_printf(&name, "%s%s%s", str_starts(pod, ROLE_WORKER "-") ? s->job : "",
			   str_starts(pod, ROLE_WORKER "-") ? "-" : "", pod);
		if (buf_check(&name, err) < 0 || json_append_str(list, buf_text(&name), err) < 0)
			return -1;
	}
	return 0;
}

static int add_spec(const struct scaling *s, cJSON *spec, struct err *err)
{
	cJSON *selector = json_need_object(spec, "selector", err);

	if (!selector || json_set_str(selector, "name", s->job, err) < 0 ||
	    json_set_int(spec, "timeout", s->o->timeout_s, err) < 0 || add_amount(s, spec, err) < 0)
		return -1;
	if (s->o->backoff_limit >= 0 &&
	    json_set_int(spec, "backoffLimit", s->o->backoff_limit, err) < 0)
		return -1;
	if (s->o->script && json_set_str(spec, "script", s->o->script, err) < 0)
		return -1;
	return add_env(s->o, spec, err);
}

int scaling_build(const struct scaling *s, const char *ns, int64_t now_s, cJSON **out,
		  struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *obj = cJSON_CreateObject();
	cJSON *meta = obj ? json_need_object(obj, "metadata", err) : NULL;

	if (!meta)
		return err_nomem(err);
	buf_printf(&name, "%s-%" PRId64, s->job, now_s);
	if (buf_check(&name, err) < 0)
		return -1;
	cJSON *labels = json_need_object(meta, "labels", err);
	if (!labels || json_set_str(obj, "apiVersion", ETJOB_API_VERSION, err) < 0 ||
	    json_set_str(obj, "kind", s->out ? KIND_SCALEOUT : KIND_SCALEIN, err) < 0 ||
	    json_set_str(meta, "name", buf_text(&name), err) < 0 ||
	    json_set_str(meta, "namespace", ns, err) < 0 ||
	    json_set_str(labels, "app", s->out ? "scaleout" : "scalein", err) < 0 ||
	    json_set_str(labels, "release", s->job, err) < 0)
		return -1;
	cJSON *spec = json_need_object(obj, "spec", err);
	if (!spec || add_spec(s, spec, err) < 0)
		return -1;
	*out = TAKE(obj);
	return 0;
}

static int check(struct cmd_ctx *ctx, const cJSON *obj, const cJSON *job_obj, struct err *err)
{
	struct faults faults = FAULTS_INIT;
	struct scaler_world world = { 0 };
	struct job job;
	int rc;

	if (job_obj) {
		job_view(job_obj, &job);
		world.job = &job;
	}
	rc = validate_scaler(obj, &world, &faults, err);
	if (rc == 0)
		rc = report_faults(ctx, &faults, job_obj ? FAIL_STATE : FAIL_USAGE, err);
	faults_release(&faults);
	return rc;
}

struct waiting {
	struct cmd_ctx *ctx;
	const struct scaling *s;
	const char *name;
	bool seen;
};

static int look(void *arg, const cJSON *obj, struct buf *line, struct err *err)
{
	struct waiting *w = arg;
	struct scaler scaler;

	if (!obj) /* at the first list it may not be there yet: it was just made */
		return w->seen ? err_set(err, FAIL_STATE, "\"%s\" was deleted before it was done",
					 w->name)
			       : 0;
	w->seen = true;
	scaler_view(obj, &scaler);
	buf_printf(line, "%s: ", w->name);
	scaler_reason(obj, line);
	if (scaler.phase == SCALER_SUCCEEDED)
		return 1;
	if (scaler.phase == SCALER_FAILED) {
		AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);

		scaler_reason(obj, &why);
		return err_set(err, FAIL_STATE, "%s of job \"%s\" failed: %s",
			       w->s->out ? "scale-out" : "scale-in", w->s->job,
			       why.len ? buf_text(&why) : "no reason was given");
	}
	if (str_eq(buf_text(line) + strlen(w->name), ": "))
		buf_str(line, "waiting for the controller");
	return 0;
}

static int wait_for(struct cmd_ctx *ctx, const struct scaling *s, const char *name, struct err *err)
{
	struct waiting state = { .ctx = ctx, .s = s, .name = name };
	const struct watch_one w = {
		.res = s->out ? &kube_scaleouts : &kube_scaleins,
		.name = name,
		.timeout_s = s->o->timeout_s + ROLLBACK_S,
		.what = s->out ? "the scale-out" : "the scale-in",
		.interrupted = "the scaling goes on in the cluster",
		.look = look,
		.arg = &state,
	};

	if (watch_until(ctx, &w, err) < 0)
		return -1;
	ctx_info(ctx, "The job %s has been scaled %s", s->job, s->out ? "out" : "in");
	return 0;
}

/* A name that is taken in this second is tried in the next. */
static int create(struct cmd_ctx *ctx, const struct scaling *s, const cJSON *job, bool dry_run,
		  cJSON **sent, cJSON **made, struct err *err)
{
	const struct kube_create_opts opts = { .dry_run = dry_run };
	int64_t now_s = clock_wall_ms(ctx->clock) / 1000;

	for (int i = 0;; i++) {
		AUTO_JSON cJSON *obj = NULL;

		if (scaling_build(s, ctx_ns(ctx), now_s + i, &obj, err) < 0)
			return -1;
		if (i == 0 && check(ctx, obj, job, err) < 0)
			return -1;
		if (kube_create(ctx->api, s->out ? &kube_scaleouts : &kube_scaleins, ctx_ns(ctx),
				obj, &opts, made, err) == 0) {
			*sent = TAKE(obj);
			return 0;
		}
		if (!kube_is(err, 409) || !strstr(err->msg, "AlreadyExists") || i == NAME_TRIES)
			return -1;
		*err = ERR_INIT;
	}
}

static int show(struct cmd_ctx *ctx, const struct scaling *s, const struct output *o,
		const cJSON *obj, const cJSON *made, const char *note, struct err *err)
{
	if (o->kind != OUT_TABLE)
		return output_object(ctx, o, made, err);
	output_name(obj, &ctx->out);
	buf_printf(&ctx->out, " created%s\n", note);
	if (ctx_flush(ctx, err) < 0)
		return -1;
	if (!*note)
		ctx_info(ctx, "The %s job %s has been submitted successfully",
			 s->out ? "scaleout" : "scalein",
			 json_get_str(json_get(obj, "metadata"), "name", ""));
	return 0;
}

int scaling_run(struct cmd_ctx *ctx, const struct scaling *s, const cJSON *job, struct err *err)
{
	AUTO_JSON cJSON *read = NULL, *sent = NULL, *made = NULL;
	bool server = str_eq(s->o->dry_run, "server");
	struct output output;

	if (output_parse(s->o->output, &output, err) < 0)
		return -1;
	if (str_eq(s->o->dry_run, "client")) {
		if (ctx_config(ctx, err) < 0 ||
		    scaling_build(s, ctx_ns(ctx), clock_wall_ms(ctx->clock) / 1000, &sent, err) <
			    0 ||
		    check(ctx, sent, NULL, err) < 0)
			return -1;
		return show(ctx, s, &output, sent, sent, " (dry run)", err);
	}
	if (ctx_api(ctx, err) < 0)
		return -1;
	if (!job && kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), s->job, &read, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	if (create(ctx, s, job ? job : read, server, &sent, &made, err) < 0 ||
	    show(ctx, s, &output, sent, made, server ? " (server dry run)" : "", err) < 0)
		return -1;
	if (!s->o->wait || server)
		return 0;
	return wait_for(ctx, s, json_get_str(json_get(sent, "metadata"), "name", ""), err);
}

int scaling_command(struct cmd_ctx *ctx, bool out, const struct scaling_opts *o,
		    const struct opt_args *args, struct err *err)
{
	struct scaling s = { .out = out, .o = o, .count = o->count < 0 ? 1 : o->count };
	size_t rest;

	if (arg_job(o->name, args, &s.job, &rest, err) < 0)
		return -1;
	if (rest < args->n && strspn(args->v[rest], "0123456789") == strlen(args->v[rest]))
		return err_set(err, FAIL_USAGE, "%s: write --count=%s", ctx->cmd->name,
			       args->v[rest]);
	if (rest < args->n)
		return err_set(err, FAIL_USAGE, "%s: unexpected argument \"%s\"", ctx->cmd->name,
			       args->v[rest]);
	if (o->count >= 0 && o->pods.n)
		return err_set(err, FAIL_USAGE, "give --count or --pods, not both");
	if (o->timeout_s < 1)
		return err_set(err, FAIL_USAGE, "--timeout must be at least 1s");
	if (o->wait && o->dry_run && !str_eq(o->dry_run, "none"))
		return err_set(err, FAIL_USAGE, "--wait makes no sense with --dry-run");
	return scaling_run(ctx, &s, NULL, err);
}
