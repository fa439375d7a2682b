/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob events: of a job, its pods and its scalers, in the order of time. */
#include "base/limits.h"
#include "base/map.h"
#include "events.h"
#include "fetch.h"
#include "kube/informer.h"
#include "watch.h"

struct events_opts {
	bool watch, no_headers;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_BOOL(struct events_opts, watch, 'w', "watch", "go on with new events until the job is gone or has ended"),
	OPT_BOOL(struct events_opts, no_headers, 0, "no-headers", "leave the heads of the columns out"),
	OPT_END,
};
/* clang-format on */

struct found {
	const char *job;
	cJSON **v; /* owned */
	size_t n, size;
	struct err err;
};

static int on_item(void *arg, cJSON *item)
{
	struct found *f = arg;

	if (!events_about(item, f->job)) {
		cJSON_Delete(item);
		return 0;
	}
	if (f->n == f->size) {
		size_t size = f->size ? f->size * 2 : 32;
		cJSON **v = reallocarray(f->v, size, sizeof(cJSON *));

		if (!v) {
			cJSON_Delete(item);
			return err_nomem(&f->err);
		}
		f->v = v;
		f->size = size;
	}
	f->v[f->n++] = item;
	return 0;
}

static int print_once(struct cmd_ctx *ctx, const char *job, bool headers, struct err *err)
{
	struct found f = { .job = job };
	const struct kube_list_opts list = { .on_item = on_item, .arg = &f };
	int rc = kube_list(ctx->api, &kube_events, ctx_ns(ctx), &list, NULL, err);

	if (f.err.fail != FAIL_NONE) { /* a callback that stops is no error of the list */
		*err = f.err;
		rc = -1;
	}
	if (rc == 0 && !f.n)
		ctx_note(ctx, "No events of job \"%s\": they are kept for an hour or so", job);
	else if (rc == 0)
		rc = events_print((const cJSON **)f.v, f.n, clock_wall_ms(ctx->clock), headers,
				  &ctx->out, err);
	for (size_t i = 0; i < f.n; i++)
		cJSON_Delete(f.v[i]);
	free(f.v);
	return rc;
}

struct watching {
	struct cmd_ctx *ctx;
	const char *job;
	struct informer *events, *jobs;
	bool heads, synced;
	struct err err;
};

static void print_rows(struct watching *w, const cJSON **v, size_t n)
{
	struct err err = ERR_INIT;

	if (n &&
	    events_print(v, n, clock_wall_ms(w->ctx->clock), !w->heads, &w->ctx->out, &err) == 0)
		w->heads = true;
	if (err.fail == FAIL_NONE)
		ignore_result(ctx_flush(w->ctx, &err)); /* the err says it */
	if (err.fail != FAIL_NONE) {
		w->err = err;
		loop_stop(w->ctx->loop);
	}
}

static void on_event(void *arg, const cJSON *old, const cJSON *now)
{
	struct watching *w = arg;

	if (!now || !w->synced || !events_about(now, w->job))
		return;
	if (old && events_time(old) == events_time(now))
		return;
	print_rows(w, &now, 1);
}

/* What was there at the start is printed at once and in order. */
static void on_events_sync(void *arg)
{
	struct watching *w = arg;
	const struct map *store = informer_store(w->events);
	const cJSON **v;
	struct map_entry *e;
	size_t n = 0;

	if (w->synced)
		return;
	w->synced = true;
	if (!(v = calloc(store->count + 1, sizeof(*v)))) {
		(void)err_nomem(&w->err);
		loop_stop(w->ctx->loop);
		return;
	}
	map_each (store, e)
		if (events_about(e->value, w->job))
			v[n++] = e->value;
	print_rows(w, v, n);
	free(v);
}

static void on_job(void *arg, const cJSON *old, const cJSON *now)
{
	struct watching *w = arg;
	struct job job;

	(void)old;
	if (now)
		job_view(now, &job);
	if (!now || job_finished(&job))
		loop_stop(w->ctx->loop);
}

static void on_job_sync(void *arg)
{
	struct watching *w = arg;

	if (!informer_store(w->jobs)->count)
		loop_stop(w->ctx->loop);
}

static void on_error(void *arg, const struct err *err)
{
	struct watching *w = arg;

	if (watch_fatal(err, w->synced)) {
		w->err = *err;
		loop_stop(w->ctx->loop);
	}
}

static int watch(struct cmd_ctx *ctx, const char *job, bool headers, struct err *err)
{
	AUTO(buf) struct buf field = BUF_INIT(LIMIT_TEXT);
	struct watching w = { .ctx = ctx, .job = job, .heads = !headers };
	const struct informer_opts events = { .res = &kube_events,
					      .ns = ctx_ns(ctx),
					      .on_change = on_event,
					      .on_sync = on_events_sync,
					      .on_error = on_error,
					      .arg = &w };
	struct informer_opts jobs = { .res = &kube_trainingjobs,
				      .ns = ctx_ns(ctx),
				      .on_change = on_job,
				      .on_sync = on_job_sync,
				      .on_error = on_error,
				      .arg = &w };
	int rc = -1;

	buf_printf(&field, "metadata.name=%s", job);
	if (buf_check(&field, err) < 0)
		return -1;
	jobs.field_selector = buf_text(&field);
	if (ctx_catch(ctx, err) == 0 && informer_new(ctx->api, &events, &w.events, err) == 0) {
		rc = 0;
		while (rc == 0 && !w.synced && w.err.fail == FAIL_NONE && !ctx->caught)
			rc = loop_once(ctx->loop, 1000, err);
		/* only now: a job that has ended still has its past shown */
		if (rc == 0 && w.err.fail == FAIL_NONE && !ctx->caught)
			rc = informer_new(ctx->api, &jobs, &w.jobs, err);
		if (rc == 0 && w.err.fail == FAIL_NONE && !ctx->caught)
			rc = loop_run(ctx->loop, err);
	}
	informer_free(w.events);
	informer_free(w.jobs);
	if (rc == 0 && w.err.fail != FAIL_NONE) {
		*err = w.err;
		return -1;
	}
	return rc == 0 && ctx->caught ? err_set(err, FAIL_CANCELED, "%s", "") : rc;
}

static int events_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	const struct events_opts *o = opts;
	const char *job = args->v[0];

	if (arg_name(job, err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	return o->watch ? watch(ctx, job, !o->no_headers, err)
			: print_once(ctx, job, !o->no_headers, err);
}

const struct cmd cmd_events = {
	.name = "events",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Show what happened to a job, its pods and its scalings",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct events_opts),
	.defaults = &(const struct events_opts){ 0 },
	.run = events_run,
};
