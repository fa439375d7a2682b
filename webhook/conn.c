/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/conn.h"

#include <sys/socket.h>

int conn_table_init(struct conn_table *t, struct err *err)
{
	t->first = NULL;
	atomic_init(&t->count, 0);
	return pthread_mutex_init(&t->lock, NULL) == 0 ? 0 : err_nomem(err);
}

void conn_table_release(struct conn_table *t)
{
	while (t->first)
		conn_remove(t, t->first);
	pthread_mutex_destroy(&t->lock);
}

struct conn *conn_add(struct conn_table *t, int fd, int64_t now_ms)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->magic = CONN_MAGIC;
	c->fd = fd;
	c->since_ms = now_ms;
	pthread_mutex_lock(&t->lock);
	c->next = t->first;
	if (c->next)
		c->next->prev = c;
	t->first = c;
	pthread_mutex_unlock(&t->lock);
	atomic_fetch_add(&t->count, 1);
	return c;
}

void conn_remove(struct conn_table *t, struct conn *c)
{
	pthread_mutex_lock(&t->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		t->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_mutex_unlock(&t->lock);
	atomic_fetch_sub(&t->count, 1);
	c->magic = 0;
	free(c);
}

/*
 * The daemon's thread sees the end of the stream and closes. The descriptor is
 * still open: it is closed after conn_remove(), which takes the same lock.
 */
static void end(struct conn *c)
{
	if (!atomic_exchange(&c->ended, true))
		(void)shutdown(c->fd, SHUT_RDWR); /* fails only when the peer was faster */
}

void conn_reap(struct conn_table *t, int64_t now_ms, int64_t request_ms, int64_t idle_ms,
	       struct metrics *m)
{
	pthread_mutex_lock(&t->lock);
	for (struct conn *c = t->first; c; c = c->next) {
		int64_t busy = atomic_load(&c->busy_ms), proven = atomic_load(&c->proven_ms);
		enum metrics_close why;

		if (atomic_load(&c->ended))
			continue;
		if (busy && now_ms - busy > request_ms)
			why = CLOSE_SLOW;
		else if (!busy && !proven && now_ms - c->since_ms > request_ms)
			why = CLOSE_SLOW; /* a handshake or a head that never comes */
		else if (!busy && proven && now_ms - proven > idle_ms)
			why = CLOSE_IDLE;
		else
			continue;
		atomic_fetch_add(&m->closed[why], 1);
		end(c);
	}
	pthread_mutex_unlock(&t->lock);
}

/* One that never sent a whole request counts as a day older than one that did. */
static int64_t useless_ms(struct conn *c, int64_t now_ms)
{
	int64_t proven = atomic_load(&c->proven_ms);

	if (atomic_load(&c->busy_ms) || atomic_load(&c->ended))
		return -1;
	return proven ? now_ms - proven : now_ms - c->since_ms + 86400000;
}

static struct conn *idlest(struct conn_table *t, int64_t now_ms, int64_t *ms)
{
	struct conn *found = NULL;

	*ms = -1;
	for (struct conn *c = t->first; c; c = c->next) {
		int64_t useless = useless_ms(c, now_ms);

		if (useless > *ms) {
			*ms = useless;
			found = c;
		}
	}
	return found;
}

int64_t conn_idlest_ms(struct conn_table *t, int64_t now_ms)
{
	int64_t ms;

	pthread_mutex_lock(&t->lock);
	(void)idlest(t, now_ms, &ms); /* only its age is asked for */
	pthread_mutex_unlock(&t->lock);
	return ms;
}

bool conn_evict(struct conn_table *t, int64_t now_ms)
{
	struct conn *c;
	int64_t ms;

	pthread_mutex_lock(&t->lock);
	c = idlest(t, now_ms, &ms);
	if (c)
		end(c);
	pthread_mutex_unlock(&t->lock);
	return c;
}

void conn_end_idle(struct conn_table *t)
{
	pthread_mutex_lock(&t->lock);
	for (struct conn *c = t->first; c; c = c->next)
		if (!atomic_load(&c->busy_ms))
			end(c);
	pthread_mutex_unlock(&t->lock);
}
