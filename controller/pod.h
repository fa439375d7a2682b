/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod: a typed, read-only view of a pod of a job, and the reasons that the
 * cluster gives for its state, in words. Pure; borrows from the tree.
 */
#ifndef CONTROLLER_POD_H
#define CONTROLLER_POD_H
#include "wire/json.h"

/* On the launcher pod: the value of status.restartCount that it was made for. */
#define ANNOTATION_ATTEMPT "kai.alibabacloud.com/attempt"

struct pod {
	const cJSON *obj;
	const char *name, *uid, *node; /* "" when absent */
	int64_t index;                 /* of a worker's name; -1: no worker */
	int64_t attempt;               /* of a launcher; 0 when absent */
	int64_t created_ms,
		unready_ms;  /* Unix ms; unready_ms: when Ready turned false, 0: is ready */
	int64_t deletion_ms; /* when its grace is over; 0: nobody deletes it */
	int64_t grace_s;
	bool running;      /* phase Running */
	bool pending;      /* phase Pending or none yet */
	bool ready;        /* condition Ready, and alive */
	bool dead;         /* no container runs any more, and none will */
	bool going;        /* being deleted, disrupted, or its node pushes it out */
	bool evicted;      /* dead through no fault of its own: eviction, preemption, a lost node */
	bool ours;         /* its controller is this job (UID) */
	bool done;         /* the first container has ended for good */
	int64_t exit_code; /* of the first container when done */
};

/* node: the Node object that it runs on, or NULL when unknown. job, uid: whose pod it should be. */
void pod_view(const cJSON *obj, const cJSON *node, const char *job, const char *uid,
	      struct pod *out);
/*
 * Why the pod is not ready or how it ended, e.g. "Unschedulable: 0/1 nodes are available...":
 * appends to out; *reason (may be NULL) is a word for a condition's reason. Returns false and
 * appends nothing when the cluster gives no reason (it just starts). The text is stable while
 * the cause is the same.
 */
bool pod_reason(const struct pod *p, struct buf *out, const char **reason);
/* Whether a node's taint pushes the pod out now (NoExecute untolerated, or drain by an autoscaler).
 */
bool pod_tainted(const cJSON *pod, const cJSON *node);
#endif
