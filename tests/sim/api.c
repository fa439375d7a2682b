/* SPDX-License-Identifier: Apache-2.0 */
/* A model of the API server: objects, resourceVersions, merge patches, deletion with grace. */
#include "etjob/names.h"
#include "sim.h"
#include "wire/patch.h"
#include "wire/time.h"

static const char *const plurals[KIND_COUNT] = {
	[SEEN_JOB] = "trainingjobs", [SEEN_SCALEOUT] = "scaleouts", [SEEN_SCALEIN] = "scaleins",
	[SEEN_POD] = "pods",         [SEEN_SERVICE] = "services",   [SEEN_CONFIG] = "configmaps",
	[SEEN_NODE] = "nodes",       [KIND_SECRET] = "secrets",
};

const char *obj_str(const cJSON *obj, const char *key)
{
	return json_get_str(json_get(obj, "metadata"), key, "");
}

static cJSON *meta_of(cJSON *obj)
{
	cJSON *meta = json_need_object(obj, "metadata", NULL);

	sim_need(meta != NULL);
	return meta;
}

static void set_str(cJSON *v, const char *key, const char *text)
{
	sim_need(json_set_str(v, key, text, NULL) == 0);
}

cJSON *api_find(struct sim *s, int kind, const char *ns, const char *name)
{
	for (size_t i = 0; i < s->objs[kind].n; i++) {
		cJSON *o = s->objs[kind].v[i];

		if (str_eq(obj_str(o, "name"), name) && str_eq(obj_str(o, "namespace"), ns))
			return o;
	}
	return NULL;
}

static void remember(struct sim *s, int kind, const cJSON *obj, bool deleted)
{
	struct changes *c = &s->log[kind];

	if (c->n == c->size) {
		c->size = c->size ? c->size * 2 : 64;
		c->v = reallocarray(c->v, c->size, sizeof(*c->v));
		sim_need(c->v != NULL);
	}
	cJSON *copy = json_copy(obj, NULL);
	sim_need(copy != NULL);
	c->v[c->n++] = (struct change){ .obj = copy, .deleted = deleted };
}

static void new_version(struct sim *s, cJSON *obj)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, ++s->rv);
	set_str(meta_of(obj), "resourceVersion", text);
}

cJSON *api_create(struct sim *s, int kind, cJSON *obj)
{
	struct objects *all = &s->objs[kind];
	cJSON *meta = meta_of(obj);
	char text[TIME_TEXT_SIZE];

	if (api_find(s, kind, obj_str(obj, "namespace"), obj_str(obj, "name"))) {
		cJSON_Delete(obj);
		return NULL;
	}
	(void)snprintf(text, sizeof(text), "u%06" PRId64, ++s->uid);
	set_str(meta, "uid", text);
	sim_time(s, text);
	set_str(meta, "creationTimestamp", text);
	new_version(s, obj);
	if (all->n == all->size) {
		all->size = all->size ? all->size * 2 : 16;
		all->v = reallocarray(all->v, all->size, sizeof(*all->v));
		sim_need(all->v != NULL);
	}
	all->v[all->n++] = obj;
	remember(s, kind, obj, false);
	check_created(s, kind, obj);
	return obj;
}

void api_changed(struct sim *s, int kind, cJSON *obj)
{
	new_version(s, obj);
	remember(s, kind, obj, false);
	if (kind == SEEN_POD && pod_ready(obj))
		pod_track(s, obj_str(obj, "uid"))->ready_ever = true;
}

void api_remove(struct sim *s, int kind, cJSON *obj)
{
	struct objects *all = &s->objs[kind];

	new_version(s, obj);
	remember(s, kind, obj, true);
	if (kind == SEEN_POD) {
		struct tracked *t = pod_track(s, obj_str(obj, "uid"));

		t->gone = true;
		if (!t->going_ms)
			t->going_ms = s->now_ms;
		if (str_eq(json_get_str(json_at(obj, "metadata", "labels", NULL), LABEL_ROLE, ""),
			   ROLE_LAUNCHER))
			s->launcher_deaths++;
	}
	for (size_t i = 0; i < all->n; i++) {
		if (all->v[i] != obj)
			continue;
		all->v[i] = all->v[--all->n];
		break;
	}
	cJSON_Delete(obj);
}

void api_delete(struct sim *s, int kind, cJSON *obj, int64_t grace_s)
{
	cJSON *meta = meta_of(obj);
	char text[TIME_TEXT_SIZE];

	if (kind != SEEN_POD || grace_s == 0 || pod_dead(obj) ||
	    !json_get(json_get(obj, "spec"), "nodeName")) {
		api_remove(s, kind, obj);
		return;
	}
	struct tracked *t = pod_track(s, obj_str(obj, "uid"));

	if (!t->going_ms)
		t->going_ms = s->now_ms;
	if (grace_s < 0)
		grace_s = json_get_int(json_get(obj, "spec"), "terminationGracePeriodSeconds", 30);
	int64_t end = s->now_ms + grace_s * 1000, old = 0;

	/* A grace that runs is only ever made shorter. */
	if (time_get(json_get_str(meta, "deletionTimestamp", NULL), &old) &&
	    old <= end + SIM_EPOCH_MS)
		return;
	int64_t keep = s->now_ms;

	s->now_ms = end;
	sim_time(s, text);
	s->now_ms = keep;
	set_str(meta, "deletionTimestamp", text);
	sim_need(json_set_int(meta, "deletionGracePeriodSeconds", grace_s, NULL) == 0);
	api_changed(s, kind, obj);
}

static bool owner_lives(struct sim *s, const cJSON *obj)
{
	const cJSON *o;

	json_each (o, json_at(obj, "metadata", "ownerReferences", NULL)) {
		for (size_t i = 0; i < s->objs[SEEN_JOB].n; i++) {
			if (str_eq(obj_str(s->objs[SEEN_JOB].v[i], "uid"),
				   json_get_str(o, "uid", "")))
				return true;
		}
		return false;
	}
	return true; /* nobody's */
}

void api_collect(struct sim *s)
{
	for (int kind = SEEN_SCALEOUT; kind < KIND_COUNT; kind++) {
		for (size_t i = 0; i < s->objs[kind].n;) {
			cJSON *o = s->objs[kind].v[i];
			size_t n = s->objs[kind].n;

			if (!owner_lives(s, o) &&
			    !json_get(json_get(o, "metadata"), "deletionTimestamp"))
				api_delete(s, kind, o, 5);
			if (n == s->objs[kind].n)
				i++;
		}
	}
}

static int answer_error(cJSON **answer, int code, const char *reason)
{
	cJSON *o = cJSON_CreateObject();

	sim_need(o != NULL);
	set_str(o, "kind", "Status");
	set_str(o, "reason", reason);
	*answer = o;
	return code;
}

static int answer_object(cJSON **answer, const cJSON *obj)
{
	*answer = json_copy(obj, NULL);
	sim_need(*answer != NULL);
	return 200;
}

static int do_patch(struct sim *s, int kind, cJSON *obj, const char *sub, const char *body,
		    cJSON **answer)
{
	cJSON *patch = NULL;
	struct err err = ERR_INIT;

	sim_need(json_parse(body, strlen(body), &patch, &err) == 0);
	const cJSON *meta = json_get(patch, "metadata");
	const char *rv = json_get_str(meta, "resourceVersion", ""),
		   *uid = json_get_str(meta, "uid", "");
	int code = 0;

	if ((rv[0] && !str_eq(rv, obj_str(obj, "resourceVersion"))) ||
	    (uid[0] && !str_eq(uid, obj_str(obj, "uid"))))
		code = answer_error(answer, 409, "Conflict");
	if (code == 0) {
		cJSON *before = json_copy(obj, NULL);

		sim_need(before != NULL);
		json_del(json_get_mut(patch, "metadata"), "resourceVersion");
		json_del(json_get_mut(patch, "metadata"), "uid");
		if (sub[0])
			json_del(patch, "spec");
		/* patch_merge may give back another tree: the members are moved into place. */
		cJSON *merged = json_copy(obj, NULL);

		sim_need(merged != NULL && patch_merge(&merged, patch, &err) == 0);
		while (obj->child)
			cJSON_Delete(cJSON_DetachItemViaPointer(obj, obj->child));
		while (merged->child) {
			cJSON *v = cJSON_DetachItemViaPointer(merged, merged->child);
			AUTO_FREE char *key = strdup(v->string);

			sim_need(key && json_set(obj, key, v, NULL) == 0);
		}
		cJSON_Delete(merged);
		if (!json_equal(before, obj))
			api_changed(s, kind, obj);
		if (kind == SEEN_CONFIG)
			check_config(s, json_get_str(json_get(before, "data"), CONFIG_HOSTFILE, ""),
				     obj);
		else
			check_status(s, kind, before, obj);
		cJSON_Delete(before);
		code = answer_object(answer, obj);
	}
	cJSON_Delete(patch);
	return code;
}

static int do_delete(struct sim *s, int kind, cJSON *obj, const char *body, cJSON **answer)
{
	cJSON *opts = NULL;
	struct err err = ERR_INIT;
	int code;

	sim_need(json_parse(body, strlen(body), &opts, &err) == 0);
	const char *uid = json_get_str(json_get(opts, "preconditions"), "uid", "");

	if (uid[0] && !str_eq(uid, obj_str(obj, "uid"))) {
		code = answer_error(answer, 409, "Conflict");
	} else {
		AUTO_FREE char *ns = strdup(obj_str(obj, "namespace"));
		AUTO_FREE char *name = strdup(obj_str(obj, "name"));

		sim_need(ns && name);
		api_delete(s, kind, obj, json_get_int(opts, "gracePeriodSeconds", -1));
		const cJSON *left = api_find(s, kind, ns, name);

		code = left ? answer_object(answer, left) : answer_error(answer, 200, "");
	}
	cJSON_Delete(opts);
	return code;
}

/* ".../namespaces/NS/PLURAL[/NAME[/SUB]]" */
static int split(const char *path, char ns[64], char name[128], char sub[32])
{
	const char *at = strstr(path, "/namespaces/");
	char plural[64] = "";
	char *const parts[] = { ns, plural, name, sub };
	const size_t sizes[] = { 64, 64, 128, 32 };

	ns[0] = name[0] = sub[0] = '\0';
	if (!at)
		return -1;
	at += strlen("/namespaces/");
	for (size_t i = 0; i < 4 && *at && *at != '?'; i++) {
		size_t n = strcspn(at, "/?");

		sim_need(n < sizes[i]);
		memcpy(parts[i], at, n);
		parts[i][n] = '\0';
		at += n + (at[n] == '/');
	}
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		if (str_eq(plurals[kind], plural))
			return kind;
	}
	return str_eq(plural, "events") ? -2 : -1;
}

int api_request(struct sim *s, const char *method, const char *path, const char *body,
		cJSON **answer)
{
	char ns[64], name[128], sub[32];
	int kind = split(path, ns, name, sub);
	struct err err = ERR_INIT;
	cJSON *obj;

	if (kind == -2)
		return answer_error(answer, 201, "");
	sim_need(kind >= 0);
	if (str_eq(method, "POST")) {
		sim_need(json_parse(body, strlen(body), &obj, &err) == 0);
		set_str(meta_of(obj), "namespace", ns);
		obj = api_create(s, kind, obj);
		if (!obj)
			return answer_error(answer, 409, "AlreadyExists");
		if (kind == SEEN_CONFIG)
			check_config(s, "", obj);
		(void)answer_object(answer, obj);
		return 201;
	}
	obj = api_find(s, kind, ns, name);
	if (!obj)
		return answer_error(answer, 404, "NotFound");
	if (str_eq(method, "GET"))
		return answer_object(answer, obj);
	if (str_eq(method, "PATCH"))
		return do_patch(s, kind, obj, sub, body, answer);
	sim_need(str_eq(method, "DELETE"));
	return do_delete(s, kind, obj, body, answer);
}

void api_release(struct sim *s)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		for (size_t i = 0; i < s->objs[kind].n; i++)
			cJSON_Delete(s->objs[kind].v[i]);
		free(s->objs[kind].v);
		for (size_t i = 0; i < s->log[kind].n; i++)
			cJSON_Delete(s->log[kind].v[i].obj);
		free(s->log[kind].v);
	}
}
