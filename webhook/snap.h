/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap: what the webhook knows of the cluster at one moment: jobs by name and
 * the scalers of each. Built by one thread, then never changed; many threads
 * read it, each holding a reference. The objects in it are shared between
 * snapshots, so a new one costs pointers, not copies.
 */
#ifndef WEBHOOK_SNAP_H
#define WEBHOOK_SNAP_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "etjob/scaler.h"
#include "etjob/validate.h"
#include "wire/json.h"

/* An object that several snapshots hold. */
struct snap_obj {
	atomic_uint refs;
	cJSON *json;    /* owned; trimmed to what the rules look at */
	const char *ns; /* borrowed from json, "" when absent */
	const char *name;
	bool out; /* a ScaleOut; of scalers only */
};

struct snap {
	atomic_uint refs;
	struct map jobs;    /* "ns/name" -> struct snap_obj * */
	struct map names;   /* job name -> struct snap_list * */
	struct map scalers; /* "ns/job" -> struct snap_list * */
	struct map keys; /* "o/ns/name" (ScaleOut) or "i/ns/name" (ScaleIn) -> struct snap_obj * */
};

/* Takes json. */
MUST_USE int snap_obj_new(cJSON *json, struct snap_obj **out, struct err *err);
struct snap_obj *snap_obj_ref(struct snap_obj *o);
/* NULL is fine. */
void snap_obj_free(struct snap_obj *o);

/* An empty snapshot with one reference. */
MUST_USE int snap_new(struct snap **out, struct err *err);
struct snap *snap_ref(struct snap *s);
/* Drops a reference; NULL is fine. */
void snap_free(struct snap *s);
DEFINE_AUTO_PTR(snap, struct snap);
/* Both take a reference to o. Only while nobody else has s. */
MUST_USE int snap_add_job(struct snap *s, struct snap_obj *o, struct err *err);
MUST_USE int snap_add_scaler(struct snap *s, struct snap_obj *o, struct err *err);

/* The job's object, or NULL. Borrowed from s. */
const cJSON *snap_job(const struct snap *s, const char *ns, const char *name);
/* A namespace other than ns that has a job of that name (the first in order), or NULL. */
const char *snap_holder(const struct snap *s, const char *name, const char *ns);
bool snap_has_scaler(const struct snap *s, bool out, const char *ns, const char *name);
/* Appends the unfinished scalers of a job to v, which has room for max of them; returns how many
 * there are in all. */
size_t snap_pending(const struct snap *s, const char *ns, const char *job, struct scaler *v,
		    size_t max);

/*
 * The place where the present snapshot lies: one writer replaces it whole, any
 * thread takes a reference.
 */
struct snap_cell {
	pthread_mutex_t lock;
	struct snap *snap;        /* owned reference; NULL until the first */
	atomic_llong heard_ms;    /* monotonic: the API server was last heard; -1: never */
	atomic_ullong generation; /* of snapshots, from 0 */
};
MUST_USE int snap_cell_init(struct snap_cell *c, struct err *err);
void snap_cell_release(struct snap_cell *c);
/* Takes the reference s. */
void snap_cell_set(struct snap_cell *c, struct snap *s);
/* A reference for the caller, or NULL before the first. */
struct snap *snap_cell_get(struct snap_cell *c);

/* Cuts a TrainingJob, ScaleOut or ScaleIn down to what a snapshot needs, in place. */
void snap_trim(cJSON *obj);
#endif
