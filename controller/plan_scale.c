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

#define UNSEEN_MS 10000 /* a current scaler may be missing from the copies for so long */

#define SETTLE_MS                                                                       \
	10000 /* a ScaleOut whose workers are all ready at its end may be published yet \
	       */

/* The scaler that status.currentScaler names; an unfinished one first (kinds may share a name). */
static const struct scaler *find_current(const struct plan *p)
{
	const struct scaler *found = NULL;

	for (size_t i = 0; i < p->w->nscalers; i++) {
		const struct scaler *s = &p->w->scalers[i];

		if (!scaler_is_current(p, s))
			continue;
		/* One that has not begun is another kind's of that name, or an old copy. */
		if (!found || found->phase == SCALER_NEW ||
		    (s->phase != SCALER_NEW && !scaler_finished(s)))
			found = s;
	}
	return found;
}

static void history(struct plan *p, const struct scaler *s, int64_t from, int64_t to, bool ok)
{
	AUTO(buf) struct buf cause = BUF_INIT(1024);

	buf_printf(&cause, "%s %s", scaler_kind(s), s->name);
	status_history(p, from, to, plan_text(p, &cause), ok ? "Succeeded" : "Failed");
}

/* The job's side of a scaler's end: repeatable, because it clears currentScaler with it. */
static void settle_scaler(struct plan *p, const struct scaler *s, bool ok)
{
	int64_t n = scaler_size(s);
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
		buf_printf(&text, ": %s", plan_text(p, &why));
	else
		buf_str(&text, ": the new workers did not become ready");
	scaler_end(p, s, false, "Timeout", plan_text(p, &text), NULL);
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

static void go_on_out(struct plan *p, const struct scaler *s)
{
	int64_t n = scaler_size(s), end = scaler_started_ms(p, s) + s->timeout_s * 1000;
	bool training = p->w->launcher.obj && !p->w->launcher.done, complete = false;

	p->base = p->desired - n;
	if ((int64_t)workers_good(p) >= p->desired) {
		enum scaler_gate gate = scaler_gate(p, s);

		if (gate == GATE_FAILED) {
			scaler_script_failed(p, s);
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
		scaler_end(p, s, true, "ScaleSucceeded", plan_text(p, &text), &added);
		settle_scaler(p, s, true);
	} else if (p->now >= end + (complete ? SETTLE_MS : 0)) {
		timed_out(p, s);
	} else {
		plan_wake(p, complete ? end + SETTLE_MS : end);
	}
}

static void go_on_in(struct plan *p, const struct scaler *s)
{
	int64_t end = scaler_started_ms(p, s) + s->timeout_s * 1000;
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

		buf_printf(&text, "%" PRId64 " worker%s removed, %" PRId64 " now", scaler_size(s),
			   plural(scaler_size(s)), p->desired);
		if (pods)
			buf_printf(&text, "; %s still terminates (its node may be gone)", last);
		scaler_end(p, s, true, "ScaleSucceeded", plan_text(p, &text), NULL);
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
	int64_t n = scaler_size(s), size = p->desired;
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
	int64_t n = scaler_size(s);
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
		scaler_end(p, s, false, "OutOfBounds", plan_text(p, &why), NULL);
		return;
	}
	if (!s->out && s->phase == SCALER_NEW) {
		enum scaler_gate gate = scaler_gate(p, s);

		if (gate == GATE_FAILED)
			scaler_script_failed(p, s);
		if (gate != GATE_OPEN)
			return;
	}
	if (s->phase == SCALER_NEW) {
		pick_pods(p, s, &pods);
		scaler_begin(p, s, &pods);
	} else {
		take_pods(p, s);
	}
	p->desired += s->out ? scaler_size(s) : -scaler_size(s);
	p->base = s->out ? from : p->desired;
	p->active = s;
	scaler_current_name(s, &name);
	status_str(p, "currentScaler", plan_text(p, &name));
	status_phase(p, JOB_SCALING);
	status_condition(p, p->status, "Scaling", true, scaler_kind(s),
			 "%s %s: from %" PRId64 " to %" PRId64 " workers", scaler_kind(s), s->name,
			 from, p->desired);
	plan_wake(p, scaler_started_ms(p, s) + s->timeout_s * 1000);
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

	if (s && s->phase == SCALER_NEW) {
		plan_wake(p, p->now + 1000); /* its news is on its way */
		return;
	}
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
		int64_t since = status_since(p->status, "Scaling");

		/* Not seen yet? It is waited for before it counts as deleted. */
		if (p->now < since + UNSEEN_MS) {
			plan_wake(p, since + UNSEEN_MS);
			return;
		}
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
