/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: one HTTP request and its answer. Lives in the daemon's thread, but
 * for the time between exchange_suspend and lane's resume, when the lane has it.
 */
#ifndef WEBHOOK_EXCHANGE_H
#define WEBHOOK_EXCHANGE_H
#include <microhttpd.h>

#include "webhook/arena.h"
#include "webhook/conn.h"
#include "webhook/server.h"

struct lane;

/* What a daemon's thread works with. */
struct worker {
	struct MHD_Daemon *daemon;
	const struct server_opts *opts;
	struct lane *lane;
	atomic_bool *draining;
	struct conn_table conns;
	struct arena arena;
};

#define EXCHANGE_MAGIC 0x65786368u
struct exchange {
	unsigned magic; /* EXCHANGE_MAGIC */
	struct worker *worker;
	struct conn *conn;          /* borrowed; NULL when memory was out */
	struct MHD_Connection *mhd; /* borrowed */
	enum review_path path;
	int status;      /* nonzero: an HTTP error, whatever the body is */
	const char *why; /* static: the text of that error */
	bool body_begun, decided, failed;
	struct buf body;
	struct review_result result;
	int64_t start_us; /* monotonic */
	/* of the lane */
	struct exchange *next;
	int64_t wait_until_ms;         /* monotonic; 0: does not wait for the index */
	unsigned long long generation; /* of the snapshots that it was decided on */
};

/* libmicrohttpd's callbacks; cls is a struct worker. */
enum MHD_Result exchange_on_request(void *cls, struct MHD_Connection *c, const char *url,
				    const char *method, const char *version, const char *data,
				    size_t *n, void **state);
void exchange_on_completed(void *cls, struct MHD_Connection *c, void **state,
			   enum MHD_RequestTerminationCode code);
void exchange_on_connection(void *cls, struct MHD_Connection *c, void **state,
			    enum MHD_ConnectionNotificationCode code);
/* Decides; true when it must wait for the index. For the daemon's thread and the lane's. */
bool exchange_decide(struct exchange *x, struct arena *arena, bool may_wait);
/* Monotonic. */
int64_t exchange_now_ms(void);
int64_t exchange_now_us(void);
#endif
