/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: all that is known about each job: the informers' objects, indexed by job, and on top
 * of them the answers to our own writes until the informers have caught up. So no plan is ever
 * made from a copy that is older than our own last write.
 *
 * Objects are borrowed from the informers' stores: observe_change() is called with each change
 * before the old object is freed.
 */
#ifndef CONTROLLER_OBSERVE_H
#define CONTROLLER_OBSERVE_H
#include "base/map.h"
#include "controller/plan.h"

enum seen { SEEN_JOB, SEEN_SCALEOUT, SEEN_SCALEIN, SEEN_POD, SEEN_SERVICE, SEEN_CONFIG, SEEN_NODE };

/* An object that a write returned and that no informer has delivered yet. */
struct newer {
	enum seen kind;
	char *name;       /* owned */
	cJSON *obj;       /* owned */
	int64_t since_ms; /* monotonic */
	struct newer *next;
};

/* Something of somebody else in the place of ours: learnt from a refused create. */
struct taken {
	const char *kind; /* static */
	char *name;       /* owned */
	bool deleting;
	int64_t until_ms; /* monotonic: then it is tried again */
	struct taken *next;
};

struct objs {
	const cJSON **v; /* owned array of borrowed objects */
	size_t n, size;
};

/* One job by namespace and name, also when only its pods or scalers are known. */
struct rec {
	char *key, *ns, *name; /* owned; key "ns/name" */
	const cJSON *job;      /* borrowed, NULL: none */
	const cJSON *service, *config;
	struct objs pods, scalers;
	struct newer *newer; /* owned list */
	struct strs gone;    /* UIDs that an informer saw deleted while requests were under way */
	struct strs deleted; /* UIDs of pods that we deleted and that are still in a store */
	/* What may be forgotten at any time (see plan.h). */
	char *uid; /* of the job that the rest is about; owned */
	struct strs fresh;
	struct taken *taken; /* owned list */
	bool group;          /* the PodGroup was made, or there can be none */
	bool secret;
	int64_t secret_ms; /* monotonic: when it was last seen to be there */
	int64_t create_after_ms, failures, failed_ms;
	char *refused; /* owned */
	bool launcher_gone;
	bool log_known;
	char *script_uid, *script_message; /* owned; see struct world */
	enum script_state script;
	int64_t script_tries;
	char *log;     /* owned */
	char *log_uid; /* of the launcher pod that it is of; owned */
	/* The queue's. */
	bool dirty, busy;
	int64_t wake_ms;       /* monotonic; 0: none */
	int64_t not_before_ms; /* monotonic: back-off after errors */
	int64_t errors;        /* in a row */
	int64_t dirty_ms;      /* monotonic: since when it waits */
	int64_t last_event_ms;
	uint64_t last_event;
	struct rec *next_dirty;
};

struct observe {
	struct map recs;     /* "ns/name" -> struct rec *, owned */
	struct map names;    /* name -> struct objs * of TrainingJobs in all namespaces, owned */
	struct map nodes;    /* name -> const cJSON *, borrowed */
	bool unique_cluster; /* --unique-names=cluster */
	bool allow_scripts;
	void *arg;
	void (*on_dirty)(void *arg, struct rec *rec);
};

void observe_init(struct observe *o);
void observe_release(struct observe *o);
/* old NULL: added; now NULL: deleted. Marks what is concerned as dirty. */
MUST_USE int observe_change(struct observe *o, enum seen kind, const cJSON *old, const cJSON *now,
			    struct err *err);
/* The answer to a write of ours; takes obj, also on failure. */
MUST_USE int observe_written(struct rec *rec, enum seen kind, cJSON *obj, int64_t mono_ms,
			     struct err *err);
/* A pod of that UID was deleted by us, or is not there any more. */
MUST_USE int observe_deleted(struct rec *rec, const char *uid, struct err *err);
/* A create found that name in other hands. kind is static. */
MUST_USE int observe_taken(struct rec *rec, const char *kind, const char *name, bool deleting,
			   int64_t until_ms, struct err *err);
/* The name is ours now. */
void observe_free(struct rec *rec, const char *kind, const char *name);
/* No request of rec is under way any more. */
void observe_quiet(struct rec *rec);
/* Fills out (WORLD_INIT), which borrows from rec and the stores until the next change. */
MUST_USE int observe_world(struct observe *o, struct rec *rec, int64_t mono_ms, struct world *out,
			   struct err *err);
/* Monotonic ms at which what rec holds grows too old to be believed; INT64_MAX: never. */
int64_t observe_wake_ms(const struct rec *rec);
/* Drops a rec that stands for nothing; true when it did (rec is freed). */
bool observe_forget(struct observe *o, struct rec *rec);
#endif
