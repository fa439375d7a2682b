/* SPDX-License-Identifier: Apache-2.0 */
/* submit_volumes: volumes, code and the objects that stand beside a job. */
#include "etjob/names.h"
#include "submit_parts.h"

#define DEFAULT_WORKING_DIR "/root"
#define GIT_SYNC_IMAGE "registry.k8s.io/git-sync/git-sync:v3.6.9"
#define RSYNC_IMAGE "instrumentisto/rsync-ssh:alpine"

int parts_volume(cJSON *pod_spec, const char *name, const char *key, cJSON *source, struct err *err)
{
	cJSON *list = source ? json_need_array(pod_spec, "volumes", err) : NULL;
	cJSON *v = list ? cJSON_CreateObject() : NULL;

	if (!v) {
		cJSON_Delete(source);
		return err_nomem(err);
	}
	if (json_append(list, v, err) < 0 || json_set_str(v, "name", name, err) < 0) {
		cJSON_Delete(source);
		return -1;
	}
	return json_set(v, key, source, err);
}

int parts_mount(cJSON *container, const char *volume, const char *path, const char *sub_path,
		struct err *err)
{
	cJSON *list = json_need_array(container, "volumeMounts", err);
	cJSON *m = list ? cJSON_CreateObject() : NULL;

	if (!m)
		return err_nomem(err);
	if (json_append(list, m, err) < 0 || json_set_str(m, "name", volume, err) < 0 ||
	    json_set_str(m, "mountPath", path, err) < 0)
		return -1;
	return sub_path ? json_set_str(m, "subPath", sub_path, err) : 0;
}

/* {key: value} or NULL with err. */
static cJSON *one(const char *key, const char *value, struct err *err)
{
	cJSON *o = cJSON_CreateObject();

	if (!o || json_set_str(o, key, value, err) < 0) {
		(void)err_nomem(err);
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

/* "LEFT:PATH"; a missing path is LEFT itself when that is a path. */
static int split_path(const char *flag, const char *text, bool optional, struct buf *left,
		      const char **path, struct err *err)
{
	const char *colon = strrchr(text, ':');

	buf_clear(left);
	buf_add(left, text, colon ? (size_t)(colon - text) : strlen(text));
	*path = colon ? colon + 1 : text;
	if (!left->len || (!colon && !optional) || **path != '/')
		return err_set(err, FAIL_USAGE, "--%s \"%s\": write %s, with an absolute path",
			       flag, text, optional ? "HOST-PATH or HOST-PATH:PATH" : "CLAIM:PATH");
	return buf_check(left, err);
}

int parts_data(const struct submit_in *in, cJSON *pod_spec, cJSON *container, struct err *err)
{
	const struct submit_opts *o = in->o;
	AUTO(buf) struct buf left = BUF_INIT(LIMIT_TEXT);
	const char *path;
	char name[48];

	for (size_t i = 0; i < o->data.n; i++) {
		(void)snprintf(name, sizeof(name), "data-%zu", i); /* always fits */
		if (split_path("data", o->data.v[i], false, &left, &path, err) < 0 ||
		    parts_volume(pod_spec, name, "persistentVolumeClaim",
				 one("claimName", buf_text(&left), err), err) < 0 ||
		    parts_mount(container, name, path, NULL, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->data_dir.n; i++) {
		(void)snprintf(name, sizeof(name), "data-dir-%zu", i); /* always fits */
		if (split_path("data-dir", o->data_dir.v[i], true, &left, &path, err) < 0 ||
		    parts_volume(pod_spec, name, "hostPath", one("path", buf_text(&left), err),
				 err) < 0 ||
		    parts_mount(container, name, path, NULL, err) < 0)
			return -1;
	}
	return 0;
}

const char *parts_logdir(const struct submit_opts *o)
{
	return o->logdir ? o->logdir : "/training_logs";
}

/* Whether dir is path or lies under it. */
static bool under(const char *dir, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return strncmp(dir, path, n) == 0 && (!dir[n] || dir[n] == '/' || n == 1);
}

/* Whether a mount of --data or --data-dir holds the log directory. */
static bool logs_in_data(const struct submit_opts *o)
{
	const struct strs *lists[] = { &o->data, &o->data_dir };

	for (size_t l = 0; l < ARRAY_LEN(lists); l++)
		for (size_t i = 0; i < lists[l]->n; i++) {
			const char *colon = strrchr(lists[l]->v[i], ':');

			if (under(parts_logdir(o), colon ? colon + 1 : lists[l]->v[i]))
				return true;
		}
	return false;
}

int parts_logs(const struct submit_in *in, cJSON *pod_spec, cJSON *container, struct err *err)
{
	AUTO(buf) struct buf host = BUF_INIT(LIMIT_TEXT);

	if (!in->o->tensorboard || logs_in_data(in->o))
		return 0;
	buf_printf(&host, "/var/lib/etjob/logs/%s/%s", in->ns, in->name ? in->name : "");
	if (buf_check(&host, err) < 0)
		return -1;
	cJSON *source = one("path", buf_text(&host), err);
	if (source && json_set_str(source, "type", "DirectoryOrCreate", err) < 0) {
		cJSON_Delete(source);
		return -1;
	}
	if (parts_volume(pod_spec, "training-logs", "hostPath", source, err) < 0)
		return -1;
	return parts_mount(container, "training-logs", parts_logdir(in->o), NULL, err);
}

static int shared_memory(const struct submit_in *in, struct role *r, struct err *err)
{
	const char *size = in->o->shm_size ? in->o->shm_size : "2Gi";
	cJSON *v;

	if (in->base && !in->o->shm_size)
		return 0;
	json_each (v, json_get(r->spec, "volumes")) {
		if (str_eq(json_get_str(v, "name", ""), "dshm")) {
			cJSON *dir = json_need_object(v, "emptyDir", err);

			return dir ? json_set_str(dir, "sizeLimit", size, err) : -1;
		}
	}
	cJSON *source = one("medium", "Memory", err);
	if (source && json_set_str(source, "sizeLimit", size, err) < 0) {
		cJSON_Delete(source);
		return -1;
	}
	if (parts_volume(r->spec, "dshm", "emptyDir", source, err) < 0)
		return -1;
	return parts_mount(r->container, "dshm", "/dev/shm", NULL, err);
}

static int config_mounts(const struct submit_in *in, struct role *r, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	char key[48];

	if (!in->nfiles)
		return 0;
	buf_printf(&name, "%s-files", in->name ? in->name : "");
	if (buf_check(&name, err) < 0)
		return -1;
	if (parts_volume(r->spec, "config-files", "configMap", one("name", buf_text(&name), err),
			 err) < 0)
		return -1;
	for (size_t i = 0; i < in->nfiles; i++) {
		(void)snprintf(key, sizeof(key), "file-%zu", i); /* always fits */
		if (parts_mount(r->container, "config-files", in->files[i].path, key, err) < 0)
			return -1;
	}
	return 0;
}

int parts_volumes(const struct submit_in *in, struct role *r, struct err *err)
{
	if (shared_memory(in, r, err) < 0 || parts_data(in, r->spec, r->container, err) < 0 ||
	    parts_logs(in, r->spec, r->container, err) < 0)
		return -1;
	return config_mounts(in, r, err);
}

static int add_env(cJSON *container, const char *name, const char *value, struct err *err)
{
	cJSON *env = json_need_array(container, "env", err), *e = one("name", name, err);

	if (!env || !e) {
		cJSON_Delete(e);
		return err_nomem(err);
	}
	if (json_append(env, e, err) < 0)
		return -1;
	return json_set_str(e, "value", value, err);
}

/* The last part of a repository's address without ".git". */
static void repo_name(const char *source, struct buf *out)
{
	size_t n = strlen(source);

	while (n && source[n - 1] == '/')
		n--;
	if (n > 4 && strncmp(source + n - 4, ".git", 4) == 0)
		n -= 4;
	size_t start = n;
	while (start && source[start - 1] != '/' && source[start - 1] != ':')
		start--;
	buf_add(out, source + start, n - start);
}

static int sync_git(const char *source, cJSON *container, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);

	repo_name(source, &name);
	if (buf_check(&name, err) < 0)
		return -1;
	if (add_env(container, "GIT_SYNC_REPO", source, err) < 0 ||
	    add_env(container, "GIT_SYNC_DEST", buf_text(&name), err) < 0 ||
	    add_env(container, "GIT_SYNC_ROOT", "/code", err) < 0)
		return -1;
	return add_env(container, "GIT_SYNC_ONE_TIME", "true", err);
}

static int sync_rsync(const char *source, cJSON *container, struct err *err)
{
	cJSON *command = json_need_array(container, "command", err);

	if (!command || json_append_str(command, "rsync", err) < 0 ||
	    json_append_str(command, "-avP", err) < 0 || json_append_str(command, source, err) < 0)
		return -1;
	return json_append_str(command, "/code", err);
}

int parts_sync(const struct submit_in *in, struct role *r, struct err *err)
{
	const struct submit_opts *o = in->o;
	bool git = str_eq(o->sync_mode, "git");
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);

	if (!o->sync_mode)
		return o->sync_source || o->sync_image
			       ? err_set(err, FAIL_USAGE, "--sync-mode is missing: rsync or git")
			       : 0;
	if (!o->sync_source)
		return err_set(err, FAIL_USAGE, "--sync-mode needs --sync-source");
	cJSON *list = json_need_array(r->spec, "initContainers", err);
	cJSON *init = list ? one("name", "init-code", err) : NULL;
	if (!init || json_append(list, init, err) < 0)
		return -1;
	if (json_set_str(init, "image",
			 o->sync_image ? o->sync_image
			 : git         ? GIT_SYNC_IMAGE
				       : RSYNC_IMAGE,
			 err) < 0 ||
	    (git ? sync_git(o->sync_source, init, err) : sync_rsync(o->sync_source, init, err)) <
		    0 ||
	    parts_volume(r->spec, "code-sync", "emptyDir", cJSON_CreateObject(), err) < 0 ||
	    parts_mount(init, "code-sync", "/code", NULL, err) < 0)
		return -1;
	buf_printf(&path, "%s/code", o->working_dir ? o->working_dir : DEFAULT_WORKING_DIR);
	if (buf_check(&path, err) < 0)
		return -1;
	return parts_mount(r->container, "code-sync", buf_text(&path), NULL, err);
}
