/* SPDX-License-Identifier: Apache-2.0 */
/* podspec: the children of a job that are no pods, and what all children share. */
#include "etjob/podspec.h"

#include "base/limits.h"
#include "etjob/hosts.h"
#include "etjob/names.h"
#include "etjob/podspec_int.h"
#include "etjob/scripts.h"
#include "wire/base64.h"

int podspec_owner(const struct job *j, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *o = cJSON_CreateObject();

	if (!o)
		return err_nomem(err);
	if (json_set_str(o, "apiVersion", ETJOB_API_VERSION, err) < 0 ||
	    json_set_str(o, "kind", KIND_JOB, err) < 0 ||
	    json_set_str(o, "name", j->name, err) < 0 || json_set_str(o, "uid", j->uid, err) < 0 ||
	    json_set_bool(o, "controller", true, err) < 0 ||
	    json_set_bool(o, "blockOwnerDeletion", true, err) < 0)
		return -1;
	*out = TAKE(o);
	return 0;
}

bool podspec_is_ours(const struct job *j, const cJSON *obj)
{
	const cJSON *ref;

	json_each (ref, json_at(obj, "metadata", "ownerReferences", NULL)) {
		if (json_get_bool(ref, "controller", false))
			return j->uid[0] && str_eq(json_get_str(ref, "uid", NULL), j->uid);
	}
	return false;
}

bool podspec_own_secret(const struct job *j)
{
	const cJSON *annotations = json_at(j->obj, "metadata", "annotations", NULL);

	return json_get_str(annotations, ANNOTATION_SSH_SECRET, "")[0] != '\0';
}

int podspec_default_bool(cJSON *v, const char *key, bool b, struct err *err)
{
	return json_get(v, key) ? 0 : json_set_bool(v, key, b, err);
}

int podspec_default_str(cJSON *v, const char *key, const char *text, struct err *err)
{
	return json_get(v, key) ? 0 : json_set_str(v, key, text, err);
}

cJSON *podspec_words(const char *const *words, size_t n, struct err *err)
{
	AUTO_JSON cJSON *list = cJSON_CreateArray();

	if (!list) {
		(void)err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (json_append_str(list, words[i], err) < 0)
			return NULL;
	}
	return TAKE(list);
}

int podspec_labels(const struct job *j, const char *role, cJSON *meta, struct err *err)
{
	cJSON *labels = json_need_object(meta, "labels", err);

	if (!labels || json_set_str(labels, LABEL_GROUP, ETJOB_GROUP, err) < 0 ||
	    json_set_str(labels, LABEL_JOB, j->name, err) < 0 ||
	    (role && json_set_str(labels, LABEL_ROLE, role, err) < 0))
		return -1;
	if (podspec_default_str(labels, "app.kubernetes.io/name", "etjob", err) < 0 ||
	    podspec_default_str(labels, "app.kubernetes.io/instance", j->name, err) < 0 ||
	    (role && podspec_default_str(labels, "app.kubernetes.io/component", role, err) < 0) ||
	    podspec_default_str(labels, "app.kubernetes.io/managed-by", "etjob-controller", err) <
		    0)
		return -1;
	return 0;
}

int podspec_object(const struct job *j, const char *api_version, const char *kind, const char *name,
		   const char *role, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *obj = cJSON_CreateObject();
	cJSON *owner = NULL, *meta, *owners;

	if (!obj)
		return err_nomem(err);
	if (json_set_str(obj, "apiVersion", api_version, err) < 0 ||
	    json_set_str(obj, "kind", kind, err) < 0)
		return -1;
	meta = json_need_object(obj, "metadata", err);
	if (!meta || json_set_str(meta, "name", name, err) < 0 ||
	    (j->ns[0] && json_set_str(meta, "namespace", j->ns, err) < 0) ||
	    podspec_labels(j, role, meta, err) < 0)
		return -1;
	owners = json_need_array(meta, "ownerReferences", err);
	if (!owners || podspec_owner(j, &owner, err) < 0 || json_append(owners, owner, err) < 0)
		return -1;
	*out = TAKE(obj);
	return 0;
}

int podspec_service(const struct job *j, cJSON **out, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *obj = NULL;
	cJSON *spec, *selector, *ports, *port;

	name_service(j->name, &name);
	if (buf_check(&name, err) < 0 ||
	    podspec_object(j, "v1", "Service", buf_text(&name), NULL, &obj, err) < 0)
		return -1;
	spec = json_need_object(obj, "spec", err);
	if (!spec || json_set_str(spec, "clusterIP", "None", err) < 0 ||
	    json_set_bool(spec, "publishNotReadyAddresses", true, err) < 0)
		return -1;
	selector = json_need_object(spec, "selector", err);
	if (!selector || json_set_str(selector, LABEL_GROUP, ETJOB_GROUP, err) < 0 ||
	    json_set_str(selector, LABEL_JOB, j->name, err) < 0 ||
	    json_set_str(selector, LABEL_ROLE, ROLE_WORKER, err) < 0)
		return -1;
	/* A headless Service only makes names; the port is for readers and for service meshes. */
	ports = json_need_array(spec, "ports", err);
	port = ports ? cJSON_CreateObject() : NULL;
	if (!port)
		return err_nomem(err);
	if (json_append(ports, port, err) < 0 || json_set_str(port, "name", "tcp-ssh", err) < 0 ||
	    json_set_int(port, "port", podspec_port(j->worker_template) == PORT_2222 ? 2222 : 22,
			 err) < 0)
		return -1;
	*out = TAKE(obj);
	return 0;
}

int podspec_config(const struct job *j, const char *hostfile, cJSON **out, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *obj = NULL;
	cJSON *data;

	name_config(j->name, &name);
	if (buf_check(&name, err) < 0 ||
	    podspec_object(j, "v1", "ConfigMap", buf_text(&name), NULL, &obj, err) < 0)
		return -1;
	data = json_need_object(obj, "data", err);
	if (!data || json_set_str(data, CONFIG_SCRIPT, hosts_script(), err) < 0 ||
	    json_set_str(data, CONFIG_HOSTFILE, hostfile, err) < 0 ||
	    (j->attach == ATTACH_KUBEXEC &&
	     json_set_str(data, "kubexec.sh", scripts_kubexec(), err) < 0))
		return -1;
	*out = TAKE(obj);
	return 0;
}

static int set_base64(cJSON *data, const char *key, const char *text, struct err *err)
{
	AUTO(buf) struct buf coded = BUF_INIT(LIMIT_TEXT);
	int rc;

	base64_encode(&coded, text, strlen(text));
	rc = buf_check(&coded, err);
	if (rc == 0)
		rc = json_set_str(data, key, buf_text(&coded), err);
	buf_wipe(&coded);
	return rc;
}

int podspec_secret(const struct job *j, const char *private_pem, const char *public_line,
		   cJSON **out, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf config = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *obj = NULL;
	cJSON *data;

	name_secret(j->name, &name);
	buf_str(&config, scripts_ssh_config());
	if (podspec_port(j->worker_template) == PORT_2222)
		buf_str(&config, "\tPort 2222\n");
	if (buf_check(&name, err) < 0 || buf_check(&config, err) < 0 ||
	    podspec_object(j, "v1", "Secret", buf_text(&name), NULL, &obj, err) < 0 ||
	    json_set_str(obj, "type", "kubernetes.io/ssh-auth", err) < 0)
		return -1;
	data = json_need_object(obj, "data", err);
	if (!data || set_base64(data, SECRET_PRIVATE, private_pem, err) < 0 ||
	    set_base64(data, SECRET_PUBLIC, public_line, err) < 0 ||
	    set_base64(data, "config", buf_text(&config), err) < 0)
		return -1;
	*out = TAKE(obj);
	return 0;
}

int podspec_pod_group(const struct job *j, cJSON **out, struct err *err)
{
	const cJSON *spec = json_get(j->worker_template, "spec");
	const cJSON *annotations = json_at(j->worker_template, "metadata", "annotations", NULL);
	const char *queue = json_get_str(annotations, "scheduling.volcano.sh/queue-name", NULL);
	const char *priority = json_get_str(spec, "priorityClassName", NULL);
	AUTO_JSON cJSON *obj = NULL;
	cJSON *group;

	/* A group of the user's own is the user's to make. */
	if (!str_eq(json_get_str(spec, "schedulerName", NULL), "volcano") ||
	    json_get(annotations, GANG_VOLCANO)) {
		*out = NULL;
		return 0;
	}
	if (podspec_object(j, "scheduling.volcano.sh/v1beta1", "PodGroup", j->name, NULL, &obj,
			   err) < 0)
		return -1;
	group = json_need_object(obj, "spec", err);
	if (!group || json_set_int(group, "minMember", j->min, err) < 0 ||
	    (queue && json_set_str(group, "queue", queue, err) < 0) ||
	    (priority && json_set_str(group, "priorityClassName", priority, err) < 0))
		return -1;
	*out = TAKE(obj);
	return 0;
}
