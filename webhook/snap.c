/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/snap.h"

#include "etjob/names.h"

struct snap_list {
	struct snap_obj **v; /* owned array; the references are those of jobs or keys */
	size_t n, size;
};

#define KEY_MAX 1024 /* bytes: "o/", a namespace, "/", a name */

static void list_free(void *value)
{
	struct snap_list *l = value;

	if (l)
		free(l->v);
	free(l);
}

static void obj_drop(void *value)
{
	snap_obj_free(value);
}

int snap_obj_new(cJSON *json, struct snap_obj **out, struct err *err)
{
	struct snap_obj *o = calloc(1, sizeof(*o));
	const cJSON *meta = json_get(json, "metadata");

	if (!o) {
		cJSON_Delete(json);
		return err_nomem(err);
	}
	atomic_init(&o->refs, 1);
	o->json = json;
	o->ns = json_get_str(meta, "namespace", "");
	o->name = json_get_str(meta, "name", "");
	o->out = str_eq(json_get_str(json, "kind", ""), KIND_SCALEOUT);
	*out = o;
	return 0;
}

struct snap_obj *snap_obj_ref(struct snap_obj *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void snap_obj_free(struct snap_obj *o)
{
	if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
		return;
	cJSON_Delete(o->json);
	free(o);
}

int snap_new(struct snap **out, struct err *err)
{
	struct snap *s = calloc(1, sizeof(*s));

	if (!s)
		return err_nomem(err);
	atomic_init(&s->refs, 1);
	s->jobs = MAP_INIT(obj_drop);
	s->names = MAP_INIT(list_free);
	s->scalers = MAP_INIT(list_free);
	s->keys = MAP_INIT(obj_drop);
	*out = s;
	return 0;
}

struct snap *snap_ref(struct snap *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void snap_free(struct snap *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	map_release(&s->names);
	map_release(&s->scalers);
	map_release(&s->jobs);
	map_release(&s->keys);
	free(s);
}

static int list_add(struct map *m, const char *key, struct snap_obj *o, struct err *err)
{
	struct snap_list *l = map_get(m, key);

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return err_nomem(err);
		if (map_put(m, key, l, err) < 0) {
			free(l);
			return -1;
		}
	}
	if (l->n == l->size) {
		size_t size = l->size ? l->size * 2 : 1;
		struct snap_obj **v = reallocarray(l->v, size, sizeof(struct snap_obj *));

		if (!v)
			return err_nomem(err);
		l->v = v;
		l->size = size;
	}
	l->v[l->n++] = o;
	return 0;
}

/* False when it does not fit: then no such object can exist. */
static bool key_make(char out[KEY_MAX], const char *prefix, const char *ns, const char *name)
{
	int n = snprintf(out, KEY_MAX, "%s%s/%s", prefix, ns, name);

	return n > 0 && n < KEY_MAX;
}

static int own(struct map *m, const char *key, struct snap_obj *o, struct err *err)
{
	if (map_put(m, key, snap_obj_ref(o), err) == 0)
		return 0;
	snap_obj_free(o);
	return -1;
}

int snap_add_job(struct snap *s, struct snap_obj *o, struct err *err)
{
	char key[KEY_MAX];

	if (!key_make(key, "", o->ns, o->name))
		return 0;
	if (own(&s->jobs, key, o, err) < 0)
		return -1;
	return list_add(&s->names, o->name, o, err);
}

int snap_add_scaler(struct snap *s, struct snap_obj *o, struct err *err)
{
	struct scaler view;
	char key[KEY_MAX];

	scaler_view(o->json, &view);
	if (!key_make(key, o->out ? "o/" : "i/", o->ns, o->name))
		return 0;
	if (own(&s->keys, key, o, err) < 0)
		return -1;
	if (scaler_finished(&view) || !key_make(key, "", o->ns, view.job))
		return 0;
	return list_add(&s->scalers, key, o, err);
}

const cJSON *snap_job(const struct snap *s, const char *ns, const char *name)
{
	char key[KEY_MAX];
	const struct snap_obj *o = NULL;

	if (key_make(key, "", ns, name))
		o = map_get(&s->jobs, key);
	return o ? o->json : NULL;
}

const char *snap_holder(const struct snap *s, const char *name, const char *ns)
{
	const struct snap_list *l = map_get(&s->names, name);
	const char *found = NULL;

	for (size_t i = 0; l && i < l->n; i++)
		if (!str_eq(l->v[i]->ns, ns) && (!found || strcmp(l->v[i]->ns, found) < 0))
			found = l->v[i]->ns;
	return found;
}

bool snap_has_scaler(const struct snap *s, bool out, const char *ns, const char *name)
{
	char key[KEY_MAX];

	return key_make(key, out ? "o/" : "i/", ns, name) && map_has(&s->keys, key);
}

size_t snap_pending(const struct snap *s, const char *ns, const char *job, struct scaler *v,
		    size_t max)
{
	char key[KEY_MAX];
	const struct snap_list *l = NULL;

	if (key_make(key, "", ns, job))
		l = map_get(&s->scalers, key);
	for (size_t i = 0; l && i < l->n && i < max; i++)
		scaler_view(l->v[i]->json, &v[i]);
	return l ? l->n : 0;
}

int snap_cell_init(struct snap_cell *c, struct err *err)
{
	if (pthread_mutex_init(&c->lock, NULL) != 0)
		return err_nomem(err);
	c->snap = NULL;
	atomic_init(&c->heard_ms, -1);
	atomic_init(&c->generation, 0);
	return 0;
}

void snap_cell_release(struct snap_cell *c)
{
	snap_free(c->snap);
	c->snap = NULL;
	pthread_mutex_destroy(&c->lock);
}

void snap_cell_set(struct snap_cell *c, struct snap *s)
{
	struct snap *old;

	pthread_mutex_lock(&c->lock);
	old = c->snap;
	c->snap = s;
	pthread_mutex_unlock(&c->lock);
	atomic_fetch_add(&c->generation, 1);
	snap_free(old);
}

struct snap *snap_cell_get(struct snap_cell *c)
{
	struct snap *s;

	pthread_mutex_lock(&c->lock);
	s = c->snap ? snap_ref(c->snap) : NULL;
	pthread_mutex_unlock(&c->lock);
	return s;
}

static void keep_only(cJSON *object, const char *const *keys, size_t n)
{
	cJSON *next;

	for (cJSON *item = object ? object->child : NULL; item; item = next) {
		bool keep = false;

		next = item->next;
		for (size_t i = 0; i < n; i++)
			keep = keep || str_eq(item->string, keys[i]);
		if (!keep)
			cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
	}
}

void snap_trim(cJSON *obj)
{
	static const char *const top[] = { "apiVersion", "kind", "metadata", "spec", "status" };
	static const char *const meta[] = { "name",
					    "namespace",
					    "uid",
					    "resourceVersion",
					    "creationTimestamp",
					    "deletionTimestamp" };
	static const char *const status[] = { "phase",          "replicas",     "targetWorkers",
					      "currentWorkers", "addPods",      "toDeletePods",
					      "conditions",     "currentScaler" };
	static const char *const roles[] = { "replicas", "minReplicas", "maxReplicas" };
	cJSON *specs = json_at_mut(obj, "spec", "etReplicaSpecs", NULL);

	keep_only(obj, top, ARRAY_LEN(top));
	keep_only(json_get_mut(obj, "metadata"), meta, ARRAY_LEN(meta));
	keep_only(json_get_mut(obj, "status"), status, ARRAY_LEN(status));
	keep_only(json_get_mut(specs, "launcher"), roles, ARRAY_LEN(roles));
	keep_only(json_get_mut(specs, "worker"), roles, ARRAY_LEN(roles));
	json_del(json_get_mut(obj, "spec"), "env");
	json_del(json_get_mut(obj, "spec"), "script");
}
