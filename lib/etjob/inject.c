/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/inject.h"

#include "base/limits.h"
#include "base/num.h"
#include "etjob/names.h"

/* The variables, in the order in which they are added: the same order each time keeps
 * `kubectl diff` empty. */
enum { ENV_WORKERS, ENV_GPUS, ENV_MIN, ENV_MAX, ENV_COUNT };
static const char *const env_names[ENV_COUNT] = { "workers", "gpus", "minWorkers", "maxWorkers" };
static const char *const roles[] = { ROLE_LAUNCHER, ROLE_WORKER };

struct values {
	char text[ENV_COUNT][24]; /* an int64 has at most 20 characters */
};

struct injection {
	const struct job *job;
	struct values now, before;
	bool has_before;
	const struct job *old; /* where has_before */
	const char *stale;     /* of the container at hand: its old `workers`, see kept_workers() */
	struct patch *patch;
	struct strs *warnings; /* may be NULL */
	struct err *err;
};

bool inject_is_env(const char *name)
{
	for (size_t i = 0; i < ENV_COUNT; i++) {
		if (str_eq(name, env_names[i]))
			return true;
	}
	return false;
}

static void values_of(const struct job *j, struct values *out)
{
	const int64_t n[ENV_COUNT] = {
		[ENV_WORKERS] = j->replicas,
		[ENV_GPUS] = j->gpus,
		[ENV_MIN] = j->min,
		[ENV_MAX] = j->max_given ? j->max : WORKERS_UNBOUNDED,
	};

	for (size_t i = 0; i < ENV_COUNT; i++)
		(void)snprintf(out->text[i], sizeof(out->text[i]), "%" PRId64, n[i]); /* fits */
}

static cJSON *new_env(const char *name, const char *value, struct err *err)
{
	AUTO_JSON cJSON *entry = cJSON_CreateObject();

	if (!entry) {
		(void)err_nomem(err);
		return NULL;
	}
	if (json_set_str(entry, "name", name, err) < 0 ||
	    json_set_str(entry, "value", value, err) < 0)
		return NULL;
	return TAKE(entry);
}

/* One op: `add` of value at pointer plus suffix. Takes value, which may be NULL (err is set). */
static int add_at(struct injection *in, const char *pointer, const char *suffix, cJSON *value)
{
	AUTO(buf) struct buf at = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *owned = value;

	if (!owned)
		return -1;
	buf_printf(&at, "%s%s", pointer, suffix);
	if (buf_check(&at, in->err) < 0)
		return -1;
	return patch_add(in->patch, buf_text(&at), TAKE(owned), in->err);
}

/* What a variable gets where it is absent. */
static const char *value_of(const struct injection *in, size_t which)
{
	return which == ENV_WORKERS && in->stale ? in->stale : in->now.text[which];
}

/* A whole env where the container has none. */
static int add_env_list(struct injection *in, const char *container)
{
	AUTO_JSON cJSON *list = cJSON_CreateArray();

	if (!list)
		return err_nomem(in->err);
	for (size_t i = 0; i < ENV_COUNT; i++) {
		cJSON *entry = new_env(env_names[i], value_of(in, i), in->err);

		if (!entry || json_append(list, entry, in->err) < 0)
			return -1;
	}
	return add_at(in, container, "/env", TAKE(list));
}

/* An entry that is there: replaced when it still says what the old spec gave. */
static int follow_env(struct injection *in, const char *container, size_t index, const cJSON *entry,
		      size_t which)
{
	const char *value = json_get_str(entry, "value", NULL);
	AUTO(buf) struct buf at = BUF_INIT(LIMIT_TEXT);
	cJSON *text;

	if (!in->has_before || !value || strcmp(value, in->before.text[which]) != 0 ||
	    strcmp(value, in->now.text[which]) == 0)
		return 0;
	buf_printf(&at, "%s/env/%zu/value", container, index);
	if (buf_check(&at, in->err) < 0)
		return -1;
	text = cJSON_CreateString(in->now.text[which]);
	if (!text)
		return err_nomem(in->err);
	return patch_replace(in->patch, buf_text(&at), text, in->err);
}

static int inject_env(struct injection *in, const cJSON *container, const char *pointer)
{
	const cJSON *env = json_get(container, "env");
	bool seen[ENV_COUNT] = { false };
	const cJSON *entry;
	size_t index = 0;

	if (!env)
		return add_env_list(in, pointer);
	if (!cJSON_IsArray(env))
		return 0; /* validate refuses it */
	json_each (entry, env) {
		const char *name = json_get_str(entry, "name", NULL);

		for (size_t i = 0; i < ENV_COUNT; i++) {
			if (!str_eq(name, env_names[i]) || seen[i])
				continue;
			seen[i] = true;
			if (follow_env(in, pointer, index, entry, i) < 0)
				return -1;
		}
		index++;
	}
	for (size_t i = 0; i < ENV_COUNT; i++) {
		if (!seen[i] && add_at(in, pointer, "/env/-",
				       new_env(env_names[i], value_of(in, i), in->err)) < 0)
			return -1;
	}
	return 0;
}

static const cJSON *named(const cJSON *list, const char *name)
{
	const cJSON *item;

	json_each (item, list) {
		if (str_eq(json_get_str(item, "name", NULL), name))
			return item;
	}
	return NULL;
}

/*
 * A client-side apply drops what was injected, and it comes back. Where replicas was changed
 * through /scale, the stored `workers` is older than replicas, and must come back as it was: an
 * apply that changes nothing changes nothing. NULL where this request itself changes replicas.
 */
static const char *kept_workers(const struct injection *in, const char *role,
				const cJSON *container)
{
	if (!in->has_before || strcmp(in->before.text[ENV_WORKERS], in->now.text[ENV_WORKERS]) != 0)
		return NULL;
	const cJSON *template_ =
		str_eq(role, ROLE_LAUNCHER) ? in->old->launcher_template : in->old->worker_template;
	const cJSON *old = named(json_at(template_, "spec", "containers", NULL),
				 json_get_str(container, "name", NULL));

	return json_get_str(named(json_get(old, "env"), env_names[ENV_WORKERS]), "value", NULL);
}

static int inject_envs(struct injection *in, const cJSON *template_, const char *role)
{
	const cJSON *container;
	size_t index = 0;

	json_each (container, json_at(template_, "spec", "containers", NULL)) {
		AUTO(buf) struct buf pointer = BUF_INIT(LIMIT_TEXT);

		buf_printf(&pointer, "/spec/etReplicaSpecs/%s/template/spec/containers/%zu", role,
			   index++);
		if (buf_check(&pointer, in->err) < 0)
			return -1;
		in->stale = kept_workers(in, role, container);
		if (cJSON_IsObject(container) && inject_env(in, container, buf_text(&pointer)) < 0)
			return -1;
	}
	return 0;
}

/* "/etc/edl/" is "/etc/edl". */
static bool is_config_dir(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len == strlen(CONFIG_DIR) && strncmp(path, CONFIG_DIR, len) == 0;
}

static const cJSON *mount_at_config_dir(const cJSON *container)
{
	const cJSON *m;

	json_each (m, json_get(container, "volumeMounts")) {
		if (is_config_dir(json_get_str(m, "mountPath", NULL)))
			return m;
	}
	return NULL;
}

static bool is_config_volume(const char *job, const cJSON *volume)
{
	const char *map = json_get_str(json_get(volume, "configMap"), "name", NULL);
	size_t len = strlen(job);

	return map && strncmp(map, job, len) == 0 && strcmp(map + len, "-config") == 0;
}

static cJSON *new_mount(struct err *err)
{
	AUTO_JSON cJSON *m = cJSON_CreateObject();

	if (!m) {
		(void)err_nomem(err);
		return NULL;
	}
	if (json_set_str(m, "name", CONFIG_VOLUME, err) < 0 ||
	    json_set_str(m, "mountPath", CONFIG_DIR, err) < 0 ||
	    json_set_bool(m, "readOnly", true, err) < 0)
		return NULL;
	return TAKE(m);
}

static cJSON *new_volume(const char *job, struct err *err)
{
	AUTO_JSON cJSON *v = cJSON_CreateObject();
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	cJSON *map;

	if (!v) {
		(void)err_nomem(err);
		return NULL;
	}
	name_config(job, &name);
	if (buf_check(&name, err) < 0 || json_set_str(v, "name", CONFIG_VOLUME, err) < 0)
		return NULL;
	map = json_need_object(v, "configMap", err);
	if (!map || json_set_str(map, "name", buf_text(&name), err) < 0 ||
	    json_set_int(map, "defaultMode", 0755, err) < 0)
		return NULL;
	return TAKE(v);
}

/* Appends item to the list `key` of the object at pointer, which is made where absent. */
static int add_to_list(struct injection *in, const cJSON *parent, const char *pointer,
		       const char *key, cJSON *item)
{
	AUTO_JSON cJSON *owned = item;
	AUTO(buf) struct buf suffix = BUF_INIT(LIMIT_TEXT);
	bool there = json_get(parent, key) != NULL;

	if (!owned)
		return -1;
	buf_printf(&suffix, "/%s%s", key, there ? "/-" : "");
	if (buf_check(&suffix, in->err) < 0)
		return -1;
	if (!there) {
		AUTO_JSON cJSON *list = cJSON_CreateArray();

		if (!list)
			return err_nomem(in->err);
		if (json_append(list, TAKE(owned), in->err) < 0)
			return -1;
		owned = TAKE(list);
	}
	return add_at(in, pointer, buf_text(&suffix), TAKE(owned));
}

static int warn(struct injection *in, const char *text)
{
	if (!in->warnings)
		return 0;
	return strs_add(in->warnings, text, in->err);
}

static bool list_or_absent(const cJSON *v)
{
	return !v || cJSON_IsArray(v);
}

static int inject_mount(struct injection *in)
{
	static const char pod[] = "/spec/etReplicaSpecs/launcher/template/spec";
	static const char first[] = "/spec/etReplicaSpecs/launcher/template/spec/containers/0";
	const cJSON *spec = json_get(in->job->launcher_template, "spec");
	const cJSON *container = json_index(json_get(spec, "containers"), 0);
	const cJSON *volumes = json_get(spec, "volumes");

	if (!cJSON_IsObject(container) || !list_or_absent(volumes) ||
	    !list_or_absent(json_get(container, "volumeMounts")))
		return 0; /* validate refuses it */
	const cJSON *mount = mount_at_config_dir(container);
	const cJSON *volume = named(volumes, CONFIG_VOLUME);

	if (volume && !is_config_volume(in->job->name, volume))
		return warn(in, "spec.etReplicaSpecs.launcher.template.spec.volumes: " CONFIG_VOLUME
				" has a source of your own: the host list is not mounted, rename "
				"the volume to get it at " CONFIG_DIR);
	if (mount && !str_eq(json_get_str(mount, "name", NULL), CONFIG_VOLUME))
		return warn(in, "spec.etReplicaSpecs.launcher.template.spec.containers[0]."
				"volumeMounts: " CONFIG_DIR " has a volume of your own: the host "
				"list is not mounted, move the volume to get it");
	if (!volume &&
	    add_to_list(in, spec, pod, "volumes", new_volume(in->job->name, in->err)) < 0)
		return -1;
	if (!mount && add_to_list(in, container, first, "volumeMounts", new_mount(in->err)) < 0)
		return -1;
	return 0;
}

bool inject_wanted(const cJSON *obj)
{
	const cJSON *annotations = json_at(obj, "metadata", "annotations", NULL);
	struct job j;

	job_view(obj, &j);
	return !job_finished(&j) && !j.deleting &&
	       !str_eq(json_get_str(annotations, ANNOTATION_INJECT, NULL), "disabled");
}

int inject_patch(const cJSON *obj, const cJSON *old, const struct inject_opts *opts,
		 struct patch *patch, struct strs *warnings, struct err *err)
{
	struct job now, before;
	struct injection in = { .job = &now, .patch = patch, .warnings = warnings, .err = err };

	if (!opts->always && !inject_wanted(obj))
		return 0;
	job_view(obj, &now);
	values_of(&now, &in.now);
	if (old) {
		job_view(old, &before);
		values_of(&before, &in.before);
		in.has_before = true;
		in.old = &before;
	}
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		if (inject_envs(&in, i == 0 ? now.launcher_template : now.worker_template,
				roles[i]) < 0)
			return -1;
	}
	/* With generateName there is no name yet: the controller adds the volume to the pod. */
	if (opts->mount && now.name[0])
		return inject_mount(&in);
	return 0;
}

int inject_apply(cJSON **obj, const cJSON *old, const struct inject_opts *opts, struct err *err)
{
	AUTO(patch) struct patch patch = PATCH_INIT;

	if (inject_patch(*obj, old, opts, &patch, NULL, err) < 0)
		return -1;
	return patch_len(&patch) ? patch_apply(patch.ops, obj, err) : 0;
}

/* --- the other way --------------------------------------------------------- */

static bool is_injected_env(const cJSON *entry)
{
	const char *value = json_get_str(entry, "value", NULL);
	int64_t n;

	return inject_is_env(json_get_str(entry, "name", NULL)) && value &&
	       num_parse(value, strlen(value), INT64_MIN, INT64_MAX, &n, NULL) == 0;
}

/* Removes items for which drop says so; an empty list goes altogether. */
static void filter(cJSON *parent, const char *key, bool (*drop)(const cJSON *item))
{
	cJSON *list = json_get_mut(parent, key);

	if (!cJSON_IsArray(list))
		return;
	for (cJSON *item = list->child, *next; item; item = next) {
		next = item->next;
		if (drop(item))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
	}
	if (!list->child)
		json_del(parent, key);
}

static bool is_injected_mount(const cJSON *m)
{
	return str_eq(json_get_str(m, "name", NULL), CONFIG_VOLUME) &&
	       is_config_dir(json_get_str(m, "mountPath", NULL));
}

static void strip_template(cJSON *template_, const char *job, bool launcher)
{
	cJSON *spec = json_get_mut(template_, "spec");
	cJSON *containers = json_get_mut(spec, "containers");
	cJSON *c;

	json_each (c, containers) {
		filter(c, "env", is_injected_env);
	}
	if (!launcher)
		return;
	cJSON *volumes = json_get_mut(spec, "volumes");
	cJSON *ours = json_get_mut(spec, "volumes") ? (cJSON *)named(volumes, CONFIG_VOLUME) : NULL;
	if (ours && !is_config_volume(job, ours))
		return; /* the user's */
	if (ours) {
		cJSON_Delete(cJSON_DetachItemViaPointer(volumes, ours));
		if (!volumes->child)
			json_del(spec, "volumes");
	}
	if (containers && containers->child)
		filter(containers->child, "volumeMounts", is_injected_mount);
}

/* A member that is null is one that is absent. */
static void drop_nulls(cJSON *v)
{
	for (cJSON *item = v->child, *next; item; item = next) {
		next = item->next;
		if (cJSON_IsObject(v) && cJSON_IsNull(item))
			cJSON_Delete(cJSON_DetachItemViaPointer(v, item));
		else
			drop_nulls(item);
	}
}

int inject_strip_spec(const cJSON *obj, cJSON **out, struct err *err)
{
	const cJSON *from = json_get(obj, "spec");
	AUTO_JSON cJSON *spec = from ? json_copy(from, err) : cJSON_CreateObject();
	const char *name = json_get_str(json_get(obj, "metadata"), "name", "");

	if (!spec)
		return from ? -1 : err_nomem(err);
	drop_nulls(spec);
	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		strip_template(json_at_mut(spec, "etReplicaSpecs", roles[i], "template", NULL),
			       name, i == 0);
	*out = TAKE(spec);
	return 0;
}

int inject_strip(const cJSON *obj, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *spec = NULL;
	AUTO_JSON cJSON *templates = cJSON_CreateObject();

	if (!templates)
		return err_nomem(err);
	if (inject_strip_spec(obj, &spec, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		cJSON *role = json_at_mut(spec, "etReplicaSpecs", roles[i], NULL);
		cJSON *template_ = json_get_mut(role, "template");

		if (template_ && json_set(templates, roles[i],
					  cJSON_DetachItemViaPointer(role, template_), err) < 0)
			return -1;
	}
	*out = TAKE(templates);
	return 0;
}
