/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/lane.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "webhook/exchange.h"

#define NICENESS 10 /* large bodies come from few, the rest must not feel them */

struct lane {
	struct snap_cell *cell;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* CLOCK_MONOTONIC */
	struct exchange *first, **tail;
	bool stop;
};

void lane_push(struct lane *l, struct exchange *x)
{
	x->next = NULL;
	pthread_mutex_lock(&l->lock);
	*l->tail = x;
	l->tail = &x->next;
	pthread_cond_signal(&l->moved);
	pthread_mutex_unlock(&l->lock);
}

void lane_index_moved(struct lane *l)
{
	pthread_mutex_lock(&l->lock);
	pthread_cond_signal(&l->moved);
	pthread_mutex_unlock(&l->lock);
}

/* Takes the first that can go on now; else NULL and *until_ms when one can. Holds the lock. */
static struct exchange *take(struct lane *l, int64_t *until_ms)
{
	unsigned long long generation = atomic_load(&l->cell->generation);
	int64_t now = exchange_now_ms();

	*until_ms = INT64_MAX;
	for (struct exchange **at = &l->first; *at; at = &(*at)->next) {
		struct exchange *x = *at;

		if (x->wait_until_ms > now && x->generation == generation && !l->stop) {
			if (x->wait_until_ms < *until_ms)
				*until_ms = x->wait_until_ms;
			continue;
		}
		*at = x->next;
		if (l->tail == &x->next)
			l->tail = at;
		x->next = NULL;
		return x;
	}
	return NULL;
}

static void sleep_until(struct lane *l, int64_t until_ms)
{
	struct timespec t = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };

	if (until_ms == INT64_MAX)
		pthread_cond_wait(&l->moved, &l->lock);
	else
		(void)pthread_cond_timedwait(&l->moved, &l->lock, &t); /* a time-out is the plan */
}

static void work(struct lane *l, struct exchange *x, struct arena *arena)
{
	unsigned long long generation = atomic_load(&l->cell->generation);
	int64_t now = exchange_now_ms();
	bool may_wait = !x->wait_until_ms || x->wait_until_ms > now;

	if (!exchange_decide(x, arena, may_wait)) {
		MHD_resume_connection(x->mhd);
		return;
	}
	if (!x->wait_until_ms)
		x->wait_until_ms = now + SERVER_WAIT_MS;
	x->generation = generation;
	lane_push(l, x);
}

static void *run(void *arg)
{
	struct lane *l = arg;
	AUTO(arena) struct arena arena = ARENA_INIT;
	const struct sched_param normal = { 0 };
	bool stop = false;

	/* Wishes, both; the first also takes a real-time priority away. */
	(void)sched_setscheduler(0, SCHED_BATCH, &normal);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	while (!stop) {
		struct exchange *x;
		int64_t until_ms;

		pthread_mutex_lock(&l->lock);
		x = take(l, &until_ms);
		if (!x && !l->stop)
			sleep_until(l, until_ms);
		stop = !x && l->stop;
		pthread_mutex_unlock(&l->lock);
		if (x)
			work(l, x, &arena);
	}
	return NULL;
}

int lane_new(struct snap_cell *cell, struct lane **out, struct err *err)
{
	struct lane *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	int rc;

	if (!l)
		return err_nomem(err);
	l->cell = cell;
	l->tail = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->moved, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&l->thread, NULL, run, l);
	if (rc != 0) {
		pthread_cond_destroy(&l->moved);
		pthread_mutex_destroy(&l->lock);
		free(l);
		return err_os(err, rc, "cannot start a thread");
	}
	*out = l;
	return 0;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->moved);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->moved);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
