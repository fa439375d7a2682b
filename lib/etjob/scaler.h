/* SPDX-License-Identifier: Apache-2.0 */
/* scaler: a typed, read-only view of a ScaleOut or ScaleIn; borrows from the tree. */
#ifndef ETJOB_SCALER_H
#define ETJOB_SCALER_H
#include "wire/json.h"

enum scaler_phase { SCALER_NEW = 0, SCALER_SCALING, SCALER_SUCCEEDED, SCALER_FAILED };

struct scaler {
	const cJSON *obj;
	bool out;                    /* ScaleOut, else ScaleIn */
	const char *ns, *name, *uid; /* "" when absent */
	const char *job;             /* spec.selector.name, "" when absent */
	int64_t created_ms;
	bool deleting;
	int64_t count;          /* toAdd.count / toDelete.count; -1 when absent */
	const cJSON *pod_names; /* array of toDelete.podNames, or NULL */
	int64_t timeout_s;      /* default 600 */
	int64_t backoff_limit;
	int64_t ttl_s;      /* ttlSecondsAfterFinished, -1: none */
	const char *script; /* NULL when absent */
	const cJSON *env;   /* as the API has it, NULL when absent */
	enum scaler_phase phase;
	const cJSON *pods; /* status.addPods / toDeletePods, or NULL */
};

void scaler_view(const cJSON *obj, struct scaler *out);
bool scaler_finished(const struct scaler *s);
/* Workers it adds (positive) or removes (negative): count, or the number of podNames. */
int64_t scaler_amount(const struct scaler *s);
/* Oldest first: creationTimestamp, then UID. For qsort over struct scaler. */
int scaler_order(const void *a, const void *b);
#endif
