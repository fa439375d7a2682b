/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim: the controller's own code against a model of the API server, the
 * kubelet, the network and the people, all driven by one seed.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H
#include "base/buf.h"
#include "controller/engine.h"

/* What may go wrong and what people may do; each can be turned off to make a history smaller. */
enum chaos {
	CH_CRASH,     /* the controller ends and starts again */
	CH_LEADER,    /* another replica takes over, the old one's requests still arrive */
	CH_LOST,      /* a watch breaks: a list replaces what was not delivered */
	CH_LATE,      /* news of a kind waits */
	CH_DUPLICATE, /* an event comes twice */
	CH_REORDER,   /* events of two objects change places */
	CH_REFUSE,    /* 409, 429, 500 without a reason */
	CH_TIMEOUT,   /* no answer; the write may have happened */
	CH_CLOCK,     /* the controller's wall clock jumps */
	CH_POD,       /* pods fail, are evicted, turn unready */
	CH_DELETE,    /* pods, ConfigMap, Service or Secret deleted by hand */
	CH_TAINT,     /* nodes push pods out */
	CH_SCALER,    /* ScaleOut, ScaleIn made and deleted */
	CH_REPLICAS,  /* spec.replicas changed */
	CH_SUSPEND,
	CH_LAUNCHER, /* the launcher ends, well or badly */
	CH_RIVAL,    /* a second job of that name, a job deleted and made again */
	CH_FOREIGN,  /* somebody else's objects under our names */
	CH_CAPACITY, /* not enough room for all pods */
	CH_COUNT,
};

#define KIND_SECRET SEEN_NODE + 1
#define KIND_COUNT (SEEN_NODE + 2)

struct change {     /* of the model's history, in the order of resourceVersions */
	cJSON *obj; /* owned: as it was then; for a deletion as it was last */
	bool deleted;
};

struct changes {
	struct change *v;
	size_t n, size;
};

struct objects {
	cJSON **v; /* owned */
	size_t n, size;
};

struct used { /* a worker name that was once given to a pod */
	char *name, *job_uid, *pod_uid;
};

struct tracked { /* what really happened to a pod */
	char *uid;
	bool ready_ever, gone;
	int64_t going_ms; /* since when it leaves; 0: it does not */
};

struct call_under_way {
	struct kube_req req; /* strings are the owned copies below */
	char *method, *path, *body;
	int ctl; /* index of the controller that sent it; -1: it is dead */
	bool executed;
	int http;       /* answer */
	cJSON *answer;  /* owned */
	bool no_answer; /* the answer is lost */
};

struct view {             /* an informer's copy of a kind */
	struct map store; /* "ns/name" -> cJSON *, owned */
	size_t pos;       /* changes delivered */
	bool ahead;       /* the one at pos + 1 was delivered before the one at pos */
	int64_t late_ms;  /* nothing is delivered before */
};

struct controller {
	bool alive;
	struct engine engine;
	struct clock clock;
	struct view views[KIND_COUNT];
	struct sim *sim;
	int index;
};

struct sim {
	uint64_t seed, rng;
	bool off[CH_COUNT];
	size_t steps;    /* of chaos */
	bool trace;      /* print each step */
	int64_t now_ms;  /* virtual, monotonic; wall = now_ms + EPOCH */
	int64_t skew_ms; /* of the controllers' wall clock */
	int64_t rv, uid;
	struct objects objs[KIND_COUNT];
	struct changes log[KIND_COUNT];
	struct call_under_way *calls;
	size_t ncalls, calls_size;
	struct controller ctl[2];
	struct used *used;
	size_t nused;
	struct tracked *tracked;
	size_t ntracked;
	size_t capacity;
	bool calm; /* no more chaos */
	size_t requests;
	int64_t launcher_deaths;
	struct buf fail; /* text of the first broken invariant; empty: none */
};

#define SIM_EPOCH_MS 1700000000000 /* Unix time of now_ms 0 */
#define SIM_LAG_MS 120000          /* no copy and no request is ever older */

uint64_t sim_random(struct sim *s);
size_t sim_below(struct sim *s, size_t n);
bool sim_chance(struct sim *s, enum chaos c, unsigned percent);
PRINTF(2, 3) void sim_say(struct sim *s, const char *fmt, ...);
/* A broken invariant: the first one is kept. */
PRINTF(2, 3) void sim_broken(struct sim *s, const char *fmt, ...);
/* Memory is out: the simulator itself gives up. */
void sim_need(bool ok);
void sim_time(const struct sim *s, char *out);

/* net.c: a controller's process, its informers, the network. */
void ctl_start(struct sim *s, int index);
void ctl_stop(struct sim *s, int index);
void call_execute(struct sim *s, size_t i);
void call_answer(struct sim *s, size_t i);
void call_drop(struct sim *s, size_t i);
void network_step(struct sim *s);
void deliver(struct controller *ctl, int kind);
bool is_seen(int kind); /* a kind that the controller watches */

/* api.c: the model API server. */
cJSON *api_find(struct sim *s, int kind, const char *ns, const char *name);
/* Takes obj; gives it uid, resourceVersion and creationTimestamp. NULL: the name is taken. */
cJSON *api_create(struct sim *s, int kind, cJSON *obj);
/* obj was changed in place: a new resourceVersion and news of it. */
void api_changed(struct sim *s, int kind, cJSON *obj);
void api_remove(struct sim *s, int kind, cJSON *obj);
void api_delete(struct sim *s, int kind, cJSON *obj, int64_t grace_s);
/* Executes a request: status and *answer (owned by the caller). */
int api_request(struct sim *s, const char *method, const char *path, const char *body,
		cJSON **answer);
void api_release(struct sim *s);
/* Deletes what belongs to owners that are gone. */
void api_collect(struct sim *s);
const char *obj_str(const cJSON *obj, const char *key); /* of metadata */

/* pods.c: scheduler, kubelet, and what can happen to pods. */
void pods_step(struct sim *s, bool all);
bool pod_dead(const cJSON *pod);
bool pod_ready(const cJSON *pod);
struct tracked *pod_track(struct sim *s, const char *uid);
void pod_finish(struct sim *s, cJSON *pod, int code, const char *reason);

/* people.c: what users and administrators do. */
void people_start(struct sim *s);
void people_step(struct sim *s);
void people_untaint(struct sim *s, cJSON *node);

/* check.c */
void check_created(struct sim *s, int kind, const cJSON *obj);
void check_config(struct sim *s, const char *before, const cJSON *config);
void check_status(struct sim *s, int kind, const cJSON *before, const cJSON *now);
void check_end(struct sim *s);
#endif
