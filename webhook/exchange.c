/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/exchange.h"

#include <strings.h>

#include "base/limits.h"
#include "base/num.h"
#include "webhook/lane.h"

#define DISCARD_MAX \
	(32 << 20) /* a body too large is read up to here, so that the client reads us */

int64_t exchange_now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can not fail with this clock */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t exchange_now_ms(void)
{
	return exchange_now_us() / 1000;
}

/* --- connections ---------------------------------------------------------------- */

void exchange_on_connection(void *cls, struct MHD_Connection *c, void **state,
			    enum MHD_ConnectionNotificationCode code)
{
	struct worker *w = cls;
	struct conn *conn = *state;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

		tls_thread_use(w->opts->tls); /* this thread does the handshake */
		*state = info ? conn_add(&w->conns, info->connect_fd, exchange_now_ms()) : NULL;
		atomic_fetch_add(&w->opts->metrics->connections, 1);
		return;
	}
	atomic_fetch_sub(&w->opts->metrics->connections, 1);
	if (conn)
		conn_remove(&w->conns, conn);
	*state = NULL;
}

/* --- the head --------------------------------------------------------------------- */

static void refuse(struct exchange *x, int status, const char *why)
{
	if (x->status)
		return;
	x->status = status;
	x->why = why;
}

static bool is_json(const char *type)
{
	static const char json[] = "application/json";

	return type && strncasecmp(type, json, sizeof(json) - 1) == 0 &&
	       strchr("; \t", type[sizeof(json) - 1]);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Sets a refusal, or the path. */
static void check_head(struct exchange *x, const char *url, const char *method)
{
	const char *length = header(x->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
	const char *coding = header(x->mhd, MHD_HTTP_HEADER_TRANSFER_ENCODING);
	int64_t bytes = 0;

	if (strcmp(url, "/mutate") == 0)
		x->path = REVIEW_MUTATE;
	else if (strcmp(url, "/validate") == 0)
		x->path = REVIEW_VALIDATE;
	else
		refuse(x, 404, "only /mutate and /validate are here");
	if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
		refuse(x, 405, "an AdmissionReview comes by POST");
	if (length && coding)
		refuse(x, 400, "Content-Length together with Transfer-Encoding");
	if (!is_json(header(x->mhd, MHD_HTTP_HEADER_CONTENT_TYPE)))
		refuse(x, 415, "the body must be application/json");
	if (length && (num_parse(length, strlen(length), 0, INT64_MAX, &bytes, NULL) < 0 ||
		       bytes > (int64_t)LIMIT_REVIEW))
		refuse(x, 413, "the body is larger than 7 MiB");
	if (!x->status && bytes)
		buf_reserve(&x->body, (size_t)bytes < SERVER_BIG ? (size_t)bytes : SERVER_BIG);
}

static struct exchange *exchange_new(struct worker *w, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->magic = EXCHANGE_MAGIC;
	x->worker = w;
	x->mhd = c;
	x->conn = info ? info->socket_context : NULL;
	x->body = BUF_INIT(LIMIT_REVIEW);
	x->result = REVIEW_RESULT_INIT;
	x->start_us = exchange_now_us();
	atomic_fetch_add(&w->opts->metrics->in_flight, 1);
	if (x->conn && x->conn->magic == CONN_MAGIC)
		atomic_store(&x->conn->busy_ms, x->start_us / 1000);
	return x;
}

void exchange_on_completed(void *cls UNUSED, struct MHD_Connection *c UNUSED, void **state,
			   enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *state;
	struct metrics *m;

	if (!x || x->magic != EXCHANGE_MAGIC)
		return;
	m = x->worker->opts->metrics;
	if (x->conn) {
		if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
			atomic_store(&x->conn->proven_ms, exchange_now_ms());
		atomic_store(&x->conn->busy_ms, 0);
	}
	atomic_fetch_sub(&m->body_bytes, (long long)x->body.len);
	atomic_fetch_sub(&m->in_flight, 1);
	buf_release(&x->body);
	review_result_release(&x->result);
	x->magic = 0;
	free(x);
	*state = NULL;
}

/* --- the body ----------------------------------------------------------------------- */

static void drop_body(struct exchange *x)
{
	atomic_fetch_sub(&x->worker->opts->metrics->body_bytes, (long long)x->body.len);
	buf_release(&x->body);
}

static void collect(struct exchange *x, const char *data, size_t n)
{
	struct metrics *m = x->worker->opts->metrics;
	long long most = SERVER_BODIES;

	if (x->status)
		return;
	if (x->body.len + n <= SERVER_BIG)
		most += SERVER_SPARE;
	if (x->body.len + n > LIMIT_REVIEW) {
		refuse(x, 413, "the body is larger than 7 MiB");
	} else if (atomic_load(&m->body_bytes) + (long long)n > most) {
		refuse(x, 503, "too many large bodies at once, try again");
	} else {
		buf_add(&x->body, data, n);
		if (x->body.fail == FAIL_NONE)
			atomic_fetch_add(&m->body_bytes, (long long)n);
		else
			refuse(x, 500, "out of memory");
	}
	if (x->status)
		drop_body(x);
}

/* --- the answer ---------------------------------------------------------------------- */

static void log_denial(const struct exchange *x)
{
	const struct review_result *r = &x->result;
	char code[16];

	snprintf(code, sizeof(code), "%d", r->code);
	log_event(x->worker->opts->log, LOG_INFO, "denied", "uid", r->uid, "kind",
		  request_kind_word(r->kind), "operation", request_op_word(r->op), "namespace",
		  r->ns, "name", r->name, "user", r->user, "dry_run", r->dry_run ? "true" : "false",
		  "code", code, "reasons", r->reasons, NULL);
}

bool exchange_decide(struct exchange *x, struct arena *arena, bool may_wait)
{
	const struct server_opts *o = x->worker->opts;
	struct err err = ERR_INIT;
	int rc;

	arena_enter(arena);
	rc = review_decide(o->env, x->path, buf_text(&x->body), x->body.len, may_wait, &x->result,
			   &err);
	arena_leave(arena);
	if (rc == 0 && x->result.wait) {
		review_result_release(&x->result);
		return true;
	}
	x->decided = true;
	drop_body(x);
	if (rc < 0) {
		refuse(x, 500, "out of memory");
		log_event(o->log, LOG_ERROR, "review failed", "error", err.msg, NULL);
		return false;
	}
	if (x->result.verdict == REVIEW_DENIED || x->result.verdict == REVIEW_ERROR)
		log_denial(x);
	metrics_review(o->metrics, x->path, &x->result, exchange_now_us() - x->start_us);
	return false;
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct worker *w = x->worker;
	bool ok = !x->status && x->result.http == 200;
	int status = x->status ? x->status : x->result.http;
	struct MHD_Response *r;
	enum MHD_Result sent;

	if (x->status) {
		buf_clear(&x->result.body);
		buf_printf(&x->result.body, "%s\n", x->why);
	}
	if (!ok)
		metrics_http(w->opts->metrics, status);
	r = MHD_create_response_from_buffer(x->result.body.len, x->result.body.data,
					    MHD_RESPMEM_MUST_FREE);
	if (!r)
		return MHD_NO;
	x->result.body = BUF_INIT(0); /* the response owns the bytes now */
	/* A missing header for lack of memory is no reason to give no answer. */
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
				      ok ? "application/json" : "text/plain; charset=utf-8");
	if (status == 405)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "POST");
	if (atomic_load(w->draining) || x->status)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	sent = MHD_queue_response(x->mhd, (unsigned)status, r);
	MHD_destroy_response(r);
	return sent;
}

/* The whole body is here. */
static enum MHD_Result body_done(struct exchange *x)
{
	if (!x->status && !x->decided && !x->body.len)
		refuse(x, 400, "the body is empty");
	if (x->status || x->decided)
		return send_answer(x);
	if (x->body.len <= SERVER_BIG) {
		if (!exchange_decide(x, &x->worker->arena, true))
			return send_answer(x);
		x->wait_until_ms = exchange_now_ms() + SERVER_WAIT_MS;
	}
	MHD_suspend_connection(x->mhd);
	lane_push(x->worker->lane, x);
	return MHD_YES;
}

/* Too large to be read to its end only to be thrown away. */
static bool hopeless(const struct exchange *x)
{
	const char *length = header(x->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
	int64_t bytes;

	return x->status == 413 && length &&
	       num_parse(length, strlen(length), 0, DISCARD_MAX, &bytes, NULL) < 0;
}

enum MHD_Result exchange_on_request(void *cls, struct MHD_Connection *c, const char *url,
				    const char *method, const char *version UNUSED,
				    const char *data, size_t *n, void **state)
{
	struct exchange *x = *state;

	if (!x) {
		x = exchange_new(cls, c);
		if (!x)
			return MHD_NO;
		*state = x;
		check_head(x, url, method);
		return hopeless(x) ? send_answer(x) : MHD_YES;
	}
	if (x->magic != EXCHANGE_MAGIC)
		return MHD_NO;
	if (*n) {
		collect(x, data, *n);
		*n = 0;
		return MHD_YES;
	}
	return body_done(x);
}
