/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: every rule on TrainingJob, ScaleOut and ScaleIn, in one table of
 * rules, all faults of an object at once. Pure: what it must know about the
 * cluster comes in as arguments. The webhook, the plugin's submit, scaleout,
 * scalein and `validate` all run this, so the words are the same everywhere.
 */
#ifndef ETJOB_VALIDATE_H
#define ETJOB_VALIDATE_H
#include "base/strs.h"
#include "etjob/job.h"
#include "etjob/scaler.h"

struct fault {
	char *field;   /* "spec.etReplicaSpecs.worker.minReplicas", owned */
	char *pointer; /* the same as a JSON Pointer, owned, for file positions */
	char *message; /* "4 is more than replicas (3): lower it or start with more workers", owned
			*/
	const char *rule; /* static: a short stable id, "min-above-replicas" (SARIF, metrics) */
	int code;         /* 422, 409 or 403: what the API answers */
};

struct faults {
	struct fault *v; /* owned, in the order of the rules */
	size_t n;
	struct strs warnings; /* "field: text", each at most 256 bytes */
};
#define FAULTS_INIT ((struct faults){ 0 })
void faults_release(struct faults *f);
/* For rules that live elsewhere (unique names): adds one. */
PRINTF(6, 7)
MUST_USE int faults_add(struct faults *f, struct err *err, int code, const char *rule,
			const char *field, const char *fmt, ...);
/* Status code of the whole: 422 if any fault is one, else 409, else 403; 0 without faults. */
int faults_code(const struct faults *f);
/* "field: message" of all, joined by "; ", at most LIMIT_MESSAGE. */
void faults_message(const struct faults *f, struct buf *out);

/* On create. The name rules apply here only. Returns -1 only when memory is out. */
MUST_USE int validate_job(const cJSON *obj, struct faults *out, struct err *err);
/* Scalers of the job that are not finished, for bounds on the target. */
struct scaler_set {
	const struct scaler *v;
	size_t n;
};
/*
 * On update: immutability, ratchet, bounds against the target. old and now are both whole
 * objects; whether a suspended job has pods is read from old's status.
 */
MUST_USE int validate_job_update(const cJSON *old, const cJSON *now, struct scaler_set pending,
				 struct faults *out, struct err *err);
/*
 * A scaler on create. job NULL: it is not known here (offline): only the rules on the
 * object itself. job_missing: it was looked for and is not there.
 * pending: unfinished scalers of that job, this one not among them.
 */
struct scaler_world {
	const struct job *job;
	bool job_missing;
	struct scaler_set pending;
};
MUST_USE int validate_scaler(const cJSON *obj, const struct scaler_world *world, struct faults *out,
			     struct err *err);
MUST_USE int validate_scaler_update(const cJSON *old, const cJSON *now, struct faults *out,
				    struct err *err);
/*
 * Workers the job will have when all pending scalers are done: the target, plus those that
 * have not begun (one that is Scaling is in the target already).
 */
int64_t validate_size(const struct job *job, struct scaler_set pending);
/*
 * Fields that the API does not know, with the nearest known name: for offline validation
 * (the API server itself prunes or refuses them). As faults with rule "unknown-field".
 */
MUST_USE int validate_unknown(const cJSON *obj, struct faults *out, struct err *err);
#endif
