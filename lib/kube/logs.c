/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs: timestamps are always asked for, so that a broken connection can be
 * taken up again at the last line: from its second on, minus what was passed on.
 */
#include "kube/logs.h"

#include "base/limits.h"
#include "wire/time.h"
#include "wire/url.h"

#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS 10000
#define FAILURES_MAX 30  /* reconnections in a row without a line */
#define SILENCE_MS 60000 /* of a log that is not followed: the server stalls */
#define NS_PER_S 1000000000

struct logs {
	struct kube *k;
	struct logs_opts opts; /* strings are the owned copies below */
	char *ns, *pod, *container, *since_time;
	struct kube_call *call;
	struct timer *timer;
	struct buf line;    /* not ended yet */
	bool cut;           /* the line was longer than LIMIT_LINE: its rest follows */
	int64_t last_ns;    /* time of the newest line passed on; INT64_MIN: none yet */
	size_t at_last;     /* lines passed on that have just that time */
	size_t skip;        /* of them, how many are still to be dropped after a reconnection */
	int64_t resume_ns;  /* lines older than this came already; INT64_MIN: first connection */
	int64_t sent_bytes; /* passed on, for limit_bytes */
	int64_t backoff_ms;
	int failures;
	bool *gone;
};

static void connect_log(void *arg);

/* --- lines ---------------------------------------------------------------- */

/*
 * "2026-01-02T03:04:05.123456789Z text": the time in nanoseconds and where the text
 * starts. False when the line does not begin with a time.
 */
static bool split_time(const char *line, size_t n, int64_t *ns, size_t *text_at)
{
	const char *space = memchr(line, ' ', n < 64 ? n : 64);
	char stamp[64], whole[64];
	size_t len = space ? (size_t)(space - line) : 0, digits;
	int64_t ms, fraction = 0, unit = NS_PER_S / 10;
	const char *dot;

	if (len < 20 || len >= sizeof(stamp))
		return false;
	memcpy(stamp, line, len);
	stamp[len] = '\0';
	dot = strchr(stamp, '.');
	digits = dot ? strspn(dot + 1, "0123456789") : 0;
	for (size_t i = 0; i < digits && unit > 0; i++, unit /= 10)
		fraction += (dot[1 + i] - '0') * unit;
	/* The whole seconds by the common parser, the fraction by ourselves: it keeps no ns. */
	if (dot)
		(void)snprintf(whole, sizeof(whole), "%.*s%s", (int)(dot - stamp), stamp,
			       dot + 1 + digits);
	if (time_parse(dot ? whole : stamp, &ms, NULL) < 0)
		return false;
	*ns = ms / 1000 * NS_PER_S + fraction;
	*text_at = len + 1;
	return true;
}

/* Whether a line came before the connection broke; counts lines of equal times. */
static bool seen_before(struct logs *l, int64_t ns)
{
	if (l->resume_ns == INT64_MIN)
		return false;
	if (ns < l->resume_ns)
		return true;
	if (ns == l->resume_ns && l->skip > 0) {
		l->skip--;
		return true;
	}
	return false;
}

static bool limit_reached(const struct logs *l)
{
	return l->opts.limit_bytes > 0 && l->sent_bytes >= l->opts.limit_bytes;
}

/*
 * 1: stop, 2: freed by the callback. limitBytes is counted here, not by the server,
 * which would count the timestamps that nobody asked for.
 */
static int pass_on(struct logs *l, const char *line, size_t n)
{
	int64_t left = l->opts.limit_bytes - l->sent_bytes;
	bool gone = false;
	int stop;

	if (l->opts.limit_bytes > 0 && (int64_t)n > left)
		n = (size_t)left;
	l->sent_bytes += (int64_t)n + 1;
	l->gone = &gone;
	stop = l->opts.on_line(l->opts.arg, line, n);
	if (gone)
		return 2;
	l->gone = NULL;
	return stop || limit_reached(l) ? 1 : 0;
}

/* A whole line, or the first part of one that is too long. */
static int on_whole_line(struct logs *l, const char *line, size_t n)
{
	size_t text_at = 0;
	int64_t ns;

	if (split_time(line, n, &ns, &text_at)) {
		if (seen_before(l, ns))
			return 0;
		if (ns == l->last_ns) {
			l->at_last++;
		} else {
			l->last_ns = ns;
			l->at_last = 1;
		}
		l->failures = 0;
		l->backoff_ms = 0;
	}
	return l->opts.timestamps ? pass_on(l, line, n) : pass_on(l, line + text_at, n - text_at);
}

static int end_line(struct logs *l)
{
	struct buf line = l->line;
	bool rest = l->cut;
	int rc;

	l->line = BUF_INIT(LIMIT_LINE);
	l->cut = false;
	rc = rest ? pass_on(l, buf_text(&line), line.len)
		  : on_whole_line(l, buf_text(&line), line.len);
	if (rc == 2) {
		buf_release(&line);
		return 2;
	}
	buf_clear(&line);
	l->line = line;
	return rc;
}

static int on_data(void *arg, const char *data, size_t n)
{
	struct logs *l = arg;
	int rc;

	while (n > 0) {
		const char *end = memchr(data, '\n', n);
		size_t part = end ? (size_t)(end - data) : n;
		size_t room = LIMIT_LINE - l->line.len;
		bool full = part > room;

		if (full)
			part = room;
		buf_add(&l->line, data, part);
		data += part;
		n -= part;
		if (!end && !full)
			return 0;
		if (!full) {
			data++;
			n--;
		}
		rc = end_line(l);
		if (rc)
			return 1;
		l->cut = full;
	}
	return 0;
}

/* --- the end, or another connection --------------------------------------- */

static void end(struct logs *l, const struct err *err)
{
	l->opts.on_end(l->opts.arg, err);
}

static void reconnect(struct logs *l, const struct err *why)
{
	int64_t base = l->backoff_ms ? l->backoff_ms : BACKOFF_MIN_MS;

	/* Half a line comes again, whole. A second half can not: its head was passed on. */
	if (!l->cut)
		buf_clear(&l->line);
	if (++l->failures > FAILURES_MAX) {
		end(l, why);
		return;
	}
	l->backoff_ms = base * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : base * 2;
	l->timer = loop_after(kube_loop(l->k), l->failures == 1 ? 0 : base, connect_log, l);
	if (!l->timer) {
		struct err err = ERR_INIT;

		(void)err_nomem(&err);
		end(l, &err);
	}
}

static const cJSON *container_status(const struct logs *l, const cJSON *pod)
{
	const cJSON *list = json_at(pod, "status", "containerStatuses", NULL), *c;

	json_each (c, list) {
		if (!l->container || str_eq(json_get_str(c, "name", ""), l->container))
			return c;
	}
	return NULL;
}

/* The container that wrote the last line still runs (it was not started after that line). */
static bool still_running(const struct logs *l, const cJSON *pod)
{
	const cJSON *running = json_at(container_status(l, pod), "state", "running", NULL);
	int64_t started_ms;

	if (!running || json_at(pod, "metadata", "deletionTimestamp", NULL))
		return false;
	if (l->last_ns == INT64_MIN ||
	    !time_get(json_get_str(running, "startedAt", NULL), &started_ms))
		return true;
	return started_ms / 1000 <= l->last_ns / NS_PER_S;
}

/* The last line needs no newline. 1: over, the callback of the caller has been called. */
static bool flush_rest(struct logs *l)
{
	struct err err = ERR_INIT;
	int rc;

	if (l->line.len == 0)
		return false;
	rc = end_line(l);
	if (rc == 1 && limit_reached(l)) {
		end(l, &err);
	} else if (rc == 1) {
		(void)err_set(&err, FAIL_CANCELED, "stopped");
		end(l, &err);
	}
	return rc != 0;
}

static void on_pod(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct logs *l = arg;
	struct err none = ERR_INIT;

	l->call = NULL;
	if (err->fail == FAIL_NET)
		reconnect(l, err);
	else if (err->fail == FAIL_NONE && still_running(l, resp->json))
		reconnect(l, &none);
	else if (!flush_rest(l))
		end(l, &none); /* it is gone, or we may not look: the log has ended */
}

static void ask_pod(struct logs *l)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	struct err err = ERR_INIT;
	struct kube_req req = { .method = "GET", .on_done = on_pod, .arg = l };

	if (kube_path(&kube_pods, l->ns, l->pod, NULL, &path, &err) == 0) {
		req.path = buf_text(&path);
		if (kube_start(l->k, &req, &l->call, &err) == 0)
			return;
	}
	end(l, &err);
}

static void on_done(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct logs *l = arg;
	struct err none = ERR_INIT;

	l->call = NULL;
	if (err->fail == FAIL_CANCELED && limit_reached(l)) {
		end(l, &none);
		return;
	}
	if (err->fail == FAIL_NET) {
		reconnect(l, err);
		return;
	}
	if (err->fail == FAIL_HTTP && l->resume_ns != INT64_MIN && resp->http >= 500) {
		reconnect(l, err);
		return;
	}
	if (err->fail != FAIL_NONE) {
		end(l, err);
		return;
	}
	if (l->opts.follow && !l->opts.previous) {
		/* A clean end may be a kubelet or a server that restarts. */
		ask_pod(l);
		return;
	}
	if (!flush_rest(l))
		end(l, err);
}

/* --- requests ------------------------------------------------------------- */

static void query_int(struct buf *path, const char *key, int64_t value)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%" PRId64, value);
	url_query(path, key, number);
}

static int make_path(struct logs *l, struct buf *path, struct err *err)
{
	const struct logs_opts *o = &l->opts;
	char since[TIME_TEXT_SIZE];

	if (kube_path(&kube_pods, l->ns, l->pod, "log", path, err) < 0)
		return -1;
	if (l->container)
		url_query(path, "container", l->container);
	if (o->follow)
		url_query(path, "follow", "true");
	if (o->previous)
		url_query(path, "previous", "true");
	url_query(path, "timestamps", "true");
	if (l->last_ns != INT64_MIN) {
		time_format(l->last_ns / NS_PER_S * 1000, since);
		url_query(path, "sinceTime", since);
		l->resume_ns = l->last_ns;
		l->skip = l->at_last;
	} else {
		if (l->since_time)
			url_query(path, "sinceTime", l->since_time);
		else if (o->since_s > 0)
			query_int(path, "sinceSeconds", o->since_s);
		if (o->tail_lines >= 0)
			query_int(path, "tailLines", o->tail_lines);
	}
	return buf_check(path, err);
}

static int start(struct logs *l, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	struct kube_req req = {
		.method = "GET", .accept = "*/*", .on_data = on_data, .on_done = on_done, .arg = l
	};

	if (make_path(l, &path, err) < 0)
		return -1;
	req.path = buf_text(&path);
	/* What is not followed is there already. */
	req.idle_timeout_ms = l->opts.follow ? 0 : SILENCE_MS;
	return kube_start(l->k, &req, &l->call, err);
}

static void connect_log(void *arg)
{
	struct logs *l = arg;
	struct err err = ERR_INIT;

	l->timer = NULL;
	if (start(l, &err) < 0)
		end(l, &err);
}

static int copy_opt(const char *from, char **to, struct err *err)
{
	return from && from[0] ? str_copy(from, to, err) : 0;
}

int logs_start(struct kube *k, const struct logs_opts *opts, struct logs **out, struct err *err)
{
	struct logs *l = calloc(1, sizeof(*l));

	if (!l)
		return err_nomem(err);
	l->k = k;
	l->opts = *opts;
	l->line = BUF_INIT(LIMIT_LINE);
	l->last_ns = l->resume_ns = INT64_MIN;
	if (copy_opt(opts->ns, &l->ns, err) < 0 || copy_opt(opts->pod, &l->pod, err) < 0 ||
	    copy_opt(opts->container, &l->container, err) < 0 ||
	    copy_opt(opts->since_time, &l->since_time, err) < 0 || start(l, err) < 0) {
		logs_free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	if (l->gone)
		*l->gone = true;
	kube_cancel(l->k, l->call);
	loop_cancel(kube_loop(l->k), l->timer);
	buf_release(&l->line);
	free(l->ns);
	free(l->pod);
	free(l->container);
	free(l->since_time);
	free(l);
}
