/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "webhook/exchange.h"
#include "webhook/lane.h"

#define REAP_MS 500
#define PACE_US 2000            /* between two new connections of a thread */
#define BURST 8                 /* that may come at once after a pause */
#define MEMORY_BYTES (32 << 10) /* of one connection: its head, and pieces of its body */
#define MEMORY_STEP_BYTES 8192
#define STACK_BYTES (512 << 10) /* the parser is bounded in depth */
#define SPARE 64                /* connections above the limit while evicted ones close */

struct server {
	struct server_opts opts;
	struct worker *workers; /* owned; opts.threads */
	struct lane *lane;      /* owned */
	pthread_t acceptor;
	bool accepting; /* the thread runs */
	int fd, wake_fd;
	size_t next;       /* worker that is looked at first, for even shares */
	int64_t tokens_us; /* time that new connections have saved up, see take_token() */
	int64_t refilled_us;
	atomic_bool draining, stop;
};

/* --- accepting ------------------------------------------------------------------ */

static size_t connections(struct server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->opts.threads; i++)
		n += atomic_load(&s->workers[i].conns.count);
	return n;
}

static void make_room(struct server *s)
{
	int64_t now = exchange_now_ms(), most = -1;
	struct worker *from = NULL;

	for (size_t i = 0; i < s->opts.threads; i++) {
		int64_t ms = conn_idlest_ms(&s->workers[i].conns, now);

		if (ms > most) {
			most = ms;
			from = &s->workers[i];
		}
	}
	if (from && conn_evict(&from->conns, now))
		atomic_fetch_add(&s->opts.metrics->closed[CLOSE_EVICTED], 1);
}

static struct worker *least_loaded(struct server *s)
{
	struct worker *found = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < s->opts.threads; i++) {
		struct worker *w = &s->workers[(s->next + i) % s->opts.threads];
		size_t n = atomic_load(&w->conns.count);

		if (n < least) {
			least = n;
			found = w;
		}
	}
	s->next = (s->next + 1) % s->opts.threads;
	return found;
}

/*
 * A handshake takes as long as some reviews, in the thread that also answers: a
 * crowd of new connections would push the requests of the others back by its
 * number. So they come in one at a time, PACE_US apart for each thread.
 */
static bool take_token(struct server *s)
{
	const int64_t price = PACE_US / (int64_t)s->opts.threads;
	int64_t now = exchange_now_us();

	s->tokens_us += now - s->refilled_us;
	s->refilled_us = now;
	if (s->tokens_us > BURST * price)
		s->tokens_us = BURST * price;
	if (s->tokens_us < price)
		return false;
	s->tokens_us -= price;
	return true;
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct server *s)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int fd = accept4(s->fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			make_room(s);
		return errno == EINTR || errno == ECONNABORTED;
	}
	if (connections(s) >= SERVER_CONNECTIONS)
		make_room(s);
	atomic_fetch_add(&s->opts.metrics->accepted, 1);
	/* It owns fd from here, also when it fails; then there is nobody left to tell. */
	(void)MHD_add_connection(least_loaded(s)->daemon, fd, (struct sockaddr *)&addr, len);
	return true;
}

static void *accept_loop(void *arg)
{
	struct server *s = arg;
	struct pollfd fds[2] = { { .fd = s->fd, .events = POLLIN },
				 { .fd = s->wake_fd, .events = POLLIN } };
	int64_t reap_ms = exchange_now_ms() + REAP_MS;

	while (!atomic_load(&s->stop)) {
		int64_t now;

		if (poll(fds, 2, REAP_MS) > 0 && (fds[0].revents & POLLIN)) {
			while (take_token(s) && accept_one(s))
				;
			(void)poll(&fds[1], 1, 1); /* until there may be a token; or the end */
		}
		now = exchange_now_ms();
		if (now < reap_ms)
			continue;
		reap_ms = now + REAP_MS;
		for (size_t i = 0; i < s->opts.threads; i++)
			conn_reap(&s->workers[i].conns, now, SERVER_REQUEST_MS, SERVER_IDLE_MS,
				  s->opts.metrics);
	}
	return NULL;
}

/* --- daemons ---------------------------------------------------------------------- */

static void quiet(void *cls UNUSED, const char *fmt UNUSED, va_list ap UNUSED)
{
	/* What clients do wrong is counted, not logged: it would be theirs to fill the log. */
}

static int worker_start(struct worker *w, struct err *err)
{
	/*
	 * Not epoll: libmicrohttpd 0.9.75 turns without a pause while a handshake is half
	 * done, and one such client takes a whole thread.
	 */
	unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
			 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_CONNECTION_LIMIT, SERVER_CONNECTIONS + SPARE, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, SERVER_IDLE_MS / 1000, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_INCREMENT, MEMORY_STEP_BYTES, NULL },
		{ MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)exchange_on_completed, w },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)exchange_on_connection, w },
		{ MHD_OPTION_END, 0, NULL },
	};

	if (conn_table_init(&w->conns, err) < 0)
		return -1;
	/* The certificate callback is not among the options that an array may hold. */
	if (w->opts->plain)
		w->daemon = MHD_start_daemon(flags, 0, NULL, NULL, exchange_on_request, w,
					     MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL,
					     MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	else
		w->daemon = MHD_start_daemon(flags | MHD_USE_TLS, 0, NULL, NULL,
					     exchange_on_request, w, MHD_OPTION_EXTERNAL_LOGGER,
					     quiet, NULL, MHD_OPTION_HTTPS_PRIORITIES, TLS_PRIORITY,
					     MHD_OPTION_HTTPS_CERT_CALLBACK2, tls_retrieve,
					     MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!w->daemon)
		return err_set(err, FAIL_OS, "cannot start an HTTPS thread (libmicrohttpd %s)",
			       MHD_get_version());
	return 0;
}

static int server_begin(struct server *s, struct err *err)
{
	int rc;

	s->workers = calloc(s->opts.threads, sizeof(*s->workers));
	if (!s->workers)
		return err_nomem(err);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return err_os(err, errno, "cannot make an eventfd");
	if (server_listen(s->opts.listen, &s->fd, err) < 0 ||
	    lane_new(s->opts.env->cell, &s->lane, err) < 0)
		return -1;
	for (size_t i = 0; i < s->opts.threads; i++) {
		struct worker *w = &s->workers[i];

		w->opts = &s->opts;
		w->lane = s->lane;
		w->draining = &s->draining;
		if (worker_start(w, err) < 0)
			return -1;
	}
	rc = pthread_create(&s->acceptor, NULL, accept_loop, s);
	if (rc != 0)
		return err_os(err, rc, "cannot start a thread");
	s->accepting = true;
	return 0;
}

int server_start(const struct server_opts *opts, struct server **out, struct err *err)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return err_nomem(err);
	s->opts = *opts;
	s->fd = s->wake_fd = -1;
	if (server_begin(s, err) < 0) {
		server_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

unsigned server_port(const struct server *s)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getsockname(s->fd, (struct sockaddr *)&a, &len) < 0)
		return 0;
	if (a.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)(const void *)&a)->sin6_port);
	return ntohs(((const struct sockaddr_in *)(const void *)&a)->sin_port);
}

void server_index_moved(struct server *s)
{
	lane_index_moved(s->lane);
}

void server_drain(struct server *s)
{
	atomic_store(&s->draining, true);
}

void server_close(struct server *s)
{
	const uint64_t one = 1;

	if (!s->accepting)
		return;
	atomic_store(&s->stop, true);
	(void)!write(s->wake_fd, &one, sizeof(one)); /* else it wakes up within REAP_MS */
	pthread_join(s->acceptor, NULL);
	s->accepting = false;
	(void)close(s->fd);
	s->fd = -1;
}

size_t server_in_flight(struct server *s)
{
	long long n = atomic_load(&s->opts.metrics->in_flight);

	return n > 0 ? (size_t)n : 0;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	server_close(s);
	/* The lane first: libmicrohttpd does not stop while a connection is suspended. */
	lane_free(s->lane);
	for (size_t i = 0; s->workers && i < s->opts.threads; i++) {
		struct worker *w = &s->workers[i];

		if (!w->opts)
			continue;
		if (w->daemon)
			MHD_stop_daemon(w->daemon);
		conn_table_release(&w->conns);
		arena_release(&w->arena);
	}
	free(s->workers);
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->wake_fd >= 0)
		(void)close(s->wake_fd);
	free(s);
}
