/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn: the open connections of one daemon, so that somebody can end those that
 * take too long. Added and removed in the daemon's thread, looked at by the accept loop.
 */
#ifndef WEBHOOK_CONN_H
#define WEBHOOK_CONN_H
#include <pthread.h>
#include <stdatomic.h>

#include "webhook/metrics.h"

#define CONN_MAGIC 0x636f6e6eu

struct conn {
	unsigned magic; /* CONN_MAGIC */
	int fd;         /* libmicrohttpd's */
	int64_t since_ms;
	atomic_llong busy_ms;   /* monotonic start of the request under way; 0: none */
	atomic_llong proven_ms; /* monotonic end of the last whole request; 0: none yet */
	atomic_bool ended;      /* shutdown(2) was called */
	struct conn *prev, *next;
};

struct conn_table {
	pthread_mutex_t lock;
	struct conn *first; /* owned */
	atomic_size_t count;
};
MUST_USE int conn_table_init(struct conn_table *t, struct err *err);
void conn_table_release(struct conn_table *t);
/* NULL when memory is out. */
struct conn *conn_add(struct conn_table *t, int fd, int64_t now_ms);
/* Frees it. */
void conn_remove(struct conn_table *t, struct conn *c);
/* Ends what is over its time; counts them in m. */
void conn_reap(struct conn_table *t, int64_t now_ms, int64_t request_ms, int64_t idle_ms,
	       struct metrics *m);
/* How long the most useless connection has been of no use, in ms; -1 when all are busy. */
int64_t conn_idlest_ms(struct conn_table *t, int64_t now_ms);
/* Ends the most useless one; false when there is none. */
bool conn_evict(struct conn_table *t, int64_t now_ms);
/* Ends all that have no request under way. */
void conn_end_idle(struct conn_table *t);
#endif
