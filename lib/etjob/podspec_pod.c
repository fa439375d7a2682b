/* SPDX-License-Identifier: Apache-2.0 */
/* podspec: a pod from a template, and what workers and launcher share. */
#include "base/limits.h"
#include "etjob/inject.h"
#include "etjob/names.h"
#include "etjob/podspec_int.h"

cJSON *podspec_first(cJSON *pod)
{
	cJSON *containers = json_at_mut(pod, "spec", "containers", NULL);

	return containers ? containers->child : NULL;
}

/* A path without the slashes at its end. */
static bool same_path(const char *a, const char *b)
{
	size_t n = a ? strlen(a) : 0;

	while (n > 1 && a[n - 1] == '/')
		n--;
	return n == strlen(b) && strncmp(a, b, n) == 0;
}

bool podspec_has_mount(const cJSON *container, const char *path)
{
	const cJSON *m;

	json_each (m, json_get(container, "volumeMounts")) {
		if (same_path(json_get_str(m, "mountPath", NULL), path))
			return true;
	}
	return false;
}

int podspec_add_mount(cJSON *container, const char *volume, const char *path, bool read_only,
		      struct err *err)
{
	AUTO_JSON cJSON *m = NULL;
	cJSON *list;

	if (podspec_has_mount(container, path))
		return 0;
	m = cJSON_CreateObject();
	if (!m)
		return err_nomem(err);
	if (json_set_str(m, "name", volume, err) < 0 ||
	    json_set_str(m, "mountPath", path, err) < 0 ||
	    (read_only && json_set_bool(m, "readOnly", true, err) < 0))
		return -1;
	list = json_need_array(container, "volumeMounts", err);
	return list ? json_append(list, TAKE(m), err) : -1;
}

static bool has_volume(const cJSON *pod, const char *name)
{
	const cJSON *v;

	json_each (v, json_at(pod, "spec", "volumes", NULL)) {
		if (str_eq(json_get_str(v, "name", NULL), name))
			return true;
	}
	return false;
}

int podspec_add_volume(cJSON *pod, const char *name, const char *kind, cJSON *source,
		       struct err *err)
{
	AUTO_JSON cJSON *owned = source;
	AUTO_JSON cJSON *v = NULL;
	cJSON *list;

	if (!owned)
		return err_nomem(err);
	if (has_volume(pod, name))
		return 0; /* the user's, who then says what is in it */
	v = cJSON_CreateObject();
	if (!v)
		return err_nomem(err);
	if (json_set_str(v, "name", name, err) < 0 || json_set(v, kind, TAKE(owned), err) < 0)
		return -1;
	list = json_need_array(json_get_mut(pod, "spec"), "volumes", err);
	return list ? json_append(list, TAKE(v), err) : -1;
}

bool podspec_own_command(const cJSON *container)
{
	return json_len(json_get(container, "command")) > 0 ||
	       json_len(json_get(container, "args")) > 0;
}

/* The user id of a template's first container; false when the spec does not say. */
static bool user_of(const cJSON *template_, int64_t *uid, bool *non_root)
{
	const cJSON *spec = json_get(template_, "spec");
	const cJSON *pod = json_get(spec, "securityContext");
	const cJSON *own = json_get(json_index(json_get(spec, "containers"), 0), "securityContext");
	const cJSON *flag = json_get(own, "runAsNonRoot");

	*non_root = cJSON_IsTrue(flag ? flag : json_get(pod, "runAsNonRoot"));
	return json_int(json_get(own, "runAsUser"), uid) ||
	       json_int(json_get(pod, "runAsUser"), uid);
}

bool podspec_not_root(const cJSON *template_)
{
	bool non_root;
	int64_t uid;

	return user_of(template_, &uid, &non_root) ? uid != 0 : non_root;
}

enum port_choice podspec_port(const cJSON *worker_template)
{
	const cJSON *spec = json_get(worker_template, "spec");
	const cJSON *first = json_index(json_get(spec, "containers"), 0);
	const cJSON *drop = json_at(first, "securityContext", "capabilities", "drop", NULL);
	bool non_root;
	int64_t uid;

	if (podspec_own_command(first))
		return PORT_THEIRS;
	/* The node may have an sshd of its own. */
	if (json_get_bool(spec, "hostNetwork", false))
		return PORT_2222;
	if (!user_of(worker_template, &uid, &non_root))
		return non_root ? PORT_2222 : PORT_AUTO;
	if (uid != 0)
		return PORT_2222;
	/* Without NET_BIND_SERVICE root may not take 22. */
	return json_len(drop) ? PORT_AUTO : PORT_22;
}

const char *podspec_port_word(enum port_choice p)
{
	static const char *const words[] = {
		[PORT_THEIRS] = "-",
		[PORT_AUTO] = "auto",
		[PORT_22] = "22",
		[PORT_2222] = "2222",
	};

	return words[p];
}

static int add_item(cJSON *list, const char *key, const char *path, int64_t mode, struct err *err)
{
	cJSON *item = cJSON_CreateObject();

	if (!item)
		return err_nomem(err);
	if (json_append(list, item, err) < 0 || json_set_str(item, "key", key, err) < 0 ||
	    json_set_str(item, "path", path, err) < 0)
		return -1;
	return mode >= 0 ? json_set_int(item, "mode", mode, err) : 0;
}

/* The source of a Secret volume, without items; NULL with err. */
static cJSON *secret_source(const struct job *j, int64_t mode, struct err *err)
{
	const cJSON *annotations = json_at(j->obj, "metadata", "annotations", NULL);
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *source = cJSON_CreateObject();

	if (podspec_own_secret(j))
		buf_str(&name, json_get_str(annotations, ANNOTATION_SSH_SECRET, ""));
	else
		name_secret(j->name, &name);
	if (!source) {
		(void)err_nomem(err);
		return NULL;
	}
	if (buf_check(&name, err) < 0 ||
	    json_set_str(source, "secretName", buf_text(&name), err) < 0 ||
	    json_set_int(source, "defaultMode", mode, err) < 0 ||
	    !json_need_array(source, "items", err))
		return NULL;
	return TAKE(source);
}

int podspec_ssh(const struct job *j, cJSON *pod, struct err *err)
{
	/* Readable by any user of the container; the wrappers make a private copy of the key. */
	AUTO_JSON cJSON *secret = secret_source(j, 0444, err);
	AUTO_JSON cJSON *run = cJSON_CreateObject();
	cJSON *items = json_get_mut(secret, "items");
	cJSON *first = podspec_first(pod);

	if (!secret)
		return -1;
	if (!run)
		return err_nomem(err);
	if (add_item(items, SECRET_PRIVATE, "id", -1, err) < 0 ||
	    add_item(items, SECRET_PUBLIC, "id.pub", -1, err) < 0 ||
	    json_set_str(run, "medium", "Memory", err) < 0 ||
	    json_set_str(run, "sizeLimit", "16Mi", err) < 0)
		return -1;
	if (podspec_add_volume(pod, SSH_VOLUME, "secret", TAKE(secret), err) < 0 ||
	    podspec_add_volume(pod, RUN_VOLUME, "emptyDir", TAKE(run), err) < 0 ||
	    podspec_add_mount(first, SSH_VOLUME, SSH_DIR, true, err) < 0 ||
	    podspec_add_mount(first, RUN_VOLUME, RUN_DIR, false, err) < 0)
		return -1;
	return 0;
}

int podspec_ssh_home(const struct job *j, cJSON *pod, struct err *err)
{
	AUTO_JSON cJSON *secret = NULL;
	cJSON *first = podspec_first(pod);
	cJSON *items;

	if (podspec_has_mount(first, SSH_HOME_DIR) || podspec_has_mount(first, "/root"))
		return 0;
	secret = secret_source(j, 0600, err);
	items = json_get_mut(secret, "items");
	if (!items || add_item(items, SECRET_PRIVATE, "id_ecdsa", -1, err) < 0 ||
	    add_item(items, SECRET_PUBLIC, "id_ecdsa.pub", 0644, err) < 0 ||
	    add_item(items, SECRET_PUBLIC, "authorized_keys", 0644, err) < 0)
		return -1;
	/* A Secret of the user's need not have a configuration. */
	if (!podspec_own_secret(j) && add_item(items, "config", "config", 0644, err) < 0)
		return -1;
	if (podspec_add_volume(pod, SSH_HOME_VOLUME, "secret", TAKE(secret), err) < 0)
		return -1;
	return podspec_add_mount(first, SSH_HOME_VOLUME, SSH_HOME_DIR, true, err);
}

/* The job's spec with what is injected put in, whatever the stored object has. */
static int injected_template(const struct job *j, const char *role, cJSON **out, struct err *err)
{
	const struct inject_opts opts = { .mount = true, .always = true };
	const cJSON *spec = json_get(j->obj, "spec");
	AUTO_JSON cJSON *doc = cJSON_CreateObject();
	cJSON *copy, *meta, *parent, *template_;

	if (!doc)
		return err_nomem(err);
	meta = json_need_object(doc, "metadata", err);
	if (!meta || json_set_str(meta, "name", j->name, err) < 0)
		return -1;
	copy = spec ? json_copy(spec, err) : NULL;
	if (!copy)
		return spec ? -1 : err_set(err, FAIL_INPUT, "the job has no spec");
	if (json_set(doc, "spec", copy, err) < 0 || inject_apply(&doc, NULL, &opts, err) < 0)
		return -1;
	parent = json_at_mut(doc, "spec", "etReplicaSpecs", role, NULL);
	template_ = json_get_mut(parent, "template");
	if (!cJSON_IsObject(json_index(json_at(template_, "spec", "containers", NULL), 0)))
		return err_set(err, FAIL_INPUT, "the %s has no container in its template", role);
	*out = cJSON_DetachItemViaPointer(parent, template_);
	return 0;
}

static int take_meta(cJSON *pod, cJSON *template_, struct err *err)
{
	static const char *const keys[] = { "labels", "annotations" };
	const cJSON *from = json_get(template_, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const cJSON *v = json_get(from, keys[i]);
		cJSON *copy;

		if (!cJSON_IsObject(v))
			continue;
		copy = json_copy(v, err);
		if (!copy || json_set(json_get_mut(pod, "metadata"), keys[i], copy, err) < 0)
			return -1;
	}
	return 0;
}

int podspec_pod(const struct job *j, const char *role, const char *name, cJSON **out,
		struct err *err)
{
	AUTO_JSON cJSON *template_ = NULL;
	AUTO_JSON cJSON *pod = NULL;
	cJSON *spec;

	if (injected_template(j, role, &template_, err) < 0 ||
	    podspec_object(j, "v1", "Pod", name, role, &pod, err) < 0 ||
	    take_meta(pod, template_, err) < 0 ||
	    podspec_labels(j, role, json_get_mut(pod, "metadata"), err) < 0)
		return -1;
	spec = cJSON_DetachItemViaPointer(template_, json_get_mut(template_, "spec"));
	if (json_set(pod, "spec", spec, err) < 0)
		return -1;
	/*
	 * A container that ended is not started again in its pod: to Horovod its host has
	 * failed and stays excluded, so a new pod with a new name takes its place.
	 */
	if (json_set_str(spec, "restartPolicy", "Never", err) < 0 ||
	    podspec_default_bool(spec, "enableServiceLinks", false, err) < 0 ||
	    podspec_default_str(podspec_first(pod), "terminationMessagePolicy",
				"FallbackToLogsOnError", err) < 0)
		return -1;
	*out = TAKE(pod);
	return 0;
}
