/* SPDX-License-Identifier: Apache-2.0 */
/* One ScaleOut or ScaleIn: what is written to it, whose it is, its script, and when it goes. */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/podspec.h"
#include "wire/time.h"

static const struct kube_res *res_of(const struct scaler *s)
{
	return s->out ? &kube_scaleouts : &kube_scaleins;
}

/* Workers that it adds or removes; 0 when it does not say. */
int64_t scaler_size(const struct scaler *s)
{
	int64_t n = scaler_amount(s);

	return n < 0 ? -n : n;
}

const char *scaler_kind(const struct scaler *s)
{
	return s->out ? KIND_SCALEOUT : KIND_SCALEIN;
}

int64_t scaler_started_ms(const struct plan *p, const struct scaler *s)
{
	int64_t ms = 0;
	const char *text = json_get_str(json_get(s->obj, "status"), "startTime", NULL);

	return time_get(text, &ms) ? ms : p->now;
}

/* A copy of a scaler's status to change; NULL latched. */
static cJSON *scaler_status(struct plan *p, const struct scaler *s)
{
	const cJSON *old = json_get(s->obj, "status");
	cJSON *status = p->failed ? NULL : old ? json_copy(old, p->err) : cJSON_CreateObject();

	if (!status)
		plan_fail(p);
	return status;
}

static void scaler_write(struct plan *p, const struct scaler *s, cJSON *status)
{
	char now[TIME_TEXT_SIZE];

	time_format(p->now, now);
	if (p->failed || !plan_ok(p, json_set_str(status, "lastReconcileTime", now, p->err))) {
		cJSON_Delete(status);
		return;
	}
	cJSON *body = status_patch(p, s->obj, status);

	if (body)
		(void)plan_act(p, ACT_PATCH_STATUS, STAGE_SCALER, res_of(s), s->name, body);
}

static void set_text(struct plan *p, cJSON *status, const char *key, const char *text)
{
	if (!p->failed)
		(void)plan_ok(p, json_set_str(status, key, text, p->err));
}

static cJSON *names_array(struct plan *p, const struct strs *names)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; array && i < names->n; i++) {
		if (json_append_str(array, names->v[i], p->err) < 0) {
			cJSON_Delete(array);
			array = NULL;
		}
	}
	if (!array)
		plan_fail(p);
	return array;
}

void scaler_end(struct plan *p, const struct scaler *s, bool ok, const char *reason,
		const char *message, const struct strs *pods)
{
	cJSON *status = scaler_status(p, s);
	char now[TIME_TEXT_SIZE];

	if (!status)
		return;
	time_format(p->now, now);
	set_text(p, status, "phase", ok ? "ScaleSucceeded" : "ScaleFailed");
	if (!json_get(status, "startTime"))
		set_text(p, status, "startTime", now);
	set_text(p, status, "completionTime", now);
	if (status_is(status, "Scaling"))
		status_condition(p, status, "Scaling", false, reason, "%s", "");
	if (s->script && p->w->allow_scripts && (ok || str_eq(reason, "ScriptFailed")))
		status_condition(p, status, "ScriptExecuted", ok, ok ? "ScriptExecuted" : reason,
				 "%s", ok ? "the script ended with exit code 0" : message);
	status_condition(p, status, ok ? "ScaleSucceeded" : "ScaleFailed", true, reason, "%s",
			 message);
	cJSON *array = pods ? names_array(p, pods) : NULL;
	if (array)
		(void)plan_ok(p,
			      json_set(status, s->out ? "addPods" : "toDeletePods", array, p->err));
	scaler_write(p, s, status);
	plan_event(p, s->obj, !ok, ok ? "ScaleSucceeded" : reason, "%s", message);
	if (p->job->obj)
		plan_event(p, p->job->obj, !ok, ok ? "Scaled" : "ScaleFailed", "%s %s: %s",
			   scaler_kind(s), s->name, message);
	p->out->scale_done = true;
	p->out->scale_ok = ok;
	p->out->scale_out = s->out;
	p->out->scale_ms = p->now - scaler_started_ms(p, s);
}

void scaler_begin(struct plan *p, const struct scaler *s, const struct strs *pods)
{
	cJSON *status = scaler_status(p, s);
	cJSON *array = status ? names_array(p, pods) : NULL;
	char now[TIME_TEXT_SIZE];

	if (!array) {
		cJSON_Delete(status);
		return;
	}
	time_format(p->now, now);
	(void)plan_ok(p, json_set(status, s->out ? "addPods" : "toDeletePods", array, p->err));
	set_text(p, status, "phase", "Scaling");
	set_text(p, status, "startTime", now);
	status_condition(p, status, "Created", true, scaler_kind(s), "accepted");
	status_condition(p, status, "Scaling", true, scaler_kind(s),
			 s->out ? "adds %zu worker%s" : "removes %zu worker%s", pods->n,
			 plural((int64_t)pods->n));
	if (s->script && !p->w->allow_scripts)
		status_condition(p, status, "ScriptExecuted", false, "ScriptsNotAllowed",
				 "the script is not run: the controller runs without "
				 "--allow-scripts");
	scaler_write(p, s, status);
	plan_event(p, p->job->obj, false, "Scaling", "%s %s: %s %zu worker%s", scaler_kind(s),
		   s->name, s->out ? "adds" : "removes", pods->n, plural((int64_t)pods->n));
}

void scaler_current_name(const struct scaler *s, struct buf *out)
{
	buf_printf(out, "%s/%s", s->ns, s->name);
}

bool scaler_is_current(const struct plan *p, const struct scaler *s)
{
	const char *name = json_get_str(p->status, "currentScaler", "");
	size_t n = strlen(s->ns);

	return strncmp(name, s->ns, n) == 0 && name[n] == '/' && str_eq(name + n + 1, s->name);
}

/*
 * A scaler's script comes before what it is for: before new lines are published, before workers
 * are chosen to leave. A controller that ends while it runs starts it again.
 */
enum scaler_gate scaler_gate(struct plan *p, const struct scaler *s)
{
	const struct world *w = p->w;
	const cJSON *first = json_index(json_at(w->launcher.obj, "spec", "containers", NULL), 0);

	if (!s->script || !w->allow_scripts ||
	    status_is(json_get(s->obj, "status"), "ScriptExecuted"))
		return GATE_OPEN;
	if (!w->launcher.obj || !w->launcher.running || w->launcher.done)
		return GATE_WAITS;
	if (str_eq(w->script_uid, s->uid)) {
		if (w->script == SCRIPT_DONE)
			return GATE_OPEN;
		if (w->script == SCRIPT_RUNS)
			return GATE_WAITS;
		if (w->script_tries > s->backoff_limit)
			return GATE_FAILED;
	}
	cJSON *body = cJSON_CreateObject();
	cJSON *env = s->env ? json_copy(s->env, p->err) : cJSON_CreateArray();

	if (!body || !env || json_set(body, "env", env, p->err) < 0 ||
	    json_set_str(body, "uid", s->uid, p->err) < 0 ||
	    json_set_str(body, "script", s->script, p->err) < 0 ||
	    json_set_str(body, "container", json_get_str(first, "name", ""), p->err) < 0 ||
	    json_set_int(body, "timeout", s->timeout_s, p->err) < 0) {
		cJSON_Delete(body);
		plan_fail(p);
		return GATE_WAITS;
	}
	(void)plan_act(p, ACT_SCRIPT, STAGE_TELL, &kube_pods, w->launcher.name, body);
	return GATE_WAITS;
}

void scaler_script_failed(struct plan *p, const struct scaler *s)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);

	buf_printf(&text, "the script failed: %s",
		   p->w->script_message ? p->w->script_message : "no reason given");
	scaler_end(p, s, false, "ScriptFailed", plan_text(p, &text), NULL);
}

bool scaler_owned(const struct scaler *s)
{
	const cJSON *o;

	json_each (o, json_at(s->obj, "metadata", "ownerReferences", NULL)) {
		if (str_eq(json_get_str(o, "kind", ""), KIND_JOB))
			return true;
	}
	return false;
}

/* Deletes finished scalers whose time is over, and those beyond the last 20. */
void scale_prune(struct plan *p)
{
	size_t finished = 0, i;

	for (i = 0; i < p->w->nscalers; i++)
		finished += scaler_finished(&p->w->scalers[i]);
	for (i = 0; i < p->w->nscalers && !p->failed; i++) {
		const struct scaler *s = &p->w->scalers[i];
		int64_t end = 0;
		bool over;

		if (!scaler_finished(s) || s->deleting || scaler_is_current(p, s))
			continue;
		over = finished > HISTORY_MAX;
		if (s->ttl_s >= 0 &&
		    time_get(json_get_str(json_get(s->obj, "status"), "completionTime", NULL),
			     &end)) {
			end += s->ttl_s * 1000;
			over = over || p->now >= end;
			if (!over)
				plan_wake(p, end);
		}
		if (!over)
			continue;
		finished--;
		struct action *a = plan_act(p, ACT_DELETE, STAGE_LAUNCH, res_of(s), s->name, NULL);
		if (a)
			(void)plan_ok(p, str_copy(s->uid, &a->uid, p->err));
	}
}

/* One that was done for a job that is gone and that could not be tied to it in time. */
static void forget_orphan(struct plan *p, const struct scaler *s)
{
	if (s->phase != SCALER_SUCCEEDED || s->deleting || scaler_owned(s))
		return;
	struct action *a = plan_act(p, ACT_DELETE, STAGE_LAUNCH, res_of(s), s->name, NULL);
	if (a)
		(void)plan_ok(p, str_copy(s->uid, &a->uid, p->err));
}

/* Ties each scaler to its job, so that it can never act on a later job of that name. */
void scale_adopt(struct plan *p)
{
	for (size_t i = 0; i < p->w->nscalers && !p->failed; i++) {
		const struct scaler *s = &p->w->scalers[i];
		cJSON *owner = NULL, *patch, *meta, *list;

		if (scaler_owned(s) || s->deleting)
			continue;
		if (s->created_ms < p->job->created_ms) {
			forget_orphan(p, s);
			continue;
		}
		if (!plan_ok(p, podspec_owner(p->job, &owner, p->err)))
			return;
		json_del(owner, "blockOwnerDeletion");
		patch = cJSON_CreateObject();
		meta = patch ? json_need_object(patch, "metadata", p->err) : NULL;
		list = meta ? json_need_array(meta, "ownerReferences", p->err) : NULL;
		if (!list || json_set_str(meta, "uid", s->uid, p->err) < 0) {
			cJSON_Delete(owner);
			cJSON_Delete(patch);
			plan_fail(p);
			return;
		}
		if (!plan_ok(p, json_append(list, owner, p->err))) {
			cJSON_Delete(patch);
			return;
		}
		(void)plan_act(p, ACT_PATCH, STAGE_PODS, res_of(s), s->name, patch);
	}
}

/* Scalers whose job is not there (any more). */
void scale_orphans(struct plan *p)
{
	for (size_t i = 0; i < p->w->nscalers; i++) {
		const struct scaler *s = &p->w->scalers[i];
		AUTO(buf) struct buf text = BUF_INIT(1024);

		forget_orphan(p, s);
		if (scaler_finished(s) || s->deleting)
			continue;
		/* Its job may only not have been seen yet. */
		if (p->now < s->created_ms + 5000) {
			plan_wake(p, s->created_ms + 5000);
			continue;
		}
		buf_printf(&text, "there is no TrainingJob %s in this namespace", p->w->name);
		scaler_end(p, s, false, "JobGone", plan_text(p, &text), NULL);
	}
}
