/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/reserve.h"

#include <pthread.h>

#include "webhook/arena.h"

struct entry {
	enum reserve_kind kind;
	char *ns, *name;
	cJSON *obj; /* owned, from malloc; NULL for jobs */
	int64_t until_ms;
	struct entry *next; /* in order of until_ms */
};

struct reserve {
	const struct clock *clock;
	pthread_mutex_t lock;
	struct entry *first, *last; /* owned; in the order in which they end */
	size_t count;
};

static void entry_free(struct entry *e)
{
	cJSON_Delete(e->obj);
	free(e->ns);
	free(e->name);
	free(e);
}

int reserve_new(const struct clock *clock, struct reserve **out, struct err *err)
{
	struct reserve *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(err);
	r->clock = clock;
	if (pthread_mutex_init(&r->lock, NULL) != 0) {
		free(r);
		return err_nomem(err);
	}
	*out = r;
	return 0;
}

static void drop_first(struct reserve *r)
{
	struct entry *e = r->first;

	r->first = e->next;
	if (!r->first)
		r->last = NULL;
	r->count--;
	entry_free(e);
}

void reserve_free(struct reserve *r)
{
	if (!r)
		return;
	while (r->first)
		drop_first(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void reserve_lock(struct reserve *r)
{
	int64_t now;

	pthread_mutex_lock(&r->lock);
	now = clock_mono_ms(r->clock);
	while (r->first && r->first->until_ms <= now)
		drop_first(r);
}

void reserve_unlock(struct reserve *r)
{
	pthread_mutex_unlock(&r->lock);
}

static bool entry_is(const struct entry *e, enum reserve_kind kind, const char *ns,
		     const char *name)
{
	return e->kind == kind && str_eq(e->name, name) && str_eq(e->ns, ns);
}

const char *reserve_holder(const struct reserve *r, const char *name, const char *ns)
{
	for (const struct entry *e = r->first; e; e = e->next)
		if (e->kind == RESERVE_JOB && str_eq(e->name, name) && !str_eq(e->ns, ns))
			return e->ns;
	return NULL;
}

bool reserve_has(const struct reserve *r, enum reserve_kind kind, const char *ns, const char *name)
{
	for (const struct entry *e = r->first; e; e = e->next)
		if (entry_is(e, kind, ns, name))
			return true;
	return false;
}

size_t reserve_pending(const struct reserve *r, const struct snap *snap, const char *ns,
		       const char *job, struct scaler *v, size_t max)
{
	size_t n = 0;

	for (const struct entry *e = r->first; e; e = e->next) {
		struct scaler view;

		if (e->kind == RESERVE_JOB || !str_eq(e->ns, ns) ||
		    snap_has_scaler(snap, e->kind == RESERVE_SCALEOUT, ns, e->name))
			continue;
		scaler_view(e->obj, &view);
		if (!str_eq(view.job, job))
			continue;
		if (n < max)
			v[n] = view;
		n++;
	}
	return n;
}

/* Takes the entry out of the list, or NULL. */
static struct entry *take(struct reserve *r, enum reserve_kind kind, const char *ns,
			  const char *name)
{
	struct entry *prev = NULL;

	for (struct entry *e = r->first; e; prev = e, e = e->next) {
		if (!entry_is(e, kind, ns, name))
			continue;
		if (prev)
			prev->next = e->next;
		else
			r->first = e->next;
		if (r->last == e)
			r->last = prev;
		r->count--;
		e->next = NULL;
		return e;
	}
	return NULL;
}

static int entry_fill(struct entry *e, const char *ns, const char *name, const cJSON *obj,
		      struct err *err)
{
	if (str_copy(ns, &e->ns, err) < 0 || str_copy(name, &e->name, err) < 0)
		return -1;
	if (e->kind == RESERVE_JOB)
		return 0;
	e->obj = json_copy(obj, err);
	if (!e->obj)
		return -1;
	snap_trim(e->obj);
	return 0;
}

int reserve_put(struct reserve *r, enum reserve_kind kind, const char *ns, const char *name,
		const cJSON *obj, struct err *err)
{
	struct entry *old = take(r, kind, ns, name);
	struct entry *e = calloc(1, sizeof(*e));
	struct arena *arena = arena_pause(); /* it outlives the review */
	int rc = -1;

	if (old)
		entry_free(old);
	if (!e) {
		err_nomem(err);
	} else {
		e->kind = kind;
		rc = entry_fill(e, ns, name, obj, err);
		if (rc < 0)
			entry_free(e);
	}
	arena_resume(arena);
	if (rc < 0)
		return -1;
	e->until_ms = clock_mono_ms(r->clock) + RESERVE_MS;
	if (r->last)
		r->last->next = e;
	else
		r->first = e;
	r->last = e;
	if (++r->count > RESERVE_MAX)
		drop_first(r);
	return 0;
}

void reserve_seen(struct reserve *r, enum reserve_kind kind, const char *ns, const char *name)
{
	struct entry *e;

	reserve_lock(r);
	e = take(r, kind, ns, name);
	reserve_unlock(r);
	if (e)
		entry_free(e);
}

size_t reserve_count(struct reserve *r)
{
	size_t n;

	reserve_lock(r);
	n = r->count;
	reserve_unlock(r);
	return n;
}
