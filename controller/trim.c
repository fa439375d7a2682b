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

/* Objects that only plan reads: no kind, and of their owners only who they are. */
static void trim_meta(cJSON *obj)
{
	cJSON *meta = json_get_mut(obj, "metadata"), *owner;

	json_del(obj, "kind");
	json_del(obj, "apiVersion");
	KEEP(meta, "name", "namespace", "uid", "resourceVersion", "labels", "annotations",
	     "ownerReferences", "creationTimestamp", "deletionTimestamp",
	     "deletionGracePeriodSeconds");
	KEEP(json_get_mut(meta, "labels"), LABEL_JOB);
	KEEP(json_get_mut(meta, "annotations"), ANNOTATION_ATTEMPT, ANNOTATION_HOSTS);
	json_each (owner, json_get_mut(meta, "ownerReferences"))
		KEEP(owner, "uid", "controller");
}

/* A scaler or a job: all but what only the API server and kubectl read. */
static void trim_whole(cJSON *obj, const char *kind)
{
	cJSON *meta = json_get_mut(obj, "metadata");

	set_kind(obj, ETJOB_API_VERSION, kind);
	json_del(meta, "managedFields");
	json_del(json_get_mut(meta, "annotations"),
		 "kubectl.kubernetes.io/last-applied-configuration");
}

static void trim_job(cJSON *obj)
{
	trim_whole(obj, KIND_JOB);
}

static void trim_out(cJSON *obj)
{
	trim_whole(obj, KIND_SCALEOUT);
}

static void trim_in(cJSON *obj)
{
	trim_whole(obj, KIND_SCALEIN);
}

static void drop(cJSON *list, cJSON *item)
{
	cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
}

/* Of a container that simply runs nothing is of interest. */
static void trim_statuses(cJSON *list)
{
	cJSON *c, *next;

	for (c = list ? list->child : NULL; c; c = next) {
		next = c->next;
		if (json_at(c, "state", "running", NULL))
			drop(list, c);
		else
			KEEP(c, "name", "image", "state", "lastState");
	}
}

/* A toleration that ends is none: see pod_tainted(). */
static void trim_tolerations(cJSON *list)
{
	cJSON *t, *next;

	for (t = list ? list->child : NULL; t; t = next) {
		next = t->next;
		if (json_get(t, "tolerationSeconds"))
			drop(list, t);
	}
}

static void trim_conditions(cJSON *list)
{
	cJSON *c, *next;

	for (c = list ? list->child : NULL; c; c = next) {
		const char *type = json_get_str(c, "type", "");
		bool yes = str_eq(json_get_str(c, "status", ""), "True");

		next = c->next;
		if (str_eq(type, "DisruptionTarget") ||
		    (!yes && (str_eq(type, "Ready") || str_eq(type, "PodScheduled"))))
			KEEP(c, "type", "status", "reason", "message", "lastTransitionTime");
		else if (str_eq(type, "Ready"))
			KEEP(c, "type", "status");
		else
			drop(list, c);
	}
}

static void trim_pod(cJSON *obj)
{
	cJSON *spec = json_get_mut(obj, "spec"), *status = json_get_mut(obj, "status"), *c;

	trim_meta(obj);
	KEEP(spec, "nodeName", "tolerations", "restartPolicy", "containers");
	json_each (c, json_get_mut(spec, "containers"))
		KEEP(c, "name");
	trim_tolerations(json_get_mut(spec, "tolerations"));
	KEEP(status, "phase", "reason", "message", "conditions", "containerStatuses",
	     "initContainerStatuses");
	trim_statuses(json_get_mut(status, "containerStatuses"));
	trim_statuses(json_get_mut(status, "initContainerStatuses"));
	trim_conditions(json_get_mut(status, "conditions"));
}

static void trim_service(cJSON *obj)
{
	trim_meta(obj);
	KEEP(obj, "metadata");
}

static void trim_config(cJSON *obj)
{
	trim_meta(obj);
	KEEP(json_get_mut(obj, "data"), CONFIG_HOSTFILE, CONFIG_SCRIPT);
}

static void trim_node(cJSON *obj)
{
	cJSON *spec = json_get_mut(obj, "spec");

	trim_meta(obj);
	KEEP(spec, "taints");
	KEEP(obj, "metadata", "spec");
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
