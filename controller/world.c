/* SPDX-License-Identifier: Apache-2.0 */
/* world: one job's world from what observe holds. */
#include "base/limits.h"
#include "controller/observe_int.h"
#include "etjob/names.h"
#include "etjob/podspec.h"
#include "wire/time.h"

#define TAKEN_MOST_MS 60000 /* a taken name that nobody asks for again is forgotten */
#define NEWER_MOST_MS 60000 /* an answer that no informer confirms is dropped after this */

/* obj as an informer has it, or what a write of ours returned where that is newer. */
static const cJSON *newest(const struct rec *r, enum seen kind, const cJSON *obj)
{
	for (const struct newer *n = r->newer; n; n = n->next) {
		if (n->kind == kind && str_eq(n->name, observe_meta(obj, "name")))
			return observe_version(n->obj) > observe_version(obj) ? n->obj : obj;
	}
	return obj;
}

static bool has_name(const struct objs *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++) {
		if (str_eq(observe_meta(o->v[i], "name"), name))
			return true;
	}
	return false;
}

static void expire(struct rec *r, int64_t mono_ms)
{
	for (struct newer **at = &r->newer; *at;) {
		struct newer *n = *at;

		if (mono_ms - n->since_ms < NEWER_MOST_MS) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		observe_newer_free(n);
	}
	for (struct taken **at = &r->taken; *at;) {
		struct taken *t = *at;

		if (mono_ms < t->until_ms + TAKEN_MOST_MS) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		observe_taken_free(t);
	}
}

static void add_blocked(struct world *w, const char *kind, const char *name, bool deleting)
{
	w->blocked[w->nblocked++] =
		(struct blocked){ .kind = kind, .name = name, .deleting = deleting };
}

static void add_pod(struct observe *o, const struct rec *r, const cJSON *obj, struct world *w)
{
	const char *node = json_get_str(json_get(obj, "spec"), "nodeName", "");
	AUTO(buf) struct buf launcher = BUF_INIT(256);
	struct pod pod;

	pod_view(obj, node[0] ? map_get(&o->nodes, node) : NULL, r->name, w->job.uid, &pod);
	if (strs_has(&r->deleted, pod.uid) && !pod.deletion_ms) {
		/* We deleted it and the informer does not know yet. */
		pod.deletion_ms = pod.created_ms ? pod.created_ms : 1;
		pod.going = true;
		pod.ready = false;
	}
	name_launcher(r->name, &launcher);
	bool is_launcher = str_eq(pod.name, buf_text(&launcher));

	if (!pod.ours) {
		if (is_launcher || pod.index >= 0)
			add_blocked(w, "Pod", pod.name, pod.deletion_ms != 0);
	} else if (is_launcher) {
		w->launcher = pod;
	} else if (pod.index >= 0) {
		w->workers[w->nworkers++] = pod;
	}
}

static int by_index(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void fill_pods(struct observe *o, struct rec *r, struct world *w)
{
	for (size_t i = 0; i < r->pods.n; i++)
		add_pod(o, r, newest(r, SEEN_POD, r->pods.v[i]), w);
	for (const struct newer *n = r->newer; n; n = n->next) {
		if (n->kind == SEEN_POD && !has_name(&r->pods, n->name))
			add_pod(o, r, n->obj, w);
	}
	if (w->nworkers)
		qsort(w->workers, w->nworkers, sizeof(*w->workers), by_index);
}

static void fill_scalers(struct rec *r, struct world *w)
{
	for (size_t i = 0; i < r->scalers.n; i++) {
		const cJSON *obj = r->scalers.v[i];
		enum seen kind = str_eq(json_get_str(obj, "kind", ""), KIND_SCALEOUT)
					 ? SEEN_SCALEOUT
					 : SEEN_SCALEIN;

		scaler_view(newest(r, kind, obj), &w->scalers[w->nscalers++]);
	}
	if (w->nscalers)
		qsort(w->scalers, w->nscalers, sizeof(*w->scalers), scaler_order);
}

/* The store's object or a newer answer, if it is the job's; else the name is in other hands. */
static const cJSON *child(struct rec *r, enum seen kind, const cJSON *obj, const char *word,
			  struct world *w)
{
	if (obj) {
		obj = newest(r, kind, obj);
	} else {
		for (const struct newer *n = r->newer; n; n = n->next)
			obj = n->kind == kind ? n->obj : obj;
	}
	if (!obj || podspec_is_ours(&w->job, obj))
		return obj;
	add_blocked(w, word, observe_meta(obj, "name"),
		    observe_meta(obj, "deletionTimestamp")[0] != '\0');
	return NULL;
}

/* Of two jobs of one name, does a come first? */
static bool older(const cJSON *a, const cJSON *b)
{
	int64_t ta = 0, tb = 0;
	bool known = time_get(observe_meta(a, "creationTimestamp"), &ta) &&
		     time_get(observe_meta(b, "creationTimestamp"), &tb);

	if (known && ta != tb)
		return ta < tb;
	return strcmp(observe_meta(a, "uid"), observe_meta(b, "uid")) < 0;
}

static const char *find_rival(const struct observe *o, const struct rec *r, const cJSON *job)
{
	const struct objs *all = o->unique_cluster ? map_get(&o->names, r->name) : NULL;

	for (size_t i = 0; all && i < all->n; i++) {
		const char *ns = observe_meta(all->v[i], "namespace");

		if (!str_eq(ns, r->ns) && older(all->v[i], job))
			return ns;
	}
	return NULL;
}

static int make_room(struct rec *r, struct world *w, struct err *err)
{
	size_t pods = r->pods.n, taken = 2;

	for (const struct newer *n = r->newer; n; n = n->next)
		pods += n->kind == SEEN_POD;
	for (const struct taken *t = r->taken; t; t = t->next)
		taken++;
	w->workers = calloc(pods + 1, sizeof(*w->workers));
	w->scalers = calloc(r->scalers.n + 1, sizeof(*w->scalers));
	w->blocked = calloc(pods + taken, sizeof(*w->blocked));
	if (w->workers && w->scalers && w->blocked)
		return 0;
	world_release(w);
	return err_nomem(err);
}

static void fill_memory(struct rec *r, int64_t mono_ms, struct world *w)
{
	w->group = r->group;
	w->secret = r->secret;
	w->secret_recent = r->secret && mono_ms - r->secret_ms < 60000;
	w->fresh = &r->fresh;
	w->create_after_ms = r->create_after_ms;
	w->refused = r->refused;
	w->launcher_gone = r->launcher_gone;
	w->script_uid = r->script_uid;
	w->script = r->script;
	w->script_tries = r->script_tries;
	w->script_message = r->script_message;
	if (w->launcher.obj && str_eq(r->log_uid, w->launcher.uid)) {
		w->log_known = r->log_known;
		w->log = r->log;
	}
	for (const struct taken *t = r->taken; t; t = t->next) {
		add_blocked(w, t->kind, t->name, t->deleting);
		w->blocked[w->nblocked - 1].retry = mono_ms >= t->until_ms;
	}
}

int observe_world(struct observe *o, struct rec *rec, int64_t mono_ms, struct world *out,
		  struct err *err)
{
	struct world w = WORLD_INIT;

	expire(rec, mono_ms);
	if (make_room(rec, &w, err) < 0)
		return -1;
	w.ns = rec->ns;
	w.name = rec->name;
	w.allow_scripts = o->allow_scripts;
	if (rec->job) {
		const cJSON *job = newest(rec, SEEN_JOB, rec->job);

		job_view(job, &w.job);
		w.rival = find_rival(o, rec, job);
		w.service = child(rec, SEEN_SERVICE, rec->service, "Service", &w);
		w.config = child(rec, SEEN_CONFIG, rec->config, "ConfigMap", &w);
		fill_pods(o, rec, &w);
		fill_memory(rec, mono_ms, &w);
	}
	fill_scalers(rec, &w);
	*out = w;
	return 0;
}

int64_t observe_wake_ms(const struct rec *rec)
{
	int64_t at = INT64_MAX;

	for (const struct newer *n = rec->newer; n; n = n->next) {
		if (n->since_ms + NEWER_MOST_MS < at)
			at = n->since_ms + NEWER_MOST_MS;
	}
	return at;
}
