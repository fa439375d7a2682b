/* SPDX-License-Identifier: Apache-2.0 */
/* Status of a job as plan builds it: a copy that is changed, and the difference as a patch. */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "wire/time.h"

void status_begin(struct plan *p)
{
	const cJSON *status = json_get(p->job->obj, "status");

	p->status = status ? json_copy(status, p->err) : cJSON_CreateObject();
	if (!p->status)
		plan_fail(p);
}

void status_phase(struct plan *p, enum job_phase phase)
{
	status_str(p, "phase", job_phase_name(phase));
}

enum job_phase status_phase_now(const struct plan *p)
{
	return job_phase_parse(json_get_str(p->status, "phase", ""));
}

void status_int(struct plan *p, const char *key, int64_t n)
{
	int64_t now = 0;

	if (p->failed || (json_int(json_get(p->status, key), &now) && now == n))
		return;
	(void)plan_ok(p, json_set_int(p->status, key, n, p->err));
}

void status_str(struct plan *p, const char *key, const char *text)
{
	if (p->failed)
		return;
	if (!text)
		json_del(p->status, key);
	else if (!str_eq(json_get_str(p->status, key, NULL), text))
		(void)plan_ok(p, json_set_str(p->status, key, text, p->err));
}

void status_time(struct plan *p, const char *key, int64_t ms)
{
	char text[TIME_TEXT_SIZE];

	time_format(ms, text);
	status_str(p, key, text);
}

void status_names(struct plan *p, const char *key, const struct strs *names)
{
	cJSON *array = p->failed ? NULL : cJSON_CreateArray();

	if (!array) {
		plan_fail(p);
		return;
	}
	for (size_t i = 0; i < names->n; i++) {
		if (!plan_ok(p, json_append_str(array, names->v[i], p->err))) {
			cJSON_Delete(array);
			return;
		}
	}
	if (json_equal(array, json_get(p->status, key)))
		cJSON_Delete(array);
	else
		(void)plan_ok(p, json_set(p->status, key, array, p->err));
}

static cJSON *condition_of(cJSON *status, const char *type)
{
	cJSON *c;

	json_each (c, json_get_mut(status, "conditions")) {
		if (str_eq(json_get_str(c, "type", ""), type))
			return c;
	}
	return NULL;
}

static cJSON *condition_make(struct plan *p, cJSON *status, const char *type)
{
	cJSON *list = json_need_array(status, "conditions", p->err);
	cJSON *c = list ? cJSON_CreateObject() : NULL;

	if (!c || json_set_str(c, "type", type, p->err) < 0) {
		cJSON_Delete(c);
		plan_fail(p);
		return NULL;
	}
	return plan_ok(p, json_append(list, c, p->err)) ? c : NULL;
}

void status_condition(struct plan *p, cJSON *status, const char *type, bool yes, const char *reason,
		      const char *fmt, ...)
{
	const char *word = yes ? "True" : "False";
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);
	char now[TIME_TEXT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (p->failed)
		return;
	cJSON *c = condition_of(status, type);
	if (!c)
		c = condition_make(p, status, type);
	if (!c)
		return;
	bool turned = !str_eq(json_get_str(c, "status", ""), word);

	if (!turned && str_eq(json_get_str(c, "reason", ""), reason) &&
	    str_eq(json_get_str(c, "message", ""), plan_text(p, &text)))
		return;
	time_format(p->now, now);
	(void)(plan_ok(p, json_set_str(c, "status", word, p->err)) &&
	       plan_ok(p, json_set_str(c, "reason", reason, p->err)) &&
	       plan_ok(p, json_set_str(c, "message", plan_text(p, &text), p->err)) &&
	       plan_ok(p, json_set_str(c, "lastUpdateTime", now, p->err)) &&
	       (!turned || plan_ok(p, json_set_str(c, "lastTransitionTime", now, p->err))));
}

void status_clear(struct plan *p, const char *type, const char *reason)
{
	if (!p->failed && status_is(p->status, type))
		status_condition(p, p->status, type, false, reason, "%s", "");
}

static const cJSON *condition_get(const cJSON *status, const char *type)
{
	const cJSON *c;

	json_each (c, json_get(status, "conditions")) {
		if (str_eq(json_get_str(c, "type", ""), type))
			return c;
	}
	return NULL;
}

bool status_is(const cJSON *status, const char *type)
{
	return str_eq(json_get_str(condition_get(status, type), "status", ""), "True");
}

int64_t status_since(const cJSON *status, const char *type)
{
	int64_t ms = 0;

	return time_get(json_get_str(condition_get(status, type), "lastTransitionTime", NULL), &ms)
		       ? ms
		       : 0;
}

void status_history(struct plan *p, int64_t from, int64_t to, const char *cause, const char *result)
{
	cJSON *list = p->failed ? NULL : json_need_array(p->status, "scaleHistory", p->err);
	cJSON *entry = list ? cJSON_CreateObject() : NULL;
	char now[TIME_TEXT_SIZE];

	time_format(p->now, now);
	if (!entry || json_set_str(entry, "time", now, p->err) < 0 ||
	    json_set_int(entry, "from", from, p->err) < 0 ||
	    json_set_int(entry, "to", to, p->err) < 0 ||
	    json_set_str(entry, "cause", cause, p->err) < 0 ||
	    json_set_str(entry, "result", result, p->err) < 0) {
		cJSON_Delete(entry);
		plan_fail(p);
		return;
	}
	if (!plan_ok(p, json_append(list, entry, p->err)))
		return;
	while (json_len(list) > HISTORY_MAX)
		cJSON_DeleteItemFromArray(list, 0);
}

/* Counts of pods by role; a figure for people, that alone is worth a write only while it runs. */
static void replica_statuses(struct plan *p)
{
	const struct world *w = p->w;
	int64_t active = 0, failed = 0;
	cJSON *roles = p->failed ? NULL : cJSON_CreateObject();
	cJSON *worker = roles ? json_need_object(roles, "Worker", p->err) : NULL;
	cJSON *launcher = worker ? json_need_object(roles, "Launcher", p->err) : NULL;
	bool there = w->launcher.obj != NULL;
	enum job_phase phase = status_phase_now(p);
	bool ok = there ? w->launcher.done && w->launcher.exit_code == 0 : phase == JOB_SUCCEEDED;

	for (size_t i = 0; i < w->nworkers; i++) {
		active += w->workers[i].running;
		failed += w->workers[i].dead;
	}
	if (!launcher || json_set_int(worker, "active", active, p->err) < 0 ||
	    (failed && json_set_int(worker, "failed", failed, p->err) < 0) ||
	    json_set_int(launcher, "active", there && w->launcher.running && !w->launcher.done,
			 p->err) < 0 ||
	    (ok && json_set_int(launcher, "succeeded", 1, p->err) < 0) ||
	    (phase == JOB_FAILED && json_set_int(launcher, "failed", 1, p->err) < 0)) {
		cJSON_Delete(roles);
		plan_fail(p);
		return;
	}
	if (json_equal(roles, json_get(p->status, "replicaStatuses")))
		cJSON_Delete(roles);
	else
		(void)plan_ok(p, json_set(p->status, "replicaStatuses", roles, p->err));
}

/* What turns old into now, as a merge patch (RFC 7386): an empty object when nothing differs. */
static cJSON *merge_diff(const cJSON *old, const cJSON *now, struct err *err)
{
	AUTO_JSON cJSON *diff = cJSON_CreateObject();
	const cJSON *v;

	if (!diff) {
		(void)err_nomem(err); /* the NULL says it */
		return NULL;
	}
	for (v = now ? now->child : NULL; v; v = v->next) {
		const cJSON *was = cJSON_GetObjectItemCaseSensitive(old, v->string);

		if (was && json_equal(v, was))
			continue;
		/* A member of an object goes only when the patch says null. */
		cJSON *item = cJSON_IsObject(v) && cJSON_IsObject(was) ? merge_diff(was, v, err)
								       : json_copy(v, err);

		if (!item || json_set(diff, v->string, item, err) < 0)
			return NULL;
	}
	for (v = old ? old->child : NULL; v; v = v->next) {
		if (cJSON_GetObjectItemCaseSensitive(now, v->string))
			continue;
		cJSON *null = cJSON_CreateNull();

		if (!null || json_set(diff, v->string, null, err) < 0)
			return NULL;
	}
	return TAKE(diff);
}

/* NULL when nothing differs, or latched. */
static cJSON *difference(struct plan *p, const cJSON *old, const cJSON *now)
{
	cJSON *diff = merge_diff(old, now, p->err);

	if (!diff)
		plan_fail(p);
	else if (!diff->child)
		cJSON_Delete(TAKE(diff));
	return diff;
}

cJSON *status_patch(struct plan *p, const cJSON *obj, cJSON *diff)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *meta = body ? json_need_object(body, "metadata", p->err) : NULL;
	const cJSON *from = json_get(obj, "metadata");

	if (!meta ||
	    json_set_str(meta, "resourceVersion", json_get_str(from, "resourceVersion", ""),
			 p->err) < 0 ||
	    json_set_str(meta, "uid", json_get_str(from, "uid", ""), p->err) < 0) {
		cJSON_Delete(diff);
		cJSON_Delete(body);
		plan_fail(p);
		return NULL;
	}
	if (!plan_ok(p, json_set(body, "status", diff, p->err))) {
		cJSON_Delete(body);
		return NULL;
	}
	return body;
}

void status_finish(struct plan *p)
{
	const cJSON *old = json_get(p->job->obj, "status");
	enum job_phase phase = status_phase_now(p);
	bool busy = phase == JOB_CREATED;

	if (p->failed)
		return;
	/* While pods start, their count alone is not worth a write each. */
	if (!busy)
		replica_statuses(p);
	cJSON *diff = difference(p, old, p->status);
	if (!diff || p->failed) {
		cJSON_Delete(diff);
		return;
	}
	if (busy) {
		cJSON_Delete(diff);
		replica_statuses(p);
		if (p->failed)
			return;
	}
	status_time(p, "lastReconcileTime", p->now);
	if (busy)
		diff = difference(p, old, p->status);
	else if (!p->failed)
		(void)plan_ok(p, json_set_str(diff, "lastReconcileTime",
					      json_get_str(p->status, "lastReconcileTime", ""),
					      p->err));
	cJSON *body = diff && !p->failed ? status_patch(p, p->job->obj, diff) : NULL;

	if (!body)
		return;
	(void)plan_act(p, ACT_PATCH_STATUS, STAGE_STATUS, &kube_trainingjobs, p->job->name, body);
}
