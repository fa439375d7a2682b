/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/observe.h"

#include "base/limits.h"
#include "controller/observe_int.h"
#include "controller/trim.h"
#include "etjob/names.h"
#include "etjob/podspec.h"
#include "wire/time.h"

void observe_newer_free(struct newer *n)
{
	free(n->name);
	cJSON_Delete(n->obj);
	free(n);
}

void observe_taken_free(struct taken *t)
{
	free(t->name);
	free(t);
}

/* What was remembered about a job of an earlier UID is not true of this one. */
static void rec_forget(struct rec *r)
{
	while (r->taken) {
		struct taken *t = r->taken;

		r->taken = t->next;
		observe_taken_free(t);
	}
	strs_release(&r->fresh);
	free(TAKE(r->uid));
	free(TAKE(r->refused));
	free(TAKE(r->log));
	free(TAKE(r->log_uid));
	r->group = r->secret = r->launcher_gone = r->log_known = false;
	r->create_after_ms = r->failures = r->failed_ms = r->errors = 0;
}

static void rec_free(void *value)
{
	struct rec *r = value;

	if (!r)
		return;
	rec_forget(r);
	while (r->newer) {
		struct newer *n = r->newer;

		r->newer = n->next;
		observe_newer_free(n);
	}
	strs_release(&r->gone);
	strs_release(&r->deleted);
	free(r->pods.v);
	free(r->scalers.v);
	free(r->key);
	free(r->ns);
	free(r->name);
	free(r);
}

static void objs_free(void *value)
{
	struct objs *o = value;

	if (o)
		free(o->v);
	free(o);
}

void observe_init(struct observe *o)
{
	*o = (struct observe){ .recs = MAP_INIT(rec_free),
			       .names = MAP_INIT(objs_free),
			       .nodes = MAP_INIT(NULL),
			       .unique_cluster = true };
}

void observe_release(struct observe *o)
{
	map_release(&o->recs);
	map_release(&o->names);
	map_release(&o->nodes);
}

const char *observe_meta(const cJSON *obj, const char *key)
{
	return json_get_str(json_get(obj, "metadata"), key, "");
}

static bool same(const cJSON *a, const cJSON *b)
{
	return str_eq(observe_meta(a, "name"), observe_meta(b, "name")) &&
	       str_eq(observe_meta(a, "namespace"), observe_meta(b, "namespace")) &&
	       str_eq(json_get_str(a, "kind", ""), json_get_str(b, "kind", ""));
}

/* Puts now in the place of old; either may be NULL. */
static int objs_change(struct objs *o, const cJSON *old, const cJSON *now, struct err *err)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->v[i] != old && !(now && same(o->v[i], now)))
			continue;
		if (now) {
			o->v[i] = now;
			return 0;
		}
		o->v[i] = o->v[--o->n];
		return 0;
	}
	if (!now)
		return 0;
	if (o->n == o->size) {
		size_t size = o->size ? o->size * 2 : 4;
		const cJSON **v = reallocarray(o->v, size, sizeof(*v));

		if (!v)
			return err_nomem(err);
		o->v = v;
		o->size = size;
	}
	o->v[o->n++] = now;
	return 0;
}

static struct rec *rec_need(struct observe *o, const char *ns, const char *name, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

	buf_printf(&key, "%s/%s", ns, name);
	if (buf_check(&key, err) < 0)
		return NULL;
	struct rec *r = map_get(&o->recs, buf_text(&key));
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r) {
		(void)err_nomem(err); /* the NULL says it */
		return NULL;
	}
	if (str_copy(buf_text(&key), &r->key, err) < 0 || str_copy(ns, &r->ns, err) < 0 ||
	    str_copy(name, &r->name, err) < 0 || map_put(&o->recs, buf_text(&key), r, err) < 0) {
		rec_free(r);
		return NULL;
	}
	return r;
}

static void mark(struct observe *o, struct rec *r)
{
	if (o->on_dirty)
		o->on_dirty(o->arg, r);
}

/* "" when the object belongs to no job. */
static const char *job_of(enum seen kind, const cJSON *obj)
{
	switch (kind) {
	case SEEN_JOB:
		return observe_meta(obj, "name");
	case SEEN_SCALEOUT:
	case SEEN_SCALEIN:
		return json_get_str(json_at(obj, "spec", "selector", NULL), "name", "");
	case SEEN_POD:
	case SEEN_SERVICE:
	case SEEN_CONFIG:
	case SEEN_NODE:
		break;
	}
	return json_get_str(json_at(obj, "metadata", "labels", NULL), LABEL_JOB, "");
}

int64_t observe_version(const cJSON *obj)
{
	return strtoll(observe_meta(obj, "resourceVersion"), NULL, 10); /* digits from the server */
}

/* An informer delivered this: what we held because it was newer may go. */
static void settle_newer(struct rec *r, enum seen kind, const cJSON *old, const cJSON *now)
{
	const cJSON *obj = now ? now : old;

	for (struct newer **at = &r->newer; *at;) {
		struct newer *n = *at;
		bool same_name = n->kind == kind && str_eq(n->name, observe_meta(obj, "name"));
		bool over = same_name &&
			    (now ? observe_version(now) >= observe_version(n->obj)
				 : str_eq(observe_meta(old, "uid"), observe_meta(n->obj, "uid")));

		if (!over) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		observe_newer_free(n);
	}
}

/* All jobs of one name in all namespaces; a change of one concerns the others. */
static int change_name(struct observe *o, const cJSON *old, const cJSON *now, struct err *err)
{
	const char *name = observe_meta(now ? now : old, "name");
	struct objs *all = map_get(&o->names, name);

	if (!all) {
		all = calloc(1, sizeof(*all));
		if (!all)
			return err_nomem(err);
		if (map_put(&o->names, name, all, err) < 0) {
			free(all);
			return -1;
		}
	}
	if (objs_change(all, old, now, err) < 0)
		return -1;
	for (size_t i = 0; i < all->n && (!old || !now); i++) {
		AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

		buf_printf(&key, "%s/%s", observe_meta(all->v[i], "namespace"), name);
		struct rec *other = map_get(&o->recs, buf_text(&key));

		if (other)
			mark(o, other);
	}
	if (!all->n)
		(void)map_del(&o->names, name);
	return 0;
}

static int change_job(struct observe *o, struct rec *r, const cJSON *old, const cJSON *now,
		      struct err *err)
{
	r->job = now;
	if (now && !str_eq(r->uid, observe_meta(now, "uid"))) {
		rec_forget(r);
		if (str_copy(observe_meta(now, "uid"), &r->uid, err) < 0)
			return -1;
	}
	return change_name(o, old, now, err);
}

static int change_node(struct observe *o, const cJSON *old, const cJSON *now, struct err *err)
{
	const char *name = observe_meta(now ? now : old, "name");
	struct map_entry *e;

	if (now && map_put(&o->nodes, name, (void *)(uintptr_t)now, err) < 0)
		return -1;
	if (!now)
		(void)map_take(&o->nodes, name);
	if (old && now &&
	    json_equal(json_at(old, "spec", "taints", NULL), json_at(now, "spec", "taints", NULL)))
		return 0;
	map_each (&o->recs, e) {
		struct rec *r = e->value;

		for (size_t i = 0; i < r->pods.n; i++) {
			if (str_eq(json_get_str(json_get(r->pods.v[i], "spec"), "nodeName", ""),
				   name)) {
				mark(o, r);
				break;
			}
		}
	}
	return 0;
}

static void strs_drop(struct strs *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!str_eq(s->v[i], text))
			continue;
		free(s->v[i]);
		s->v[i] = s->v[--s->n];
		return;
	}
}

static int change_child(struct rec *r, enum seen kind, const cJSON *old, const cJSON *now,
			struct err *err)
{
	switch (kind) {
	case SEEN_SCALEOUT:
	case SEEN_SCALEIN:
		return objs_change(&r->scalers, old, now, err);
	case SEEN_POD:
		if (!now)
			strs_drop(&r->deleted, observe_meta(old, "uid"));
		return objs_change(&r->pods, old, now, err);
	case SEEN_SERVICE:
		r->service = now;
		return 0;
	case SEEN_CONFIG:
		r->config = now;
		return 0;
	case SEEN_JOB:
	case SEEN_NODE:
		break;
	}
	return 0;
}

int observe_change(struct observe *o, enum seen kind, const cJSON *old, const cJSON *now,
		   struct err *err)
{
	const cJSON *obj = now ? now : old;
	const char *job;
	struct rec *r;

	if (kind == SEEN_NODE)
		return change_node(o, old, now, err);
	job = job_of(kind, obj);
	/* A label or a selector that changed: to the old job it looks deleted. */
	if (old && now && !str_eq(job_of(kind, old), job)) {
		if (observe_change(o, kind, old, NULL, err) < 0)
			return -1;
		old = NULL;
	}
	if (!job[0])
		return 0;
	r = rec_need(o, observe_meta(obj, "namespace"), job, err);
	if (!r)
		return -1;
	settle_newer(r, kind, old, now);
	if (r->busy && old &&
	    (!now || !str_eq(observe_meta(old, "uid"), observe_meta(now, "uid"))) &&
	    strs_add(&r->gone, observe_meta(old, "uid"), err) < 0)
		return -1;
	if ((kind == SEEN_JOB ? change_job(o, r, old, now, err)
			      : change_child(r, kind, old, now, err)) < 0)
		return -1;
	mark(o, r);
	return 0;
}

int observe_written(struct rec *rec, enum seen kind, cJSON *obj, int64_t mono_ms, struct err *err)
{
	struct newer *n;

	if (strs_has(&rec->gone, observe_meta(obj, "uid"))) {
		cJSON_Delete(obj);
		return 0;
	}
	trim_for(kind)(obj);
	for (n = rec->newer; n; n = n->next) {
		if (n->kind != kind || !str_eq(n->name, observe_meta(obj, "name")))
			continue;
		if (observe_version(obj) >= observe_version(n->obj)) {
			cJSON_Delete(n->obj);
			n->obj = obj;
			n->since_ms = mono_ms;
		} else {
			cJSON_Delete(obj);
		}
		return 0;
	}
	n = calloc(1, sizeof(*n));
	if (!n || str_copy(observe_meta(obj, "name"), &n->name, err) < 0) {
		free(n);
		cJSON_Delete(obj);
		return err_nomem(err);
	}
	n->kind = kind;
	n->obj = obj;
	n->since_ms = mono_ms;
	n->next = rec->newer;
	rec->newer = n;
	return 0;
}

int observe_deleted(struct rec *rec, const char *uid, struct err *err)
{
	if (strs_has(&rec->gone, uid) || strs_has(&rec->deleted, uid))
		return 0;
	return strs_add(&rec->deleted, uid, err);
}

int observe_taken(struct rec *rec, const char *kind, const char *name, bool deleting,
		  int64_t until_ms, struct err *err)
{
	struct taken *t;

	for (t = rec->taken; t; t = t->next) {
		if (str_eq(t->kind, kind) && str_eq(t->name, name)) {
			t->deleting = deleting;
			t->until_ms = until_ms;
			return 0;
		}
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	if (str_copy(name, &t->name, err) < 0) {
		free(t);
		return -1;
	}
	t->kind = kind;
	t->deleting = deleting;
	t->until_ms = until_ms;
	t->next = rec->taken;
	rec->taken = t;
	return 0;
}

void observe_free(struct rec *rec, const char *kind, const char *name)
{
	for (struct taken **at = &rec->taken; *at; at = &(*at)->next) {
		struct taken *t = *at;

		if (!str_eq(t->kind, kind) || !str_eq(t->name, name))
			continue;
		*at = t->next;
		observe_taken_free(t);
		return;
	}
}

void observe_quiet(struct rec *rec)
{
	strs_release(&rec->gone);
}

bool observe_forget(struct observe *o, struct rec *rec)
{
	if (rec->busy || rec->dirty || rec->job || rec->pods.n || rec->scalers.n || rec->service ||
	    rec->config)
		return false;
	return map_del(&o->recs, rec->key);
}
