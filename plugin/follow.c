/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow: logs of a job's pods. Without -f the pods are listed once and read one
 * after the other. With -f two informers tell of pods that start and of the
 * job's end; each container that has started gets a stream of its own, and a
 * restarted container or a new launcher gets the next one.
 */
#include "follow.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "fetch.h"
#include "jobinfo.h"
#include "kube/informer.h"
#include "kube/logs.h"
#include "watch.h"

#define PIECE (64u << 10) /* output is written when so much has gathered */
#define LINGER_MS 2000    /* silence of pods that outlive their job, before it ends */

/* One run of a container: its pod's uid and its restart count. */
struct stream {
	struct following *f;
	char *key;    /* owned: uid/restarts */
	char *prefix; /* owned, "" without --all */
	struct logs *logs;
	bool active;
	struct stream *next;
};

struct following {
	struct cmd_ctx *ctx;
	const struct follow_opts *o;
	struct informer *job, *pods;
	struct stream *streams; /* owned list */
	size_t active, colours;
	bool job_seen, job_over, waiting_said;
	int64_t heard_ms; /* monotonic: the last line, or the job's end */
	struct err err;
};

static void stop(struct following *f, const struct err *err)
{
	if (f->err.fail == FAIL_NONE && err)
		f->err = *err;
	loop_stop(f->ctx->loop);
}

static void finish_when_idle(struct following *f)
{
	if (f->job_over && !f->active && f->pods && informer_synced(f->pods))
		loop_stop(f->ctx->loop);
}

static int on_line(void *arg, const char *line, size_t n)
{
	struct stream *s = arg;
	struct buf *out = &s->f->ctx->out;
	struct err err = ERR_INIT;

	s->f->heard_ms = clock_mono_ms(s->f->ctx->clock);
	buf_str(out, s->prefix);
	buf_add(out, line, n);
	buf_char(out, '\n');
	if (out->len >= PIECE && ctx_flush(s->f->ctx, &err) < 0) {
		stop(s->f, &err);
		return 1;
	}
	return 0;
}

static void on_end(void *arg, const struct err *err)
{
	struct stream *s = arg;
	struct following *f = s->f;

	s->active = false;
	f->active--;
	if (err && err->fail != FAIL_NONE && err->fail != FAIL_CANCELED) {
		if (!f->o->follow)
			stop(f, err);
		else if (!kube_is(err, 404)) /* a pod that has gone meanwhile has no more to say */
			ctx_note(f->ctx, "%s%s", s->prefix, err->msg);
	}
	if (f->o->follow)
		finish_when_idle(f);
	else if (!f->active)
		loop_stop(f->ctx->loop);
}

/* "[worker-0] " in a colour that stays with the pod. */
static int make_prefix(struct following *f, const struct podinfo *p, char **out, struct err *err)
{
	static const int palette[] = { 36, 32, 33, 35, 34, 96, 92, 93, 95, 94 };
	AUTO(buf) struct buf b = BUF_INIT(LIMIT_TEXT);
	size_t n = strlen(f->o->name);
	const char *shown =
		str_starts(p->name, f->o->name) && p->name[n] == '-' ? p->name + n + 1 : p->name;
	int64_t index = name_worker_index(f->o->name, p->name);

	if (f->o->all && f->ctx->color)
		buf_printf(&b, "\033[%dm[%s]\033[0m ",
			   palette[(size_t)(index + 1) % ARRAY_LEN(palette)], shown);
	else if (f->o->all)
		buf_printf(&b, "[%s] ", shown);
	else
		buf_str(&b, "");
	if (!b.data)
		return str_copy("", out, err);
	return buf_finish(&b, out, err);
}

static const cJSON *container_status(const cJSON *pod, const char *name)
{
	const cJSON *c;

	json_each (c, json_at(pod, "status", "containerStatuses", NULL))
		if (!name || str_eq(json_get_str(c, "name", ""), name))
			return c;
	return NULL;
}

static struct stream *stream_find(struct following *f, const char *key)
{
	for (struct stream *s = f->streams; s; s = s->next)
		if (str_eq(s->key, key))
			return s;
	return NULL;
}

static int stream_new(struct following *f, const struct podinfo *p, const char *key,
		      const char *container, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	bool again = f->streams != NULL && f->o->follow;
	const struct logs_opts opts = {
		.ns = json_get_str(json_get(p->obj, "metadata"), "namespace", ctx_ns(f->ctx)),
		.pod = p->name,
		.container = container,
		.follow = f->o->follow,
		.previous = f->o->previous,
		.timestamps = f->o->timestamps,
		.tail_lines =
			again && !f->o->all ? -1 : f->o->tail, /* a new launcher from its start */
		.since_s = f->o->since_s,
		.since_time = f->o->since_time,
		.on_line = on_line,
		.on_end = on_end,
		.arg = s,
	};

	if (!s)
		return err_nomem(err);
	s->f = f;
	s->next = f->streams;
	f->streams = s;
	if (str_copy(key, &s->key, err) < 0 || make_prefix(f, p, &s->prefix, err) < 0)
		return -1;
	if (logs_start(f->ctx->api, &opts, &s->logs, err) < 0)
		return -1;
	s->active = true;
	f->active++;
	return 0;
}

/* Starts the stream of a pod's container when it has begun and is not read yet. */
static int consider(struct following *f, const cJSON *pod, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	const char *container = f->o->container ? f->o->container : podinfo_container(pod);
	const cJSON *status = container_status(pod, container), *state = json_get(status, "state");
	struct podinfo p;

	podinfo_view(pod, &p);
	/* One that waits after a crash has the log of its last run. */
	if (!json_get(state, "running") && !json_get(state, "terminated") &&
	    !json_at(status, "lastState", "terminated", NULL))
		return 0;
	buf_printf(&key, "%s/%" PRId64, json_get_str(json_get(pod, "metadata"), "uid", p.name),
		   json_get_int(status, "restartCount", 0));
	if (buf_check(&key, err) < 0)
		return -1;
	return stream_find(f, buf_text(&key)) ? 0
					      : stream_new(f, &p, buf_text(&key), container, err);
}

static bool wanted(const struct follow_opts *o, const struct podinfo *p)
{
	size_t n = strlen(o->name);

	if (o->all)
		return true;
	if (!o->instance)
		return str_eq(p->role, ROLE_LAUNCHER);
	return str_eq(p->name, o->instance) || (str_starts(p->name, o->name) && p->name[n] == '-' &&
						str_eq(p->name + n + 1, o->instance));
}

static void on_pod(void *arg, const cJSON *old, const cJSON *now)
{
	struct following *f = arg;
	struct err err = ERR_INIT;
	struct podinfo p;

	(void)old;
	if (!now)
		return;
	podinfo_view(now, &p);
	if (wanted(f->o, &p) && consider(f, now, &err) < 0)
		stop(f, &err);
}

/* Said once, when both lists are known: a job that is not there has nothing to wait for. */
static void say_waiting(struct following *f)
{
	if (f->waiting_said || !f->job_seen || f->job_over || f->streams || !f->pods ||
	    !informer_synced(f->pods))
		return;
	f->waiting_said = true;
	ctx_info(f->ctx, "Waiting for %s of %s to start",
		 f->o->instance ? f->o->instance
		 : f->o->all    ? "a pod"
				: "the launcher",
		 f->o->name);
}

static void on_job(void *arg, const cJSON *old, const cJSON *now)
{
	struct following *f = arg;
	struct job job;

	(void)old;
	f->heard_ms = clock_mono_ms(f->ctx->clock);
	if (!now) {
		f->job_over = true;
	} else {
		job_view(now, &job);
		f->job_seen = true;
		f->job_over = job_finished(&job);
	}
	say_waiting(f);
	finish_when_idle(f);
}

static void on_job_sync(void *arg)
{
	struct following *f = arg;
	struct err err = ERR_INIT;

	if (!f->job_seen) {
		(void)fetch_not_found(&err, &kube_trainingjobs, f->o->name);
		stop(f, &err);
	}
}

static void on_pods_sync(void *arg)
{
	say_waiting(arg);
	finish_when_idle(arg);
}

static void on_error(void *arg, const struct err *err)
{
	struct following *f = arg;
	bool synced = f->job && f->pods && informer_synced(f->job) && informer_synced(f->pods);

	if (watch_fatal(err, synced))
		stop(f, err);
}

/* All is read: every stream has ended, or only pods that outlive the job are silent. */
static bool over(const struct following *f)
{
	if (!f->o->follow)
		return !f->active;
	if (!f->job_over || !informer_synced(f->pods))
		return false;
	return !f->active || clock_mono_ms(f->ctx->clock) - f->heard_ms > LINGER_MS;
}

/* Lines are written at latest when the loop comes to rest. */
static int run_loop(struct following *f, struct err *err)
{
	while (f->err.fail == FAIL_NONE && !f->ctx->caught) {
		if (loop_once(f->ctx->loop, 200, err) < 0 || ctx_flush(f->ctx, err) < 0)
			return -1;
		if (over(f))
			break;
	}
	if (f->err.fail != FAIL_NONE) {
		*err = f->err;
		return -1;
	}
	return f->ctx->caught ? err_set(err, FAIL_CANCELED, "%s", "") : 0;
}

static int run_follow(struct following *f, struct err *err)
{
	AUTO(buf) struct buf field = BUF_INIT(LIMIT_TEXT), label = BUF_INIT(LIMIT_TEXT);

	buf_printf(&field, "metadata.name=%s", f->o->name);
	if (buf_check(&field, err) < 0)
		return -1;
	buf_printf(&label, LABEL_JOB "=%s", f->o->name);
	if (buf_check(&label, err) < 0)
		return -1;
	const struct informer_opts job = {
		.res = &kube_trainingjobs,
		.ns = ctx_ns(f->ctx),
		.field_selector = buf_text(&field),
		.on_change = on_job,
		.on_sync = on_job_sync,
		.on_error = on_error,
		.arg = f,
	};
	const struct informer_opts pods = {
		.res = &kube_pods,
		.ns = ctx_ns(f->ctx),
		.label_selector = buf_text(&label),
		.on_change = on_pod,
		.on_sync = on_pods_sync,
		.on_error = on_error,
		.arg = f,
	};
	if (ctx_catch(f->ctx, err) < 0 || informer_new(f->ctx->api, &job, &f->job, err) < 0 ||
	    informer_new(f->ctx->api, &pods, &f->pods, err) < 0)
		return -1;
	return run_loop(f, err);
}

/* No pod to read: says why, from the job and its pods. */
static int nothing(const struct follow_opts *o, const cJSON *job, const struct pods *pods,
		   const struct clock *clock, struct err *err)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	struct jobinfo j;

	jobinfo_view(job, pods->v, pods->n, clock_wall_ms(clock), &j);
	bool any = jobinfo_reason(&j, &why);
	if (o->instance)
		return err_set(err, FAIL_STATE, "job \"%s\" has no pod \"%s\"", o->name,
			       o->instance);
	return err_set(err, FAIL_STATE, "the %s of job \"%s\" %s not started: the job is %s%s%s",
		       o->all ? "pods" : "launcher", o->name, o->all ? "have" : "has", j.status,
		       any ? ", " : "", any ? buf_text(&why) : "");
}

static int run_once(struct following *f, struct err *err)
{
	AUTO_JSON cJSON *job = NULL;
	AUTO(pods) struct pods pods = { 0 };
	size_t read = 0;

	if (fetch_job(f->ctx, f->o->name, &job, &pods, err) < 0)
		return -1;
	for (size_t i = 0; i < pods.n; i++) {
		if (!wanted(f->o, &pods.v[i]))
			continue;
		size_t before = f->active;
		if (consider(f, pods.v[i].obj, err) < 0 || run_loop(f, err) < 0)
			return -1;
		read += before != f->active || f->streams != NULL;
	}
	return read ? 0 : nothing(f->o, job, &pods, f->ctx->clock, err);
}

int follow_logs(struct cmd_ctx *ctx, const struct follow_opts *o, struct err *err)
{
	struct following f = { .ctx = ctx, .o = o };
	int rc = ctx_api(ctx, err);

	if (rc == 0)
		rc = o->follow ? run_follow(&f, err) : run_once(&f, err);
	if (rc < 0 && !ctx->pipe_closed) {
		struct err late = ERR_INIT;

		ignore_result(ctx_flush(ctx, &late)); /* the lines so far; the first error counts */
	}
	while (f.streams) {
		struct stream *s = f.streams;

		f.streams = s->next;
		logs_free(s->logs);
		free(s->key);
		free(s->prefix);
		free(s);
	}
	informer_free(f.job);
	informer_free(f.pods);
	return rc;
}
