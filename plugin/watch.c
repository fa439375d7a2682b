/* SPDX-License-Identifier: Apache-2.0 */
/* watch: an informer on one object, a clock and a line of progress. */
#include "watch.h"

#include "base/file.h"
#include "base/limits.h"
#include "fetch.h"
#include "jobinfo.h"
#include "kube/informer.h"
#include "wire/time.h"

struct watching {
	struct cmd_ctx *ctx;
	const struct watch_one *w;
	struct informer *informer;
	struct progress progress;
	struct err err;
	bool done, timed_out, complained, present;
};

void progress_set(struct progress *p, const char *line)
{
	AUTO(buf) struct buf out = BUF_INIT(LIMIT_TEXT);
	size_t width, n = strlen(line);

	if (p->ctx->global.quiet || str_eq(buf_text(&p->shown), line))
		return;
	buf_clear(&p->shown);
	buf_str(&p->shown, line);
	if (p->ctx->err_tty) {
		width = ctx_width(p->ctx->err_fd, 80);
		buf_str(&out, "\r\033[K");
		buf_add(&out, line, n < width ? n : width - 1);
	} else {
		buf_printf(&out, "%s\n", line);
	}
	ignore_result(
		file_write_fd(p->ctx->err_fd, buf_text(&out), out.len, NULL)); /* only progress */
}

void progress_release(struct progress *p)
{
	if (p->shown.len && p->ctx->err_tty)
		ignore_result(
			file_write_fd(p->ctx->err_fd, "\r\033[K", 4, NULL)); /* only progress */
	buf_release(&p->shown);
}

static void look(struct watching *s, const cJSON *obj)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);
	int rc;

	if (s->done)
		return;
	rc = s->w->look(s->w->arg, obj, &line, &s->err);
	if (line.len)
		progress_set(&s->progress, buf_text(&line));
	if (rc != 0) {
		s->done = true;
		loop_stop(s->ctx->loop);
	}
}

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	struct watching *s = arg;

	(void)old;
	s->present = now != NULL;
	look(s, now);
}

static void on_sync(void *arg)
{
	struct watching *s = arg;

	if (!s->present)
		look(s, NULL);
}

bool watch_fatal(const struct err *err, bool synced)
{
	if (!synced && err->fail != FAIL_HTTP)
		return true;
	return err->fail == FAIL_HTTP && err->http >= 400 && err->http < 500 && err->http != 429 &&
	       err->http != 410;
}

static void on_error(void *arg, const struct err *err)
{
	struct watching *s = arg;

	if (watch_fatal(err, s->informer && informer_synced(s->informer))) {
		s->err = *err;
		s->done = true;
		loop_stop(s->ctx->loop);
	} else if (!s->complained) {
		s->complained = true;
		ctx_note(s->ctx, "%s (trying again)", err->msg);
	}
}

static void on_timeout(void *arg)
{
	struct watching *s = arg;

	s->timed_out = true;
	loop_stop(s->ctx->loop);
}

static int outcome(struct watching *s, struct err *err)
{
	const char *shown = buf_text(&s->progress.shown);

	if (s->err.fail != FAIL_NONE) {
		*err = s->err;
		return -1;
	}
	if (s->ctx->caught)
		return err_set(err, FAIL_CANCELED, "interrupted: %s", s->w->interrupted);
	if (s->timed_out)
		return err_set(err, FAIL_TIMEOUT, "timed out after %" PRId64 "s waiting for %s%s%s",
			       s->w->timeout_s, s->w->what, *shown ? ": " : "", shown);
	return 0;
}

int watch_until(struct cmd_ctx *ctx, const struct watch_one *w, struct err *err)
{
	AUTO(buf) struct buf selector = BUF_INIT(LIMIT_TEXT);
	struct watching s = { .ctx = ctx, .w = w, .progress = PROGRESS_INIT(ctx) };
	struct timer *timer = NULL;
	int rc;

	if (ctx_api(ctx, err) < 0 || ctx_catch(ctx, err) < 0)
		return -1;
	buf_printf(&selector, "metadata.name=%s", w->name);
	if (buf_check(&selector, err) < 0)
		return -1;
	const struct informer_opts opts = {
		.res = w->res,
		.ns = w->ns ? w->ns : ctx_ns(ctx),
		.field_selector = buf_text(&selector),
		.on_change = on_change,
		.on_sync = on_sync,
		.on_error = on_error,
		.arg = &s,
	};
	if (informer_new(ctx->api, &opts, &s.informer, err) < 0)
		return -1;
	if (w->timeout_s > 0 &&
	    !(timer = loop_after(ctx->loop, w->timeout_s * 1000, on_timeout, &s))) {
		informer_free(s.informer);
		return err_nomem(err);
	}
	rc = loop_run(ctx->loop, err);
	if (timer && !s.timed_out)
		loop_cancel(ctx->loop, timer);
	informer_free(s.informer);
	if (rc == 0)
		rc = outcome(&s, err);
	progress_release(&s.progress);
	return rc;
}

int wait_parse(const char *word, enum wait_for *out, struct err *err)
{
	static const char *const words[] = { "Running", "Succeeded", "Finished", "Suspended",
					     "Deleted" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcasecmp(word, words[i]) == 0 ||
		    (i == WAIT_DELETED && strcasecmp(word, "delete") == 0)) {
			*out = (enum wait_for)i;
			return 0;
		}
	}
	return err_set(
		err, FAIL_USAGE,
		"\"%s\" is nothing to wait for: Running, Succeeded, Finished, Suspended or Deleted",
		word);
}

struct waiting {
	enum wait_for target;
	const char *name;
	const struct clock *clock;
	bool seen;
};

static int fail_reason(const struct jobinfo *j, const char *name, const char *how, struct err *err)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	bool any = jobinfo_reason(j, &why);

	return err_set(err, FAIL_STATE, "job \"%s\" %s%s%s", name, how, any ? ": " : "",
		       any ? buf_text(&why) : "");
}

static int look_job(void *arg, const cJSON *obj, struct buf *line, struct err *err)
{
	struct waiting *w = arg;
	struct jobinfo j;

	if (!obj) {
		if (w->target == WAIT_DELETED)
			return 1;
		return w->seen ? err_set(err, FAIL_STATE, "job \"%s\" was deleted", w->name)
			       : fetch_not_found(err, &kube_trainingjobs, w->name);
	}
	w->seen = true;
	jobinfo_view(obj, NULL, 0, clock_wall_ms(w->clock), &j);
	buf_printf(line, "%s: %s, %zu of %" PRId64 " workers ready", w->name,
		   job_phase_name(j.job.phase)[0] ? job_phase_name(j.job.phase) : "Pending",
		   json_len(j.job.current_workers), j.job.target);
	switch (w->target) {
	case WAIT_RUNNING:
		if (j.job.phase == JOB_RUNNING || j.job.phase == JOB_SCALING ||
		    j.job.phase == JOB_SUCCEEDED)
			return 1;
		break;
	case WAIT_SUCCEEDED:
		if (j.job.phase == JOB_SUCCEEDED)
			return 1;
		break;
	case WAIT_FINISHED:
		return job_finished(&j.job);
	case WAIT_SUSPENDED:
		if (j.job.phase == JOB_SUSPENDED)
			return 1;
		return job_finished(&j.job)
			       ? err_set(err, FAIL_STATE, "job \"%s\" has finished", w->name)
			       : 0;
	case WAIT_DELETED:
		return 0;
	}
	return j.job.phase == JOB_FAILED ? fail_reason(&j, w->name, "failed", err) : 0;
}

int wait_job(struct cmd_ctx *ctx, const char *name, enum wait_for target, int64_t timeout_s,
	     struct err *err)
{
	static const char *const what[] = { "the job to run", "the job to succeed",
					    "the job to finish", "the job to be suspended",
					    "the job to be gone" };
	struct waiting state = { .target = target, .name = name, .clock = ctx->clock };
	AUTO(buf) struct buf left = BUF_INIT(LIMIT_TEXT);

	buf_printf(&left, "the job goes on in the cluster, see kubectl etjob get %s", name);
	ctx_ns_hint(ctx, &left);
	const struct watch_one w = {
		.res = &kube_trainingjobs,
		.name = name,
		.timeout_s = timeout_s,
		.what = what[target],
		.interrupted = buf_text(&left),
		.look = look_job,
		.arg = &state,
	};
	return watch_until(ctx, &w, err);
}
