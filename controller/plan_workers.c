/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a job: who is wanted, who is lost, who is made and who is deleted. */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/podspec.h"

const struct pod *worker_find(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->w->nworkers; i++) {
		if (str_eq(p->w->workers[i].name, name))
			return &p->w->workers[i];
	}
	return NULL;
}

bool worker_good(const struct plan *p, const struct pod *pod)
{
	return pod && pod->ready && !pod->going && !pod->dead && strs_has(&p->target, pod->name);
}

size_t workers_good(const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->w->nworkers; i++)
		n += worker_good(p, &p->w->workers[i]);
	return n;
}

bool name_blocked(const struct plan *p, const char *kind, const char *name,
		  const struct blocked **out)
{
	for (size_t i = 0; i < p->w->nblocked; i++) {
		const struct blocked *b = &p->w->blocked[i];

		if (b->retry || !str_eq(b->kind, kind) || (name && !str_eq(b->name, name)))
			continue;
		if (out)
			*out = b;
		return true;
	}
	return false;
}

void target_remove(struct strs *target, const char *name)
{
	for (size_t i = 0; i < target->n; i++) {
		if (!str_eq(target->v[i], name))
			continue;
		free(target->v[i]);
		memmove(&target->v[i], &target->v[i + 1], (target->n - i - 1) * sizeof(*target->v));
		target->n--;
		return;
	}
}

void workers_reserve(struct plan *p, int64_t n)
{
	for (int64_t i = 0; i < n && !p->failed; i++) {
		AUTO(buf) struct buf name = BUF_INIT(256);

		name_worker(p->job->name, p->next_index, &name);
		p->next_index++;
		(void)(plan_ok(p, strs_add(&p->target, plan_text(p, &name), p->err)) &&
		       plan_ok(p, strs_add(&p->reserved, plan_text(p, &name), p->err)));
	}
}

/* How little it would cost to lose this worker: higher goes first. */
static int64_t cheapness(const struct plan *p, const char *name)
{
	const struct pod *pod = worker_find(p, name);
	int64_t index = name_worker_index(p->job->name, name);

	if (!pod)
		return (int64_t)3 << 40 | index;
	if (!pod->ready && !strs_has(&p->listed, name))
		return (int64_t)2 << 40 | index;
	if (!pod->ready || !strs_has(&p->listed, name))
		return (int64_t)1 << 40 | index;
	return index;
}

void workers_choose(struct plan *p, int64_t n, struct strs *victims)
{
	for (; n > 0 && p->target.n && !p->failed; n--) {
		size_t best = 0;

		for (size_t i = 1; i < p->target.n; i++) {
			if (cheapness(p, p->target.v[i]) > cheapness(p, p->target.v[best]))
				best = i;
		}
		AUTO_FREE char *name = p->target.v[best];

		if (victims)
			(void)plan_ok(p, strs_add(victims, name, p->err));
		p->target.n--;
		memmove(&p->target.v[best], &p->target.v[best + 1],
			(p->target.n - best) * sizeof(*p->target.v));
	}
}

static bool lost(const struct plan *p, const char *name)
{
	const struct pod *pod = worker_find(p, name);

	if (pod)
		return pod->dead || pod->going;
	/* Not made yet, or made and gone? Only a name that we just reserved is safe to use. */
	return !strs_has(&p->reserved, name) && !(p->w->fresh && strs_has(p->w->fresh, name)) &&
	       !name_blocked(p, "Pod", name, NULL);
}

static void tell_lost(struct plan *p, const char *name)
{
	const struct pod *pod = worker_find(p, name);
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	const char *reason = NULL;
	bool was_listed = strs_has(&p->listed, name);

	if (pod && pod->dead && p->now - pod->created_ms < YOUNG_MS)
		p->out->failures++;
	if (!pod && !was_listed)
		return; /* its pod was never seen: nothing was lost but a name */
	p->out->lost++;
	if (!pod)
		buf_str(&why, "its pod is gone");
	else if (!pod_reason(pod, &why, &reason))
		buf_str(&why, pod->deletion_ms ? "its pod is being deleted"
			      : pod->dead      ? "it ended"
					       : "its node is about to go");
	plan_event(p, p->job->obj, true, pod && !pod->dead ? "WorkerLeaving" : "WorkerLost",
		   "worker %s: %s; another one is made", name, plan_text(p, &why));
}

void workers_replace(struct plan *p)
{
	for (size_t i = 0; i < p->target.n;) {
		if (!lost(p, p->target.v[i])) {
			i++;
			continue;
		}
		tell_lost(p, p->target.v[i]);
		target_remove(&p->target, p->target.v[i]);
	}
	if (p->desired > (int64_t)p->target.n)
		workers_reserve(p, p->desired - (int64_t)p->target.n);
	else
		workers_choose(p, (int64_t)p->target.n - p->desired, NULL);
}

static void make_missing(struct plan *p)
{
	if (p->w->create_after_ms > p->now) {
		plan_wake(p, p->w->create_after_ms);
		return;
	}
	for (size_t i = 0; i < p->target.n && !p->failed; i++) {
		const char *name = p->target.v[i];
		cJSON *doc = NULL;

		if (worker_find(p, name) || name_blocked(p, "Pod", name, NULL))
			continue;
		if (plan_ok(p, podspec_worker(p->job, name_worker_index(p->job->name, name), &doc,
					      p->err)))
			(void)plan_act(p, ACT_CREATE, STAGE_PODS, &kube_pods, name, doc);
	}
}

/* Seconds that a leaving worker is given: the ScaleIn's timeout, else its own grace. */
static int64_t grace_of(const struct plan *p, const char *name)
{
	const cJSON *v;

	for (size_t i = 0; i < p->w->nscalers; i++) {
		const struct scaler *s = &p->w->scalers[i];

		if (s->out)
			continue;
		json_each (v, s->pods) {
			if (str_eq(json_str(v), name))
				return s->timeout_s;
		}
	}
	return -1;
}

void workers_act(struct plan *p)
{
	make_missing(p);
	for (size_t i = 0; i < p->w->nworkers && !p->failed; i++) {
		const struct pod *pod = &p->w->workers[i];

		if (pod->deletion_ms || strs_has(&p->target, pod->name))
			continue;
		/* A line first, then the pod: never the other way round. */
		if (!pod->dead && (strs_has(&p->hosts, pod->name) ||
				   (!p->hosts_known && strs_has(&p->listed, pod->name))))
			continue;
		plan_delete_pod(p, pod, pod->dead ? -1 : grace_of(p, pod->name));
	}
}

void workers_delete_all(struct plan *p, bool running_only, int64_t grace_s)
{
	for (size_t i = 0; i < p->w->nworkers && !p->failed; i++) {
		const struct pod *pod = &p->w->workers[i];

		if (!pod->deletion_ms && !(running_only && pod->dead))
			plan_delete_pod(p, pod, grace_s);
	}
}

bool workers_reason(struct plan *p, struct buf *out, const char **reason)
{
	for (size_t i = 0; i < p->target.n; i++) {
		const char *name = p->target.v[i];
		const struct pod *pod = worker_find(p, name);
		AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);

		if (!pod || pod->ready || !pod_reason(pod, &why, reason))
			continue;
		buf_printf(out, "worker %s: %s", name, plan_text(p, &why));
		return true;
	}
	if (p->w->refused) {
		*reason = "CreateFailed";
		buf_printf(out, "a worker could not be made: %s", p->w->refused);
		return true;
	}
	return false;
}
