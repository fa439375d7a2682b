/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: one request from its start to on_done: what comes back (pieces, Status,
 * warnings), and when it is tried again.
 * Callbacks of the caller run outside of curl, so they may start and cancel anything.
 */
#include <errno.h>

#include "base/limits.h"
#include "base/num.h"
#include "kube/call_int.h"
#include "kube/problem.h"

#define ANSWER_WAIT_MS 60000 /* silence that ends a request without a time limit of its own */
#define RESET_TRIES 3        /* times a GET is sent again after a broken connection */
#define RESET_WAIT_MS 250    /* before the first of them; doubles */
#define RETRY_AFTER_MAX_S 300
#define PENDING_MAX (256u << 10) /* stream bytes put by before the connection is paused */
#define BUSY_WAIT_MS 50 /* a limit that passes inside of a callback of the caller waits so long */
#define ERROR_BODY_MAX LIMIT_OBJECT
#define LOG_BODY_MAX 1024

static void call_send(struct kube_call *c);
static void on_transfer_done(struct transfer *t, CURLcode code);

/* --- memory --------------------------------------------------------------- */

static void call_unlink(struct kube_call *c)
{
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else if (c->k->calls == c)
		c->k->calls = c->next;
	c->next = c->prev = NULL;
}

static void end_transfer(struct kube_call *c)
{
	loop_remove(&c->t);
	curl_easy_cleanup(c->t.easy);
	c->t.easy = NULL;
	curl_slist_free_all(c->headers);
	c->headers = NULL;
}

static void cancel_timers(struct kube_call *c)
{
	loop_cancel(c->loop, TAKE(c->retry_timer));
	loop_cancel(c->loop, TAKE(c->deadline_timer));
	loop_cancel(c->loop, TAKE(c->idle_timer));
}

static void call_destroy(struct kube_call *c)
{
	end_transfer(c);
	cancel_timers(c);
	kube_resp_release(&c->resp);
	buf_release(&c->pending);
	free(c->path);
	free(c->body);
	free(c->content_type);
	free(c->accept);
	free(c);
}

void kube_call_free(struct kube_call *c)
{
	call_unlink(c);
	if (c->busy) {
		/* The caller is inside one of our callbacks: what it returns to still needs c. */
		c->dead = true;
		end_transfer(c);
		cancel_timers(c);
		return;
	}
	call_destroy(c);
}

void kube_cancel(struct kube *k, struct kube_call *call)
{
	(void)k;
	if (call && !call->dead)
		kube_call_free(call);
}

/* --- the end -------------------------------------------------------------- */

static void finish(struct kube_call *c, const struct err *err)
{
	end_transfer(c);
	cancel_timers(c);
	call_unlink(c);
	c->busy = true;
	c->dead = true; /* kube_cancel() from on_done is harmless */
	c->req.on_done(c->req.arg, &c->resp, err);
	call_destroy(c);
}

static void finish_net(struct kube_call *c, int code, const char *detail)
{
	struct err err = ERR_INIT;

	(void)problem_net(&err, code, 0, c->k->host, detail);
	finish(c, &err);
}

/* --- time ----------------------------------------------------------------- */

static void on_deadline(void *arg)
{
	struct kube_call *c = arg;

	c->deadline_timer = NULL;
	/* A stream that has begun may go on: the client's limit is for its answer. */
	if (c->req.on_data && c->headers_done && c->req.timeout_ms == 0)
		return;
	if (c->busy) {
		c->deadline_timer = loop_after(c->loop, BUSY_WAIT_MS, on_deadline, c);
		return;
	}
	finish_net(c, CURLE_OPERATION_TIMEDOUT,
		   "net/http: request canceled (Client.Timeout exceeded while awaiting headers)");
}

static int64_t mono(const struct kube_call *c)
{
	return clock_mono_ms(loop_clock(c->loop));
}

static int64_t idle_limit_ms(const struct kube_call *c)
{
	if (c->req.idle_timeout_ms > 0)
		return c->req.idle_timeout_ms;
	/* A followed log may say nothing for hours, not even its headers. */
	if (c->req.on_data || c->deadline_timer)
		return 0;
	return ANSWER_WAIT_MS;
}

static void on_idle(void *arg)
{
	struct kube_call *c = arg;
	int64_t limit = idle_limit_ms(c), left = limit - (mono(c) - c->heard_ms);

	c->idle_timer = NULL;
	if (limit == 0)
		return;
	if (left > 0 || c->busy)
		c->idle_timer = loop_after(c->loop, left > 0 ? left : BUSY_WAIT_MS, on_idle, c);
	else
		finish_net(c, CURLE_RECV_ERROR,
			   "net/http: timeout awaiting response (nothing came "
			   "from the server)");
}

static int set_timers(struct kube_call *c, struct err *err)
{
	int64_t limit = c->req.timeout_ms;

	if (limit == 0)
		limit = c->k->config->request_timeout_s * 1000;
	if (limit > 0) {
		c->deadline_timer = loop_after(c->loop, limit, on_deadline, c);
		if (!c->deadline_timer)
			return err_nomem(err);
	}
	return 0;
}

/* --- what comes ----------------------------------------------------------- */

static long http_status(const struct kube_call *c)
{
	long http = 0;

	(void)curl_easy_getinfo(c->t.easy, CURLINFO_RESPONSE_CODE, &http);
	return http;
}

static bool header_value(const char *line, size_t n, const char *name, struct buf *out)
{
	size_t len = strlen(name);

	if (n <= len || strncasecmp(line, name, len) != 0 || line[len] != ':')
		return false;
	line += len + 1;
	n -= len + 1;
	while (n > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	while (n > 0 && strchr(" \t\r\n", line[n - 1]))
		n--;
	buf_add(out, line, n);
	return true;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct kube_call *c = arg;
	AUTO(buf) struct buf value = BUF_INIT(LIMIT_TEXT);
	int64_t seconds;

	(void)size; /* always 1 */
	c->heard_ms = mono(c);
	if (n > 5 && strncmp(line, "HTTP/", 5) == 0) {
		c->is_json = false;
		c->resp.retry_after_ms = -1;
		return n;
	}
	if ((http_status(c) >= 200 || call_is_good(c, http_status(c))) && (n == 2 || n == 1)) {
		c->headers_done = true;
		return n;
	}
	if (c->k->opts.verbosity >= 8)
		kube_log(c->k, 8, "    %.*s", (int)strcspn(line, "\r\n"), line);
	if (header_value(line, n, "Content-Type", &value))
		c->is_json = strstr(buf_text(&value), "json");
	else if (header_value(line, n, "Retry-After", &value) &&
		 num_parse(buf_text(&value), value.len, 0, RETRY_AFTER_MAX_S, &seconds, NULL) == 0)
		c->resp.retry_after_ms = seconds * 1000;
	else if (header_value(line, n, "Warning", &value))
		kube_read_warnings(c->k, buf_text(&value));
	c->nomem = c->nomem || value.fail == FAIL_NOMEM;
	return c->nomem ? 0 : n;
}

static bool is_stream(const struct kube_call *c, long http)
{
	return c->req.on_data && call_is_good(c, http);
}

static size_t on_write(char *data, size_t size, size_t n, void *arg)
{
	struct kube_call *c = arg;

	(void)size; /* always 1 */
	c->heard_ms = mono(c);
	if (is_stream(c, http_status(c))) {
		if (c->pending.len >= PENDING_MAX) {
			c->paused = true;
			return CURL_WRITEFUNC_PAUSE;
		}
		buf_add(&c->pending, data, n);
		transfer_wake(&c->t);
		c->nomem = c->pending.fail == FAIL_NOMEM;
		return c->pending.fail == FAIL_NONE ? n : 0;
	}
	buf_add(&c->resp.body, data, n);
	c->too_big = c->resp.body.fail == FAIL_LIMIT;
	c->nomem = c->resp.body.fail == FAIL_NOMEM;
	return c->resp.body.fail == FAIL_NONE ? n : 0;
}

/*
 * Passes on what a stream has put by. -1: c is gone. The caller's callback may turn
 * the loop itself: what comes meanwhile waits for its return.
 */
static int deliver(struct kube_call *c)
{
	struct buf data = c->pending;
	int stop;

	if (data.len == 0)
		return 0;
	c->pending = BUF_INIT(data.cap);
	c->stream_bytes += data.len;
	c->busy = true;
	stop = c->req.on_data(c->req.arg, data.data, data.len);
	c->busy = false;
	if (c->dead) {
		buf_release(&data);
		call_destroy(c);
		return -1;
	}
	if (stop) {
		struct err err = ERR_INIT;

		buf_release(&data);
		(void)err_set(&err, FAIL_CANCELED, "stopped");
		finish(c, &err);
		return -1;
	}
	if (c->pending.data) {
		buf_release(&data);
		transfer_wake(&c->t);
	} else {
		buf_clear(&data); /* its memory serves the next pieces */
		c->pending = data;
	}
	if (c->over) {
		c->over = false;
		on_transfer_done(&c->t, c->over_code);
		return -1;
	}
	return 0;
}

static void on_ready(struct transfer *t)
{
	struct kube_call *c = CONTAINER_OF(t, struct kube_call, t);

	if (c->busy || deliver(c) < 0)
		return;
	if (c->paused) {
		c->paused = false;
		/* It may call on_write() at once; what comes of it is seen in the next turn. */
		(void)curl_easy_pause(c->t.easy, CURLPAUSE_CONT);
	}
}

static void log_answer(struct kube_call *c, int code)
{
	const struct kube *k = c->k;
	size_t n = c->resp.body.len;

	if (k->opts.verbosity < 6)
		return;
	kube_log(k, 6, "%s %s%s %d%s in %" PRId64 " milliseconds", c->method, k->base, c->path,
		 c->resp.http, code == CURLE_OK ? "" : " (transfer failed)",
		 mono(c) - c->started_ms);
	if (k->opts.verbosity < 8 || c->req.on_data)
		return;
	if (k->opts.verbosity < 9 && n > LOG_BODY_MAX)
		kube_log(k, 8, "Response Body: %.*s [truncated %zu chars]", LOG_BODY_MAX,
			 strstr(c->path, "/secrets") ? "<masked>" : buf_text(&c->resp.body),
			 n - LOG_BODY_MAX);
	else
		kube_log(k, 8, "Response Body: %s",
			 strstr(c->path, "/secrets") ? "<masked>" : buf_text(&c->resp.body));
}

/* --- trying again --------------------------------------------------------- */

static void on_retry(void *arg)
{
	struct kube_call *c = arg;

	c->retry_timer = NULL;
	call_send(c);
}

static int retry_in(struct kube_call *c, int64_t ms, struct err *err)
{
	kube_resp_release(&c->resp);
	buf_clear(&c->resp.body);
	c->retry_timer = loop_after(c->loop, ms, on_retry, c);
	return c->retry_timer ? 0 : err_nomem(err);
}

static bool was_reset(int code, long os)
{
	switch (code) {
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return true;
	case CURLE_SSL_CONNECT_ERROR:
		return os == ECONNRESET;
	default:
		return false;
	}
}

static void net_failed(struct kube_call *c, int code)
{
	struct err err = ERR_INIT;
	AUTO(buf) struct buf detail = BUF_INIT(2048);
	long os = 0;

	(void)curl_easy_getinfo(c->t.easy, CURLINFO_OS_ERRNO, &os);
	if (c->nomem || code == CURLE_OUT_OF_MEMORY) {
		(void)err_nomem(&err);
		finish(c, &err);
		return;
	}
	if (c->too_big) {
		(void)err_set(&err, FAIL_LIMIT,
			      "the server's answer to %s %s is larger than %zu "
			      "bytes",
			      c->method, c->path, c->resp.body.cap);
		finish(c, &err);
		return;
	}
	if (!c->req.no_retry && str_eq(c->method, "GET") && c->stream_bytes == 0 &&
	    was_reset(code, os) && c->resets < RESET_TRIES) {
		int64_t ms = (int64_t)RESET_WAIT_MS << c->resets++;

		end_transfer(c);
		if (retry_in(c, ms, &err) < 0)
			finish(c, &err);
		return;
	}
	if (code == CURLE_PEER_FAILED_VERIFICATION && c->k->tls.problem[0])
		buf_printf(&detail, "tls: failed to verify certificate: %s", c->k->tls.problem);
	else if (code == CURLE_SSL_CONNECT_ERROR && strstr(c->errbuf, "wrong version number"))
		buf_str(&detail, "http: server gave HTTP response to HTTPS client");
	else if (code == CURLE_OPERATION_TIMEDOUT)
		buf_printf(&detail, "dial tcp %s: i/o timeout", c->k->host);
	else
		buf_str(&detail, c->errbuf);
	if (code == CURLE_OPERATION_TIMEDOUT)
		code = CURLE_SSL_CONNECT_ERROR; /* the text says it all */
	(void)problem_net(&err, code, (int)os, c->k->host, buf_text(&detail));
	finish(c, &err);
}

static void parse_answer(struct kube_call *c)
{
	struct err err = ERR_INIT;
	const struct buf *b = &c->resp.body;

	if (c->req.raw && c->resp.http >= 200 && c->resp.http < 300)
		return;
	if (b->len == 0 || (!c->is_json && b->data[0] != '{'))
		return;
	if (json_parse_lenient(buf_text(b), b->len, &c->resp.json, &err) < 0)
		c->nomem = err.fail == FAIL_NOMEM; /* else on_done sees that there is none */
	else if (str_eq(json_get_str(c->resp.json, "kind", ""), "Status"))
		c->resp.reason = json_get_str(c->resp.json, "reason", "");
}

/* True when the request goes out once more (or has ended by that). */
static bool try_again(struct kube_call *c)
{
	struct err err = ERR_INIT;
	int rc;

	if (c->resp.http == 401 && !c->renewed) {
		c->renewed = true;
		rc = auth_renew(&c->k->auth, &err);
		if (rc == 1)
			rc = retry_in(c, 0, &err) < 0 ? -1 : 1;
		if (rc < 0)
			finish(c, &err);
		return rc != 0;
	}
	if (c->req.no_retry || c->retries >= c->k->opts.max_retries || c->resp.retry_after_ms < 0)
		return false;
	if (c->resp.http != 429 && c->resp.http < 500)
		return false;
	c->retries++;
	if (retry_in(c, c->resp.retry_after_ms, &err) < 0)
		finish(c, &err);
	return true;
}

static void on_transfer_done(struct transfer *t, CURLcode code)
{
	struct kube_call *c = CONTAINER_OF(t, struct kube_call, t);
	struct err err = ERR_INIT;

	if (c->busy) {
		c->over = true;
		c->over_code = code;
		return;
	}
	c->resp.http = (int)http_status(c);
	log_answer(c, (int)code);
	if (is_stream(c, c->resp.http) && deliver(c) < 0)
		return;
	if (code != CURLE_OK) {
		net_failed(c, (int)code);
		return;
	}
	parse_answer(c);
	end_transfer(c);
	if (c->nomem) {
		(void)err_nomem(&err);
	} else if (call_is_good(c, c->resp.http)) {
		if (c->is_json && !c->req.on_data && !c->req.raw && !c->resp.json)
			(void)err_set(&err, FAIL_NET,
				      "the server's answer to %s %s is not valid JSON", c->method,
				      c->path);
	} else {
		if (try_again(c))
			return;
		(void)problem_http(&err, c->resp.http, c->resp.json, buf_text(&c->resp.body),
				   c->resp.body.len);
	}
	finish(c, &err);
}

static int set_callbacks(struct kube_call *c, struct err *err)
{
	CURL *e = c->t.easy;

	if (curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header) != CURLE_OK ||
	    curl_easy_setopt(e, CURLOPT_HEADERDATA, (void *)c) != CURLE_OK ||
	    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_write) != CURLE_OK ||
	    curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)c) != CURLE_OK)
		return err_nomem(err);
	return 0;
}

static int send_now(struct kube_call *c, struct err *err)
{
	struct kube *k = c->k;

	c->headers_done = c->is_json = c->paused = c->nomem = c->too_big = false;
	c->resp.retry_after_ms = -1;
	c->resp.http = 0;
	c->errbuf[0] = '\0';
	if (auth_prepare(&k->auth, err) < 0 || call_set_headers(c, err) < 0)
		return -1;
	c->t.easy = curl_easy_init();
	if (!c->t.easy)
		return err_nomem(err);
	if (set_callbacks(c, err) < 0 || call_set_options(c, err) < 0)
		return -1;
	c->started_ms = c->heard_ms = mono(c);
	if (!c->idle_timer && idle_limit_ms(c) > 0) {
		c->idle_timer = loop_after(k->loop, idle_limit_ms(c), on_idle, c);
		if (!c->idle_timer)
			return err_nomem(err);
	}
	call_log_request(c);
	k->requests++;
	return loop_add(k->loop, &c->t, err);
}

static void call_send(struct kube_call *c)
{
	struct err err = ERR_INIT;

	if (send_now(c, &err) < 0)
		finish(c, &err);
}

/* --- the start ------------------------------------------------------------ */

static const char *known_method(const char *m)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (str_eq(m, methods[i]))
			return methods[i];
	return NULL;
}

static int copy_request(struct kube_call *c, const struct kube_req *req, struct err *err)
{
	c->req = *req;
	c->method = known_method(req->method);
	if (!c->method)
		return err_set(err, FAIL_USAGE, "unknown HTTP method \"%s\"", req->method);
	if (str_copy(req->path, &c->path, err) < 0 ||
	    str_copy(req->content_type ? req->content_type : "application/json", &c->content_type,
		     err) < 0 ||
	    str_copy(req->accept ? req->accept : "application/json", &c->accept, err) < 0)
		return -1;
	if (req->body) {
		c->body = malloc(req->body_bytes + 1);
		if (!c->body)
			return err_nomem(err);
		memcpy(c->body, req->body, req->body_bytes);
		c->body[req->body_bytes] = '\0';
	}
	c->req.method = c->method;
	c->req.path = c->path;
	c->req.body = c->body;
	c->req.content_type = c->content_type;
	c->req.accept = c->accept;
	return 0;
}

int kube_start(struct kube *k, const struct kube_req *req, struct kube_call **out, struct err *err)
{
	struct kube_call *c = calloc(1, sizeof(*c));

	if (!c)
		return err_nomem(err);
	c->k = k;
	c->loop = k->loop;
	c->t.ready = on_ready;
	c->t.done = on_transfer_done;
	c->resp = (struct kube_resp){ .reason = "", .retry_after_ms = -1 };
	c->resp.body = BUF_INIT(req->on_data     ? ERROR_BODY_MAX
				: req->max_bytes ? req->max_bytes
						 : LIMIT_ANSWER);
	c->pending = BUF_INIT(PENDING_MAX + 2 * CURL_MAX_WRITE_SIZE);
	if (copy_request(c, req, err) < 0 || set_timers(c, err) < 0 || send_now(c, err) < 0) {
		call_destroy(c);
		return -1;
	}
	c->next = k->calls;
	if (c->next)
		c->next->prev = c;
	k->calls = c;
	if (out)
		*out = c;
	return 0;
}
