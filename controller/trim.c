/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/trim.h"

#include "etjob/names.h"

/* Removes all members but those named. */
static void keep(cJSON *obj, const char *const *names, size_t n)
{
	cJSON *v = obj ? obj->child : NULL;

	while (v) {
		cJSON *next = v->next;
		bool stays = false;

		for (size_t i = 0; i < n; i++)
			stays = stays || str_eq(v->string, names[i]);
		if (!stays)
			cJSON_Delete(cJSON_DetachItemViaPointer(obj, v));
		v = next;
	}
}

#define KEEP(obj, ...)                                               \
	do {                                                         \
		static const char *const names_[] = { __VA_ARGS__ }; \
		keep(obj, names_, ARRAY_LEN(names_));                \
	} while (0)

/* Without memory for it the object is not found by its kind; it is read again later. */
static void set_kind(cJSON *obj, const char *version, const char *kind)
{
	if (json_get(obj, "kind") && json_get(obj, "apiVersion"))
		return;
	if (json_set_str(obj, "kind", kind, NULL) < 0 ||
	    json_set_str(obj, "apiVersion", version, NULL) < 0)
		return;
}

static void trim_meta(cJSON *obj)
{
	cJSON *meta = json_get_mut(obj, "metadata");

	KEEP(meta, "name", "namespace", "uid", "resourceVersion", "generation", "labels",
	     "annotations", "ownerReferences", "creationTimestamp", "deletionTimestamp",
	     "deletionGracePeriodSeconds", "finalizers");
	KEEP(json_get_mut(meta, "labels"), LABEL_GROUP, LABEL_JOB, LABEL_ROLE, LABEL_INDEX);
	KEEP(json_get_mut(meta, "annotations"), ANNOTATION_ATTEMPT, ANNOTATION_HOSTS);
}

static void trim_job(cJSON *obj)
{
	set_kind(obj, ETJOB_API_VERSION, KIND_JOB);
	json_del(json_get_mut(obj, "metadata"), "managedFields");
}

static void trim_out(cJSON *obj)
{
	set_kind(obj, ETJOB_API_VERSION, KIND_SCALEOUT);
	json_del(json_get_mut(obj, "metadata"), "managedFields");
}

static void trim_in(cJSON *obj)
{
	set_kind(obj, ETJOB_API_VERSION, KIND_SCALEIN);
	json_del(json_get_mut(obj, "metadata"), "managedFields");
}

static void trim_statuses(cJSON *list)
{
	cJSON *c;

	json_each (c, list) {
		KEEP(c, "name", "image", "state", "lastState");
	}
}

static void trim_pod(cJSON *obj)
{
	cJSON *spec = json_get_mut(obj, "spec"), *status = json_get_mut(obj, "status"), *c, *next;

	set_kind(obj, "v1", "Pod");
	trim_meta(obj);
	KEEP(spec, "nodeName", "tolerations", "restartPolicy", "containers");
	json_each (c, json_get_mut(spec, "containers")) {
		KEEP(c, "name");
	}
	KEEP(status, "phase", "reason", "message", "conditions", "containerStatuses",
	     "initContainerStatuses");
	trim_statuses(json_get_mut(status, "containerStatuses"));
	trim_statuses(json_get_mut(status, "initContainerStatuses"));
	cJSON *conditions = json_get_mut(status, "conditions");

	for (c = conditions ? conditions->child : NULL; c; c = next) {
		const char *type = json_get_str(c, "type", "");

		next = c->next;
		if (!str_eq(type, "Ready") && !str_eq(type, "PodScheduled") &&
		    !str_eq(type, "DisruptionTarget"))
			cJSON_Delete(cJSON_DetachItemViaPointer(conditions, c));
		else
			KEEP(c, "type", "status", "reason", "message", "lastTransitionTime");
	}
}

static void trim_service(cJSON *obj)
{
	set_kind(obj, "v1", "Service");
	trim_meta(obj);
	KEEP(obj, "apiVersion", "kind", "metadata");
}

static void trim_config(cJSON *obj)
{
	set_kind(obj, "v1", "ConfigMap");
	trim_meta(obj);
	KEEP(json_get_mut(obj, "data"), CONFIG_HOSTFILE, CONFIG_SCRIPT);
}

static void trim_node(cJSON *obj)
{
	cJSON *spec = json_get_mut(obj, "spec");

	set_kind(obj, "v1", "Node");
	trim_meta(obj);
	KEEP(spec, "taints");
	KEEP(obj, "apiVersion", "kind", "metadata", "spec");
}

trim_fn trim_for(enum seen kind)
{
	static const trim_fn all[] = {
		[SEEN_JOB] = trim_job,   [SEEN_SCALEOUT] = trim_out,    [SEEN_SCALEIN] = trim_in,
		[SEEN_POD] = trim_pod,   [SEEN_SERVICE] = trim_service, [SEEN_CONFIG] = trim_config,
		[SEEN_NODE] = trim_node,
	};

	return all[kind];
}
