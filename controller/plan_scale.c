/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ScaleOut, ScaleIn and changes of spec.replicas. One scaler at a time, oldest first.
 *
 * The order of writes makes each step repeatable: a scaler's status says what it will do
 * (Scaling, with the names) before the job's status does it (currentScaler, replicas,
 * targetWorkers), and says how it ended before the job's status lets it go. So a scaler that is
 * Scaling and not current has not been applied yet, and a current one that has finished has not
 * been settled yet.
 */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/podspec.h"
#include "wire/time.h"

#define SETTLE_MS 10000 /* a ScaleOut whose workers are all ready at its end may be published yet \
			 */

static const struct kube_res *res_of(const struct scaler *s)
{
	return s->out ? &kube_scaleouts : &kube_scaleins;
}

/* Workers that it adds or removes; 0 when it does not say. */
static int64_t amount(const struct scaler *s)
{
	int64_t n = scaler_amount(s);

	return n < 0 ? -n : n;
}

static const char *kind_of(const struct scaler *s)
{
	return s->out ? KIND_SCALEOUT : KIND_SCALEIN;
}

static int64_t started_ms(const struct plan *p, const struct scaler *s)
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

static void scaler_end(struct plan *p, const struct scaler *s, bool ok, const char *reason,
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
			   kind_of(s), s->name, message);
	p->out->scale_done = true;
	p->out->scale_ok = ok;
	p->out->scale_out = s->out;
	p->out->scale_ms = p->now - started_ms(p, s);
}

static void scaler_begin(struct plan *p, const struct scaler *s, const struct strs *pods)
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
	status_condition(p, status, "Created", true, kind_of(s), "accepted");
	status_condition(p, status, "Scaling", true, kind_of(s),
			 s->out ? "adds %zu worker%s" : "removes %zu worker%s", pods->n,
			 plural((int64_t)pods->n));
	if (s->script && !p->w->allow_scripts)
		status_condition(p, status, "ScriptExecuted", false, "ScriptsNotAllowed",
				 "the script is not run: the controller runs without "
				 "--allow-scripts");
	scaler_write(p, s, status);
	plan_event(p, p->job->obj, false, "Scaling", "%s %s: %s %zu worker%s", kind_of(s), s->name,
		   s->out ? "adds" : "removes", pods->n, plural((int64_t)pods->n));
}

static void current_name(const struct scaler *s, struct buf *out)
{
	buf_printf(out, "%s/%s", s->ns, s->name);
}

static bool is_current(const struct plan *p, const struct scaler *s)
{
	AUTO(buf) struct buf name = BUF_INIT(1024);

	current_name(s, &name);
	return str_eq(json_get_str(p->status, "currentScaler", ""), buf_text(&name));
}

/* The scaler that status.currentScaler names; an unfinished one first (kinds may share a name). */
static const struct scaler *find_current(const struct plan *p)
{
	const struct scaler *found = NULL;

	for (size_t i = 0; i < p->w->nscalers; i++) {
		const struct scaler *s = &p->w->scalers[i];

		if (s->phase == SCALER_NEW || !is_current(p, s))
			continue;
		if (!found || !scaler_finished(s))
			found = s;
	}
	return found;
}

static void history(struct plan *p, const struct scaler *s, int64_t from, int64_t to, bool ok)
{
	AUTO(buf) struct buf cause = BUF_INIT(1024);

	buf_printf(&cause, "%s %s", kind_of(s), s->name);
	status_history(p, from, to, buf_text(&cause), ok ? "Succeeded" : "Failed");
}

/* The job's side of a scaler's end: repeatable, because it clears currentScaler with it. */
static void settle_scaler(struct plan *p, const struct scaler *s, bool ok)
{
	int64_t n = amount(s);
	const cJSON *v;

	if (s->out) {
		int64_t from = p->desired - n;

		if (ok) {
			history(p, s, from, p->desired, true);
		} else {
			p->desired = from > 0 ? from : 1;
			history(p, s, p->desired, p->desired, false);
			workers_choose(p, (int64_t)p->target.n - p->desired, NULL);
		}
	} else if (ok) {
		history(p, s, p->desired + n, p->desired, true);
	} else {
		p->desired += n;
		history(p, s, p->desired, p->desired, false);
		json_each (v, s->pods) {
			const struct pod *pod = worker_find(p, json_str(v) ? json_str(v) : "");

			if (pod && !pod->dead && !pod->going && !strs_has(&p->target, pod->name))
				(void)plan_ok(p, strs_add(&p->target, pod->name, p->err));
		}
	}
	p->base = p->desired;
	status_str(p, "currentScaler", NULL);
	p->scaled = true;
	if (status_phase_now(p) == JOB_SCALING)
		status_phase(p, JOB_RUNNING);
	status_clear(p, "Scaling", "ScalingEnded");
}

static void timed_out(struct plan *p, const struct scaler *s)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_MESSAGE);
	const char *reason = NULL;

	buf_printf(&text, "not done in %" PRId64 " s, rolled back", s->timeout_s);
	if (!s->out)
		buf_printf(&text,
			   ": fewer than minReplicas (%" PRId64
			   ") workers would have been left ready",
			   p->job->min);
	else if (workers_reason(p, &why, &reason))
		buf_printf(&text, ": %s", buf_text(&why));
	else
		buf_str(&text, ": the new workers did not become ready");
	scaler_end(p, s, false, "Timeout", buf_text(&text), NULL);
	settle_scaler(p, s, false);
}

/* Workers of the target that the list holds and that are ready. */
static int64_t lines_good(const struct plan *p)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->listed.n; i++)
		n += worker_good(p, worker_find(p, p->listed.v[i]));
	return n;
}

enum gate { GATE_OPEN, GATE_WAITS, GATE_FAILED };

/*
 * A scaler's script comes before what it is for: before new lines are published, before workers
 * are chosen to leave. A controller that ends while it runs starts it again.
 */
static enum gate script_gate(struct plan *p, const struct scaler *s)
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

static void script_failed(struct plan *p, const struct scaler *s)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);

	buf_printf(&text, "the script failed: %s",
		   p->w->script_message ? p->w->script_message : "no reason given");
	scaler_end(p, s, false, "ScriptFailed", buf_text(&text), NULL);
}

static void go_on_out(struct plan *p, const struct scaler *s)
{
	int64_t n = amount(s), end = started_ms(p, s) + s->timeout_s * 1000;
	bool training = p->w->launcher.obj && !p->w->launcher.done, complete = false;

	p->base = p->desired - n;
	if ((int64_t)workers_good(p) >= p->desired) {
		enum gate gate = script_gate(p, s);

		if (gate == GATE_FAILED) {
			script_failed(p, s);
			settle_scaler(p, s, false);
			return;
		}
		complete = gate == GATE_OPEN;
	}
	if (complete)
		p->base = p->desired; /* all lines in one update */
	if (lines_good(p) >= p->desired && training) {
		AUTO(strs) struct strs added = STRS_INIT;
		AUTO(buf) struct buf text = BUF_INIT(1024);

		for (size_t i = p->listed.n > (size_t)n ? p->listed.n - (size_t)n : 0;
		     i < p->listed.n; i++)
			(void)plan_ok(p, strs_add(&added, p->listed.v[i], p->err));
		buf_printf(&text, "%" PRId64 " worker%s added, %" PRId64 " now", n, plural(n),
			   p->desired);
		scaler_end(p, s, true, "ScaleSucceeded", buf_text(&text), &added);
		settle_scaler(p, s, true);
	} else if (p->now >= end + (complete ? SETTLE_MS : 0)) {
		timed_out(p, s);
	} else {
		plan_wake(p, complete ? end + SETTLE_MS : end);
	}
}

static void go_on_in(struct plan *p, const struct scaler *s)
{
	int64_t end = started_ms(p, s) + s->timeout_s * 1000;
	bool lines = false, pods = false;
	const char *last = "";
	const cJSON *v;

	json_each (v, s->pods) {
		const char *name = json_str(v) ? json_str(v) : "";
		const struct pod *pod = worker_find(p, name);

		if (pod && !pod->dead)
			last = name;
		pods = pods || (pod && !pod->dead);
		lines = lines || (strs_has(&p->listed, name) && pod && !pod->dead);
	}
	/* After the grace the kubelet kills it; one that stays longer has lost its node. */
	if (!pods || (!lines && p->now >= end + 30000)) {
		AUTO(buf) struct buf text = BUF_INIT(2048);

		buf_printf(&text, "%" PRId64 " workers removed, %" PRId64 " now", amount(s),
			   p->desired);
		if (pods)
			buf_printf(&text, "; %s still terminates (its node may be gone)", last);
		scaler_end(p, s, true, "ScaleSucceeded", buf_text(&text), NULL);
		settle_scaler(p, s, true);
	} else if (lines && p->now >= end) {
		timed_out(p, s);
	} else {
		plan_wake(p, lines ? end : end + 30000);
	}
}

/* Why the scaler can not be done at the present size: appends to out, or nothing. */
static void refuse(const struct plan *p, const struct scaler *s, struct buf *out)
{
	int64_t n = amount(s), size = p->desired;
	const cJSON *v, *other;

	if (n < 1 || (s->count >= 0 && s->pod_names)) {
		buf_printf(out, "needs exactly one of count (1 or more)%s",
			   s->out ? "" : " and podNames");
		return;
	}
	if (s->out && size + n > p->job->max) {
		buf_printf(out,
			   "%" PRId64 " worker%s would be more than maxReplicas (%" PRId64
			   "), the job has %" PRId64,
			   size + n, plural(size + n), p->job->max, size);
		return;
	}
	if (!s->out && size - n < p->job->min) {
		buf_printf(out,
			   "%" PRId64 " worker%s would be fewer than minReplicas (%" PRId64
			   "), the job has %" PRId64,
			   size - n, plural(size - n), p->job->min, size);
		return;
	}
	json_each (v, s->pod_names) {
		const char *name = json_str(v) ? json_str(v) : "";

		if (!strs_has(&p->target, name)) {
			buf_printf(out, "%s is no worker of this job", name);
			return;
		}
		for (other = s->pod_names->child; other != v; other = other->next) {
			if (str_eq(json_str(other), name)) {
				buf_printf(out, "%s is named twice", name);
				return;
			}
		}
	}
}

static void pick_pods(struct plan *p, const struct scaler *s, struct strs *pods)
{
	int64_t n = amount(s);
	const cJSON *v;

	if (s->out) {
		size_t from = p->target.n;

		workers_reserve(p, n);
		for (size_t i = from; i < p->target.n; i++)
			(void)plan_ok(p, strs_add(pods, p->target.v[i], p->err));
		return;
	}
	json_each (v, s->pod_names) {
		if (!json_str(v))
			continue;
		(void)plan_ok(p, strs_add(pods, json_str(v), p->err));
		target_remove(&p->target, json_str(v));
	}
	if (!s->pod_names)
		workers_choose(p, n, pods);
}

/* The names that its status already holds: a crash came between the two writes. */
static void take_pods(struct plan *p, const struct scaler *s)
{
	const cJSON *v;

	json_each (v, s->pods) {
		if (!json_str(v))
			continue;
		if (!s->out)
			target_remove(&p->target, json_str(v));
		else if (!strs_has(&p->target, json_str(v)))
			(void)(plan_ok(p, strs_add(&p->target, json_str(v), p->err)) &&
			       plan_ok(p, strs_add(&p->reserved, json_str(v), p->err)));
	}
}

static void apply(struct plan *p, const struct scaler *s)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf name = BUF_INIT(1024);
	AUTO(strs) struct strs pods = STRS_INIT;
	int64_t from = p->desired;

	/* A scaler that began chose its workers from a target that may have changed since. */
	refuse(p, s, &why);
	if (why.len) {
		scaler_end(p, s, false, "OutOfBounds", buf_text(&why), NULL);
		return;
	}
	if (!s->out && s->phase == SCALER_NEW) {
		enum gate gate = script_gate(p, s);

		if (gate == GATE_FAILED)
			script_failed(p, s);
		if (gate != GATE_OPEN)
			return;
	}
	if (s->phase == SCALER_NEW) {
		pick_pods(p, s, &pods);
		scaler_begin(p, s, &pods);
	} else {
		take_pods(p, s);
	}
	p->desired += s->out ? amount(s) : -amount(s);
	p->base = s->out ? from : p->desired;
	p->active = s;
	current_name(s, &name);
	status_str(p, "currentScaler", buf_text(&name));
	status_phase(p, JOB_SCALING);
	status_condition(p, p->status, "Scaling", true, kind_of(s),
			 "%s %s: from %" PRId64 " to %" PRId64 " workers", kind_of(s), s->name,
			 from, p->desired);
	plan_wake(p, started_ms(p, s) + s->timeout_s * 1000);
}

static bool owner_other(const struct plan *p, const struct scaler *s)
{
	const cJSON *o;

	json_each (o, json_at(s->obj, "metadata", "ownerReferences", NULL)) {
		if (str_eq(json_get_str(o, "kind", ""), KIND_JOB))
			return !str_eq(json_get_str(o, "uid", ""), p->job->uid);
	}
	return s->created_ms < p->job->created_ms;
}

static bool owner_there(const struct scaler *s)
{
	const cJSON *o;

	json_each (o, json_at(s->obj, "metadata", "ownerReferences", NULL)) {
		if (str_eq(json_get_str(o, "kind", ""), KIND_JOB))
			return true;
	}
	return false;
}

static void replicas_changed(struct plan *p)
{
	int64_t seen = 0, want = p->job->replicas, from = p->desired;

	if (!json_int(json_get(p->status, "observedReplicas"), &seen)) {
		status_int(p, "observedReplicas", want);
		return;
	}
	if (seen == want)
		return;
	status_int(p, "observedReplicas", want);
	want = want > p->job->max ? p->job->max : want < p->job->min ? p->job->min : want;
	if (want == from)
		return;
	p->desired = want;
	p->base = want;
	status_history(p, from, want, "spec.replicas", "Applied");
	plan_event(p, p->job->obj, false, "Resized",
		   "spec.replicas changed: from %" PRId64 " to %" PRId64 " workers", from, want);
}

void scale_plan(struct plan *p)
{
	const struct scaler *s = find_current(p);
	enum job_phase phase = status_phase_now(p);

	if (s) {
		if (scaler_finished(s)) {
			settle_scaler(p, s, s->phase == SCALER_SUCCEEDED);
			return;
		}
		p->active = s;
		if (s->out)
			go_on_out(p, s);
		else
			go_on_in(p, s);
		return;
	}
	if (json_get_str(p->status, "currentScaler", NULL)) {
		/* Somebody deleted it meanwhile: the size stays where it is. */
		status_history(p, p->desired, p->desired, "scaler deleted", "Failed");
		status_str(p, "currentScaler", NULL);
		status_clear(p, "Scaling", "ScalerDeleted");
		if (phase == JOB_SCALING)
			status_phase(p, JOB_RUNNING);
		return;
	}
	for (size_t i = 0; i < p->w->nscalers; i++) {
		s = &p->w->scalers[i];
		if (scaler_finished(s) || s->deleting)
			continue;
		if (owner_other(p, s)) {
			scaler_end(p, s, false, "JobGone",
				   "it was made for an earlier job of this name", NULL);
			continue;
		}
		if (s->phase == SCALER_SCALING || phase == JOB_RUNNING || phase == JOB_SCALING) {
			apply(p, s);
			return;
		}
		break;
	}
	replicas_changed(p);
}

void scale_fail_all(struct plan *p, const char *reason, const char *message)
{
	for (size_t i = 0; i < p->w->nscalers; i++) {
		const struct scaler *s = &p->w->scalers[i];

		if (!scaler_finished(s))
			scaler_end(p, s, false, reason, message, NULL);
	}
	if (json_get_str(p->status, "currentScaler", NULL)) {
		const struct scaler *s = find_current(p);

		if (s && !job_finished(p->job))
			history(p, s, p->desired, p->desired, false);
		status_str(p, "currentScaler", NULL);
		status_clear(p, "Scaling", reason);
	}
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

		if (!scaler_finished(s) || s->deleting || is_current(p, s))
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
	if (s->phase != SCALER_SUCCEEDED || s->deleting || owner_there(s))
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

		if (owner_there(s) || s->deleting)
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
		scaler_end(p, s, false, "JobGone", buf_text(&text), NULL);
	}
}
