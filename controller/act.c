/* SPDX-License-Identifier: Apache-2.0 */
/* act: one job's actions as requests, stage by stage. */
#include "base/limits.h"
#include "controller/engine.h"
#include "controller/script.h"
#include "etjob/names.h"
#include "etjob/podspec.h"
#include "wire/url.h"

#define BATCH_MAGIC 0x65746a62u
#define WIDTH 16 /* requests of one stage at once */
#define TIMEOUT_MS 30000
#define TAKEN_MS 10000 /* a name in other hands is tried again after so long */
#define LOG_LINES "5"
#define LOG_BYTES "2048"

struct batch {
	uint32_t magic;
	struct engine *e;
	struct rec *rec;
	struct actions actions; /* owned */
	struct strs reserved;   /* names that the status write under way reserves */
	size_t next;            /* first action that was not begun */
	size_t under_way;
	enum act_stage stage;
	bool failed, conflict, starting;
	int64_t retry_ms;
};

struct call {
	struct batch *b;
	struct action *a; /* in b->actions */
	bool look;        /* a GET after a create that found the name taken */
};

static void batch_go(struct batch *b);
static int send_look(struct batch *b, struct action *a, struct err *err);

static int64_t now_mono(const struct batch *b)
{
	return clock_mono_ms(b->e->io.clock);
}

static const char *meta(const cJSON *obj, const char *key)
{
	return json_get_str(json_get(obj, "metadata"), key, "");
}

static enum seen seen_of(const struct kube_res *res)
{
	if (res == &kube_trainingjobs)
		return SEEN_JOB;
	if (res == &kube_scaleouts)
		return SEEN_SCALEOUT;
	if (res == &kube_scaleins)
		return SEEN_SCALEIN;
	if (res == &kube_services)
		return SEEN_SERVICE;
	return res == &kube_configmaps ? SEEN_CONFIG : SEEN_POD;
}

/* What comes of a conflict, or of a job or a namespace that goes: nobody has to act on it. */
static bool expected(const struct action *a, const struct err *err)
{
	return kube_is(err, 409) || (kube_is(err, 404) && a->res == &kube_trainingjobs) ||
	       (kube_is(err, 403) && strstr(err->msg, "because it is being terminated"));
}

static void note(struct batch *b, const struct action *a, const struct err *err)
{
	if (b->e->io.log)
		log_event(b->e->io.log, expected(a, err) ? LOG_DEBUG : LOG_WARN, "request failed",
			  "job", b->rec->key, "kind", a->res->kind, "name", a->name, "error",
			  err->msg, NULL);
}

static void failed(struct batch *b, const struct action *a, const struct kube_resp *resp,
		   const struct err *err)
{
	b->failed = true;
	if (kube_is(err, 409)) {
		b->conflict = true;
		b->e->stats.conflicts++;
	} else {
		b->e->stats.errors++;
	}
	if (resp && resp->retry_after_ms > b->retry_ms)
		b->retry_ms = resp->retry_after_ms;
	note(b, a, err);
}

/*
 * The names that a status write reserves. Noted before it is sent: its own news may be here
 * before its answer is.
 */
static int note_reserved(struct batch *b, const struct action *a, struct err *err)
{
	const cJSON *now = json_at(a->body, "status", "targetWorkers", NULL), *v, *o;
	const cJSON *obj = b->rec->job;

	for (const struct newer *n = b->rec->newer; n; n = n->next)
		obj = n->kind == SEEN_JOB ? n->obj : obj;
	/* A name that comes back to the target (a ScaleIn that failed) is no new one. */
	int64_t first = json_get_int(json_get(obj, "status"), "nextWorkerIndex", 0);

	json_each (v, now) {
		bool there = false;

		json_each (o, json_at(obj, "status", "targetWorkers", NULL)) {
			there = there || str_eq(json_str(o), json_str(v));
		}
		if (!there && json_str(v) &&
		    name_worker_index(b->rec->name, json_str(v)) >= first &&
		    strs_add(&b->reserved, json_str(v), err) < 0)
			return -1;
	}
	return 0;
}

/* The write is done: nobody can have made the pods of these names. */
static int mark_fresh(struct batch *b, struct err *err)
{
	for (size_t i = 0; i < b->reserved.n; i++) {
		if (!strs_has(&b->rec->fresh, b->reserved.v[i]) &&
		    strs_add(&b->rec->fresh, b->reserved.v[i], err) < 0)
			return -1;
	}
	return 0;
}

static void fresh_drop(struct rec *rec, const char *name)
{
	struct strs *s = &rec->fresh;

	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->v[i], name)) {
			free(s->v[i]);
			s->v[i] = s->v[--s->n];
			return;
		}
	}
}

static int fresh_again(struct rec *rec, const char *name, struct err *err)
{
	return strs_has(&rec->fresh, name) ? 0 : strs_add(&rec->fresh, name, err);
}

static bool is_worker(const struct action *a)
{
	return a->kind == ACT_CREATE && a->res == &kube_pods && a->stage == STAGE_PODS;
}

/* What no informer shows is remembered instead; false for all else. */
static bool remember(struct batch *b, const struct action *a)
{
	if (a->kind == ACT_SECRET) {
		b->rec->secret = true;
		b->rec->secret_ms = now_mono(b);
	} else if (a->res == &kube_podgroups) {
		b->rec->group = true;
	} else {
		return false;
	}
	return true;
}

static int done_create(struct batch *b, struct action *a, struct kube_resp *resp,
		       const struct err *why, struct err *err)
{
	struct rec *rec = b->rec;

	if (why->fail == FAIL_NONE) {
		observe_free(rec, a->res->kind, a->name);
		if (a->res == &kube_pods)
			free(TAKE(rec->refused));
		if (remember(b, a))
			return 0;
		return resp->json ? observe_written(rec, seen_of(a->res), TAKE(resp->json),
						    now_mono(b), err)
				  : 0;
	}
	if (kube_is(why, 409) && str_eq(resp->reason, "AlreadyExists"))
		return send_look(b, a, err);
	if (a->res == &kube_podgroups && kube_is(why, 404)) {
		/* Volcano's API is not there: the pods wait for its scheduler, and say so. */
		b->rec->group = true;
		note(b, a, why);
		return 0;
	}
	failed(b, a, resp, why);
	/* A plain refusal: nothing was made, the name may be used yet. */
	if (why->fail == FAIL_HTTP && why->http >= 400 && why->http < 500 && why->http != 408) {
		if (is_worker(a) && fresh_again(rec, a->name, err) < 0)
			return -1;
		if (a->res == &kube_pods && why->http != 429 && why->http != 409) {
			free(TAKE(rec->refused));
			return str_copy(why->msg, &rec->refused, err);
		}
	}
	return 0;
}

static int done_look(struct batch *b, struct action *a, struct kube_resp *resp,
		     const struct err *why, struct err *err)
{
	struct rec *rec = b->rec;

	if (why->fail != FAIL_NONE) {
		/* Gone again meanwhile: it is tried anew. */
		failed(b, a, resp, why);
		return 0;
	}
	const cJSON *o, *owners = json_at(resp->json, "metadata", "ownerReferences", NULL);
	bool ours = false;

	json_each (o, owners) {
		ours = ours || (rec->uid && str_eq(json_get_str(o, "uid", ""), rec->uid));
	}
	if (ours && remember(b, a))
		return 0;
	if (ours)
		return observe_written(rec, seen_of(a->res), TAKE(resp->json), now_mono(b), err);
	b->failed = true;
	if (is_worker(a) && fresh_again(rec, a->name, err) < 0)
		return -1;
	return observe_taken(rec, a->res->kind, a->name,
			     json_at(resp->json, "metadata", "deletionTimestamp", NULL) != NULL,
			     now_mono(b) + TAKEN_MS, err);
}

static int done_delete(struct batch *b, struct action *a, struct kube_resp *resp,
		       const struct err *why, struct err *err)
{
	bool gone = kube_is(why, 404) || kube_is(why, 409);

	if (why->fail != FAIL_NONE && !gone) {
		failed(b, a, resp, why);
		return 0;
	}
	if (a->res != &kube_pods)
		return 0;
	if (resp->json && str_eq(json_get_str(resp->json, "kind", ""), "Pod") && !gone &&
	    observe_written(b->rec, SEEN_POD, TAKE(resp->json), now_mono(b), err) < 0)
		return -1;
	return observe_deleted(b->rec, a->uid, err);
}

static int done_patch(struct batch *b, struct action *a, struct kube_resp *resp,
		      const struct err *why, struct err *err)
{
	if (why->fail != FAIL_NONE) {
		/* What is gone needs no change; its deletion is on its way to us. */
		failed(b, a, resp, why);
		return 0;
	}
	if (a->kind == ACT_PATCH_STATUS && a->res == &kube_trainingjobs && mark_fresh(b, err) < 0)
		return -1;
	return resp->json ? observe_written(b->rec, seen_of(a->res), TAKE(resp->json), now_mono(b),
					    err)
			  : 0;
}

static int done_get_launcher(struct batch *b, struct action *a, struct kube_resp *resp,
			     const struct err *why, struct err *err)
{
	if (kube_is(why, 404)) {
		b->rec->launcher_gone = true;
		return 0;
	}
	if (why->fail != FAIL_NONE) {
		failed(b, a, resp, why);
		return 0;
	}
	const cJSON *o;
	bool ours = false;

	json_each (o, json_at(resp->json, "metadata", "ownerReferences", NULL)) {
		ours = ours || (b->rec->uid && str_eq(json_get_str(o, "uid", ""), b->rec->uid));
	}
	if (ours)
		return observe_written(b->rec, SEEN_POD, TAKE(resp->json), now_mono(b), err);
	b->rec->launcher_gone = true;
	return 0;
}

static int done_get_log(struct batch *b, struct kube_resp *resp, const struct err *why,
			struct err *err)
{
	struct rec *rec = b->rec;
	AUTO(buf) struct buf launcher = BUF_INIT(256);
	const cJSON *pod = NULL;

	name_launcher(rec->name, &launcher);
	for (size_t i = 0; i < rec->pods.n; i++) {
		if (str_eq(meta(rec->pods.v[i], "name"), buf_text(&launcher)))
			pod = rec->pods.v[i];
	}
	rec->log_known = true;
	free(TAKE(rec->log));
	free(TAKE(rec->log_uid));
	if (str_copy(meta(pod, "uid"), &rec->log_uid, err) < 0)
		return -1;
	if (why->fail != FAIL_NONE)
		return 0; /* no log is no reason to wait */
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	const char *s = buf_text(&resp->body);
	size_t n = resp->body.len;

	while (n && s[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\n')
			buf_str(&text, " | ");
		else
			buf_char(&text, (unsigned char)s[i] < 0x20 ? ' ' : s[i]);
	}
	return text.len ? buf_finish(&text, &rec->log, err) : 0;
}

static int dispatch(struct batch *b, struct call *c, struct kube_resp *resp, const struct err *why,
		    struct err *err)
{
	struct action *a = c->a;

	if (c->look)
		return done_look(b, a, resp, why, err);
	switch (a->kind) {
	case ACT_CREATE:
	case ACT_SECRET:
		return done_create(b, a, resp, why, err);
	case ACT_DELETE:
		return done_delete(b, a, resp, why, err);
	case ACT_PATCH:
	case ACT_PATCH_STATUS:
		return done_patch(b, a, resp, why, err);
	case ACT_GET_LAUNCHER:
		return done_get_launcher(b, a, resp, why, err);
	case ACT_GET_LOG:
		return done_get_log(b, resp, why, err);
	case ACT_EVENT:
	case ACT_SCRIPT:
		break;
	}
	return 0;
}

static void on_done(void *arg, struct kube_resp *resp, const struct err *why)
{
	struct call *c = arg;
	struct batch *b = c->b;
	struct err err = ERR_INIT;

	if (b->magic != BATCH_MAGIC)
		abort(); /* a callback with a stranger's argument: our mistake */
	b->under_way--;
	b->e->under_way--;
	if (dispatch(b, c, resp, why, &err) < 0)
		failed(b, c->a, NULL, &err);
	free(c);
	batch_go(b);
}

static int send_call(struct batch *b, struct action *a, bool look, struct kube_req *req,
		     struct err *err)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return err_nomem(err);
	*c = (struct call){ .b = b, .a = a, .look = look };
	req->on_done = on_done;
	req->arg = c;
	req->timeout_ms = TIMEOUT_MS;
	req->no_retry = true; /* the engine looks again before it tries again */
	b->under_way++;
	b->e->under_way++;
	b->e->stats.requests[str_eq(req->method, "GET")      ? 0
			     : str_eq(req->method, "POST")   ? 1
			     : str_eq(req->method, "PATCH")  ? 2
			     : str_eq(req->method, "DELETE") ? 3
							     : 4]++;
	if (b->e->io.send(b->e->io.arg, req, err) == 0)
		return 0;
	b->under_way--;
	b->e->under_way--;
	free(c);
	return -1;
}

/* Who has the name? */
static int send_look(struct batch *b, struct action *a, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	struct kube_req req = { .method = "GET" };

	if (kube_path(a->res, b->rec->ns, a->name, NULL, &path, err) < 0)
		return -1;
	req.path = buf_text(&path);
	return send_call(b, a, true, &req, err);
}

static int send_body(struct batch *b, struct action *a, const char *method, const char *path,
		     const cJSON *body, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	struct kube_req req = { .method = method, .path = path };

	if (body && json_print(body, &text, err) < 0)
		return -1;
	if (buf_check(&text, err) < 0)
		return -1;
	req.body = buf_text(&text);
	req.body_bytes = text.len;
	if (a->kind == ACT_PATCH || a->kind == ACT_PATCH_STATUS)
		req.content_type = "application/merge-patch+json";
	int rc = send_call(b, a, false, &req, err);
	if (a->kind == ACT_SECRET)
		buf_wipe(&text);
	return rc;
}

static int begin_secret(struct batch *b, struct action *a, const char *path, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(16384);
	AUTO(buf) struct buf line = BUF_INIT(16384);
	AUTO(buf) struct buf name = BUF_INIT(256);
	AUTO_JSON cJSON *doc = NULL;
	struct job job;
	int rc;

	if (!b->rec->job)
		return err_set(err, FAIL_STATE, "the job is gone");
	name_secret(b->rec->name, &name);
	free(a->name);
	a->name = NULL;
	if (str_copy(buf_text(&name), &a->name, err) < 0 ||
	    b->e->io.make_key(b->e->io.arg, &key, &line, err) < 0)
		return -1;
	job_view(b->rec->job, &job);
	rc = podspec_secret(&job, buf_text(&key), buf_text(&line), &doc, err);
	buf_wipe(&key);
	return rc < 0 ? -1 : send_body(b, a, "POST", path, doc, err);
}

static int begin_delete(struct batch *b, struct action *a, const char *path, struct err *err)
{
	AUTO_JSON cJSON *body = cJSON_CreateObject();
	cJSON *pre = body ? json_need_object(body, "preconditions", err) : NULL;

	if (!pre || json_set_str(pre, "uid", a->uid ? a->uid : "", err) < 0 ||
	    json_set_str(body, "apiVersion", "v1", err) < 0 ||
	    json_set_str(body, "kind", "DeleteOptions", err) < 0 ||
	    json_set_str(body, "propagationPolicy", "Background", err) < 0 ||
	    (a->grace_s >= 0 && json_set_int(body, "gracePeriodSeconds", a->grace_s, err) < 0))
		return err_nomem(err);
	return send_body(b, a, "DELETE", path, body, err);
}

static int begin_create(struct batch *b, struct action *a, const char *path, struct err *err)
{
	if (!a->name && str_copy(meta(a->body, "name"), &a->name, err) < 0)
		return -1;
	if (is_worker(a))
		fresh_drop(b->rec, a->name);
	return send_body(b, a, "POST", path, a->body, err);
}

static int begin(struct batch *b, struct action *a, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	bool create = a->kind == ACT_CREATE || a->kind == ACT_SECRET;
	const char *sub = a->kind == ACT_PATCH_STATUS ? "status"
			  : a->kind == ACT_GET_LOG    ? "log"
						      : NULL;
	struct kube_req req = { .method = "GET" };

	if (kube_path(a->res, b->rec->ns, create ? NULL : a->name, sub, &path, err) < 0)
		return -1;
	switch (a->kind) {
	case ACT_CREATE:
		return begin_create(b, a, buf_text(&path), err);
	case ACT_SECRET:
		return begin_secret(b, a, buf_text(&path), err);
	case ACT_DELETE:
		return begin_delete(b, a, buf_text(&path), err);
	case ACT_PATCH_STATUS:
		if (a->res == &kube_trainingjobs && note_reserved(b, a, err) < 0)
			return -1;
		return send_body(b, a, "PATCH", buf_text(&path), a->body, err);
	case ACT_PATCH:
		return send_body(b, a, "PATCH", buf_text(&path), a->body, err);
	case ACT_GET_LOG:
		url_query(&path, "tailLines", LOG_LINES);
		req.accept = "*/*";
		req.max_bytes = LIMIT_TEXT;
		url_query(&path, "limitBytes", LOG_BYTES);
		break;
	case ACT_GET_LAUNCHER:
	case ACT_EVENT:
	case ACT_SCRIPT:
		break;
	}
	req.path = buf_text(&path);
	return send_call(b, a, false, &req, err);
}

static void batch_end(struct batch *b)
{
	engine_done(b->e, b->rec,
		    &(struct done){ .ok = !b->failed,
				    .conflict = b->conflict,
				    .retry_ms = b->retry_ms,
				    .actions = &b->actions });
	actions_release(&b->actions);
	strs_release(&b->reserved);
	b->magic = 0;
	free(b);
}

/* Begins what may be begun; ends the batch when nothing is left. */
static void batch_go(struct batch *b)
{
	if (b->starting)
		return;
	b->starting = true;
	while (!b->failed && b->next < b->actions.n && b->under_way < WIDTH && !b->e->stopped) {
		struct action *a = &b->actions.v[b->next];
		struct err err = ERR_INIT;

		if (a->stage != b->stage) {
			if (b->under_way)
				break;
			b->stage = a->stage;
		}
		b->next++;
		if (a->kind == ACT_EVENT)
			event_send(b->e, b->rec, a);
		else if (a->kind == ACT_SCRIPT)
			script_start(b->e, b->rec, a);
		else if (begin(b, a, &err) < 0)
			failed(b, a, NULL, &err);
	}
	b->starting = false;
	if (!b->under_way)
		batch_end(b);
}

/* Objects that events are about are borrowed from the world, which ends before they are sent. */
static int keep_abouts(struct actions *a, struct err *err)
{
	for (size_t i = 0; i < a->n; i++) {
		if (!a->v[i].about)
			continue;
		cJSON *ref = event_reference(a->v[i].about, err);

		if (!ref)
			return -1;
		cJSON_Delete(a->v[i].body);
		a->v[i].body = ref;
		a->v[i].about = NULL;
	}
	return 0;
}

int act_start(struct engine *e, struct rec *rec, struct actions *actions, struct err *err)
{
	struct batch *b;

	if (keep_abouts(actions, err) < 0)
		return -1;
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	*b = (struct batch){
		.magic = BATCH_MAGIC, .e = e, .rec = rec, .actions = *actions, .retry_ms = -1
	};
	*actions = ACTIONS_INIT;
	b->stage = b->actions.n ? b->actions.v[0].stage : STAGE_SCALER;
	batch_go(b);
	return 0;
}
