/* SPDX-License-Identifier: Apache-2.0 */
/* submit_parts: the pieces that submit_job.c puts into a TrainingJob. */
#ifndef PLUGIN_SUBMIT_PARTS_H
#define PLUGIN_SUBMIT_PARTS_H
#include "base/limits.h"
#include "submit.h"

/* One of launcher and worker in the document; all borrowed from it. */
struct role {
	bool launcher;
	cJSON *replica, *template_, *meta, *spec, *container;
};

/* arena's labels, so that arena finds the job. */
MUST_USE int parts_labels(const struct submit_in *in, cJSON *job, struct role roles[2],
			  struct err *err);
/* Labels and annotations of the flags. */
MUST_USE int parts_metadata(const struct submit_in *in, cJSON *job, struct role roles[2],
			    struct err *err);
MUST_USE int parts_resources(const struct submit_in *in, struct role *r, struct err *err);
/* Image, scheduling, host namespaces. */
MUST_USE int parts_pod(const struct submit_in *in, struct role *r, struct err *err);
MUST_USE int parts_env(const struct submit_in *in, struct role *r, struct err *err);
MUST_USE int parts_volumes(const struct submit_in *in, struct role *r, struct err *err);
/* The init container that fetches code. */
MUST_USE int parts_sync(const struct submit_in *in, struct role *r, struct err *err);

/* Splits "KEY=VALUE" (flag names it in the error); *value points into text. */
MUST_USE int parts_pair(const char *flag, const char *text, struct buf *key, const char **value,
			struct err *err);
/* Adds a volume (source: {key: value}, taken) under a name that is new in the pod. */
MUST_USE int parts_volume(cJSON *pod_spec, const char *name, const char *key, cJSON *source,
			  struct err *err);
MUST_USE int parts_mount(cJSON *container, const char *volume, const char *path,
			 const char *sub_path, struct err *err);
/* The volumes of --data and --data-dir into a pod and a container. */
MUST_USE int parts_data(const struct submit_in *in, cJSON *pod_spec, cJSON *container,
			struct err *err);
/* The volume that holds --logdir, when no data mount does. */
MUST_USE int parts_logs(const struct submit_in *in, cJSON *pod_spec, cJSON *container,
			struct err *err);
const char *parts_logdir(const struct submit_opts *o);
#endif
