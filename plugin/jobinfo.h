/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobinfo: what a person wants to know of a job and its pods, worked out of
 * the documents: status words, reasons, durations. Pure.
 */
#ifndef PLUGIN_JOBINFO_H
#define PLUGIN_JOBINFO_H
#include "etjob/job.h"
#include "etjob/scaler.h"

struct podinfo {
	const cJSON *obj;                     /* owned when in a struct pods */
	const char *name, *job, *role, *node; /* borrowed from obj, "" when absent */
	const char *phase;
	char status[64]; /* kubectl's STATUS: Running, ContainerCreating, OOMKilled... */
	bool pending, ready, failed, deleting;
	int64_t gpus;     /* requested */
	int64_t start_ms; /* of the pod's creation, Unix ms */
	int64_t restarts;
};
void podinfo_view(const cJSON *obj, struct podinfo *out);
/* Why a pod does not run, one line; nothing is appended when all is well. True when something was.
 */
bool podinfo_reason(const struct podinfo *p, struct buf *out);

/* kubectl's default container: the annotation's, else the first; NULL when there is none. */
const char *podinfo_container(const cJSON *pod);

/* Pods of one or many jobs, owned, sorted by pods_sort. */
struct pods {
	struct podinfo *v;
	size_t n, size;
};
void pods_release(struct pods *p);
/* Takes ownership of obj, also on failure. */
MUST_USE int pods_add(struct pods *p, cJSON *obj, struct err *err);
/* By namespace and job, launcher first, then workers by index. */
void pods_sort(struct pods *p);

struct jobinfo {
	struct job job;
	const struct podinfo *pods; /* borrowed */
	size_t npods;
	const char *status; /* arena's word: PENDING, RUNNING, SCALING... */
	int64_t duration_s;
	int64_t gpus_requested, gpus_allocated;
	int64_t ready, pending; /* workers */
	const char *node;       /* of the launcher, "N/A" when none */
	const char *priority;   /* class name or "N/A" */
};
void jobinfo_view(const cJSON *obj, const struct podinfo *pods, size_t npods, int64_t now_ms,
		  struct jobinfo *out);
/* What is wrong, one line; true when something was appended. */
bool jobinfo_reason(const struct jobinfo *j, struct buf *out);
/* Reason and message of a scaler's end: "ScaleFailed: ..." */
void scaler_reason(const cJSON *obj, struct buf *out);
#endif
