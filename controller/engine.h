/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: observe -> plan -> act, over and over. It owns no socket, no timer
 * and no clock: requests, time and randomness come through struct engine_io,
 * so that the simulator runs this very code. One thread.
 *
 * One job's actions are done in their order; many jobs go on at once. While a
 * job's requests are under way it is not planned; what comes in meanwhile
 * marks it for another look.
 */
#ifndef CONTROLLER_ENGINE_H
#define CONTROLLER_ENGINE_H
#include "base/log.h"
#include "controller/observe.h"

struct engine_io {
	void *arg;
	const struct clock *clock;
	const struct log *log; /* NULL: silent */
	/* Starts a request; req->on_done is called exactly once, later. */
	int (*send)(void *arg, const struct kube_req *req, struct err *err);
	uint64_t (*random)(void *arg);
	/* A key pair for ssh: see sshkey.h. */
	int (*make_key)(void *arg, struct buf *private_pem, struct buf *public_line,
			struct err *err);
	const char *identity; /* of this replica, for events */
};

/* Figures since the start; metrics.c prints them. */
struct engine_stats {
	uint64_t plans, plan_errors;
	uint64_t requests[5];       /* GET, POST, PATCH, DELETE, others */
	uint64_t conflicts, errors; /* answers: 409; other failures */
	uint64_t events, events_failed;
	uint64_t workers_lost;
	uint64_t scales[2][2];   /* [in, out][failed, succeeded] */
	double scale_seconds[2]; /* sum of the durations of those that succeeded */
	double last_scale_seconds[2];
	uint64_t handle_count;              /* changes handled */
	double handle_seconds, handle_most; /* from the first news to the last answer */
};

struct engine {
	struct engine_io io;
	struct observe seen;
	struct engine_stats stats;
	struct rec *dirty_first, *dirty_last;
	size_t dirty, busy; /* jobs that wait for a look; jobs with requests under way */
	size_t under_way;   /* requests of batches */
	bool stopped;       /* nothing is begun any more */
};

void engine_init(struct engine *e, const struct engine_io *io);
/* Requests under way must have been cancelled or answered. */
void engine_release(struct engine *e);
/* An informer's news. Logs and counts what fails. */
void engine_change(struct engine *e, enum seen kind, const cJSON *old, const cJSON *now);
/* Plans what is due and sends what follows; returns when there is nothing to do now. */
void engine_run(struct engine *e);
/* Monotonic ms at which engine_run() has something to do; INT64_MAX: only after news. */
int64_t engine_next_ms(const struct engine *e);
void engine_mark(struct engine *e, struct rec *rec);

/* act.c: does the actions (taken over) of one job, then calls engine_done(). */
MUST_USE int act_start(struct engine *e, struct rec *rec, struct actions *actions, struct err *err);
struct done {
	bool ok;          /* all actions were done */
	bool conflict;    /* one was refused because the world had changed */
	int64_t retry_ms; /* the server asked to wait so long; -1: it did not */
	const struct actions *actions;
};
void engine_done(struct engine *e, struct rec *rec, const struct done *done);
/* events.c: a->body is what event_reference() made; the message may be cut. */
void event_send(struct engine *e, struct rec *rec, const struct action *a);
/* An involvedObject for about; NULL with err on no memory. */
cJSON *event_reference(const cJSON *about, struct err *err);
#endif
