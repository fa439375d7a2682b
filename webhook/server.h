/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: HTTPS for the API server. An accept loop hands each connection to the
 * least loaded of N libmicrohttpd daemons of one thread each; libmicrohttpd's
 * own pool leaves threads idle. Bodies over SERVER_BIG, and reviews that wait
 * for the index, are decided on one more thread of lower priority (lane.h), so
 * that they hold up nobody.
 *
 * Limits, whoever the client is: SERVER_CONNECTIONS connections (the one that is
 * idle longest goes first), SERVER_BODIES bytes of bodies at once, SERVER_REQUEST_MS for a
 * request from its first byte to its answer, SERVER_IDLE_MS between requests.
 */
#ifndef WEBHOOK_SERVER_H
#define WEBHOOK_SERVER_H
#include "base/log.h"
#include "webhook/metrics.h"
#include "webhook/review.h"
#include "webhook/tls.h"

#define SERVER_CONNECTIONS 1024
#define SERVER_BODIES (64u << 20) /* bytes of request bodies in memory at once */
#define SERVER_SPARE \
	(32u << 20) /* bytes more for bodies that are not big: they get in all the same */
#define SERVER_BIG (256u << 10) /* bytes; larger bodies go to the lane */
#define SERVER_REQUEST_MS 10000
#define SERVER_IDLE_MS 130000 /* the API server gives up its idle connections after 90 s */
#define SERVER_WAIT_MS 300    /* for a job that the index does not show */

struct server_opts {
	const char *listen; /* "[HOST]:PORT" */
	size_t threads;     /* daemons; at least 1 */
	bool plain;         /* without TLS: for measurements and tests only */
	struct tls_store *tls;
	struct metrics *metrics;
	const struct log *log;
	const struct review_env *env;
};

struct server;
/* Listens and serves. opts' strings and pointers are borrowed until server_free. FAIL_USAGE,
 * FAIL_OS. */
MUST_USE int server_start(const struct server_opts *opts, struct server **out, struct err *err);
/* The port that it listens on. */
unsigned server_port(const struct server *s);
/* The index has a new snapshot: reviews that wait look again. Any thread. */
void server_index_moved(struct server *s);
/* From here answers carry "Connection: close", so that clients go elsewhere. Any thread. */
void server_drain(struct server *s);
/* Takes no more connections. */
void server_close(struct server *s);
/* Requests that are being read or answered. */
size_t server_in_flight(struct server *s);
/* Ends all connections and threads and frees s. NULL is fine. */
void server_free(struct server *s);

/* A listening socket on "[HOST]:PORT", or -1; without a host on all addresses, IPv6 and IPv4. */
MUST_USE int server_listen(const char *listen, int *fd, struct err *err);
#endif
