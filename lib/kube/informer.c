/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer: list, then watch from the list's resourceVersion, for ever.
 * The old copy is served while a new list is read; what differs is reported
 * when the list is complete.
 */
#include "kube/informer_int.h"

#include "base/limits.h"
#include "wire/url.h"

#define PAGE 500
#define BACKOFF_MIN_MS 800
#define BACKOFF_MAX_MS 30000
#define WATCH_MIN_S 300
#define WATCH_SPREAD_S 300
#define WATCH_GRACE_MS 30000 /* silence past the watch's own end: the connection is dead */
#define SHORT_WATCH_MS 1000  /* a watch that ends sooner, without a word, is a failure */
#define STALE_MAX 3          /* failures of a watch in a row after which a list is read */

static void begin(void *arg);

int64_t informer_now_ms(const struct informer *i)
{
	return clock_mono_ms(loop_clock(kube_loop(i->k)));
}

/* --- the next step -------------------------------------------------------- */

void informer_report(struct informer *i, const struct err *err)
{
	if (i->opts.on_error)
		i->opts.on_error(i->opts.arg, err);
}

static void schedule(struct informer *i, int64_t delay_ms)
{
	if (i->timer || i->call)
		return;
	i->timer = loop_after(kube_loop(i->k), delay_ms, begin, i);
	/*
	 * No memory for a timer: without it the informer would stand still for ever
	 * unseen, so say it; its age then tells.
	 */
	if (!i->timer) {
		struct err err = ERR_INIT;

		(void)err_nomem(&err);
		informer_report(i, &err);
	}
}

/* Below n; without the kernel's random bytes 0, which only makes all of us renew together. */
static uint32_t random_below(uint32_t n)
{
	uint32_t value = 0;

	if (clock_random(&value, sizeof(value)) < 0)
		return 0;
	return value % n;
}

/* 0.8 s, doubling to 30 s, each between half of it and all. */
static int64_t next_backoff(struct informer *i)
{
	int64_t base = i->backoff_ms ? i->backoff_ms : BACKOFF_MIN_MS;

	i->backoff_ms = base * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : base * 2;
	return base / 2 + (int64_t)random_below((uint32_t)base / 2);
}

/* --- lists ---------------------------------------------------------------- */

static bool tell_synced(struct informer *i)
{
	bool gone = false;

	i->synced = true;
	if (!i->opts.on_sync)
		return true;
	i->gone = &gone;
	i->opts.on_sync(i->opts.arg);
	if (!gone)
		i->gone = NULL;
	return !gone;
}

static void list_failed(struct informer *i, const struct err *err)
{
	map_release(&i->next);
	free(TAKE(i->page_token));
	free(TAKE(i->list_rv));
	informer_report(i, err);
}

static int take_page(struct informer *i, cJSON *page, struct err *err)
{
	const cJSON *meta = json_get(page, "metadata");
	cJSON *items = json_get_mut(page, "items");
	const char *token = json_get_str(meta, "continue", "");

	if (!meta)
		return err_set(err, FAIL_NET, "the server's list of %s is no list",
			       i->opts.res->plural);
	if (!i->list_rv &&
	    str_copy(json_get_str(meta, "resourceVersion", ""), &i->list_rv, err) < 0)
		return -1;
	free(TAKE(i->page_token));
	if (token[0] && str_copy(token, &i->page_token, err) < 0)
		return -1;
	while (cJSON_IsArray(items) && items->child) {
		cJSON *obj = cJSON_DetachItemViaPointer(items, items->child);
		AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

		informer_trim(i, obj);
		informer_key(obj, &key);
		if (buf_check(&key, err) < 0 || map_put(&i->next, buf_text(&key), obj, err) < 0) {
			cJSON_Delete(obj);
			return -1;
		}
	}
	return 0;
}

static void on_page(void *arg, struct kube_resp *resp, const struct err *error)
{
	struct informer *i = arg;
	struct err err = ERR_INIT;

	i->call = NULL;
	if (error->fail != FAIL_NONE) {
		bool expired = resp->http == 410 && i->page_token;

		list_failed(i, error);
		/* The list grew too old while it was read: begin it anew. */
		schedule(i, expired && i->backoff_ms == 0 ? 0 : next_backoff(i));
		if (expired && i->backoff_ms == 0)
			i->backoff_ms = BACKOFF_MIN_MS;
		return;
	}
	i->heard_ms = informer_now_ms(i);
	if (take_page(i, resp->json, &err) < 0) {
		list_failed(i, &err);
		schedule(i, next_backoff(i));
		return;
	}
	if (i->page_token) {
		begin(i);
		return;
	}
	if (!informer_take_over(i, &err))
		return;
	if (err.fail != FAIL_NONE) {
		list_failed(i, &err);
		schedule(i, next_backoff(i));
		return;
	}
	free(i->rv);
	i->rv = TAKE(i->list_rv);
	i->phase = PHASE_WATCH;
	i->backoff_ms = 0;
	i->watch_failures = 0;
	if (tell_synced(i))
		begin(i);
}

/* --- watch events --------------------------------------------------------- */

/* An ERROR event's object is a Status; its resourceVersion is never ours. */
static void on_error_event(struct informer *i, const cJSON *status)
{
	struct err err = ERR_INIT;
	int64_t code = json_get_int(status, "code", 0);

	(void)err_set(&err, FAIL_HTTP, "watch of %s: %s", i->opts.res->plural,
		      json_get_str(status, "message", "the server ended it with an error"));
	err.http = (int)code;
	i->relist = true;
	if (code != 410) {
		informer_report(i, &err);
		if (i->backoff_ms == 0)
			i->backoff_ms = BACKOFF_MIN_MS;
	}
}

/* One line of the watch. -1: it is no event. 1: freed by a callback. */
static int on_line(struct informer *i, const char *line, size_t n, struct err *err)
{
	AUTO_JSON cJSON *event = NULL;
	const char *type;
	cJSON *obj;

	if (n == 0 || (n == 1 && line[0] == '\r'))
		return 0;
	if (json_parse_lenient(line, n, &event, err) < 0)
		return err_wrap(err, "watch of %s", i->opts.res->plural);
	type = json_get_str(event, "type", "");
	obj = json_get_mut(event, "object");
	if (!cJSON_IsObject(obj) || !type[0])
		return err_set(err, FAIL_NET, "watch of %s: a line is no event",
			       i->opts.res->plural);
	i->watch_events++;
	if (str_eq(type, "ERROR")) {
		on_error_event(i, obj);
		return 0;
	}
	i->watch_failures = 0;
	i->backoff_ms = 0;
	if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED") || str_eq(type, "DELETED") ||
	    str_eq(type, "BOOKMARK"))
		return informer_event(i, type, cJSON_DetachItemViaPointer(event, obj)) ? 0 : 1;
	return 0; /* a type of the future */
}

static int on_watch_data(void *arg, const char *data, size_t n)
{
	struct informer *i = arg;
	struct err err = ERR_INIT;

	i->heard_ms = informer_now_ms(i);
	while (n > 0) {
		const char *end = memchr(data, '\n', n);
		size_t part = end ? (size_t)(end - data) : n;
		struct buf line;
		int rc;

		buf_add(&i->line, data, part);
		data += part;
		n -= part;
		if (buf_check(&i->line, &err) < 0) {
			(void)err_wrap(&err, "watch of %s", i->opts.res->plural);
			break;
		}
		if (!end)
			return 0;
		data++;
		n--;
		line = i->line;
		i->line = BUF_INIT(LIMIT_WATCH_EVENT);
		rc = on_line(i, buf_text(&line), line.len, &err);
		if (rc == 1) {
			buf_release(&line);
			return 1;
		}
		buf_clear(&line);
		if (line.size > 256 * 1024)
			buf_release(&line);
		i->line = line;
		if (rc < 0)
			break;
		if (i->relist)
			return 1; /* nothing after an ERROR event counts */
	}
	if (err.fail == FAIL_NONE)
		return 0;
	/* Garbage: what comes after it can not be trusted either. */
	i->relist = true;
	if (i->backoff_ms == 0)
		i->backoff_ms = BACKOFF_MIN_MS;
	informer_report(i, &err);
	return 1;
}

static void watch_ended(struct informer *i, const struct kube_resp *resp, const struct err *error)
{
	bool lived =
		i->watch_events > 0 || informer_now_ms(i) - i->watch_started_ms >= SHORT_WATCH_MS;

	if (error->fail == FAIL_NONE || resp->http == 410)
		i->heard_ms = informer_now_ms(i); /* the server ended it, or said why not */
	if (resp->http == 410)
		i->relist = true;
	if (error->fail != FAIL_NONE && error->fail != FAIL_CANCELED && resp->http != 410)
		informer_report(i, error);
	if (i->relist) {
		i->relist = false;
		i->phase = PHASE_LIST;
		/* A server that says so at once, again and again, is not asked without a pause. */
		schedule(i, lived && !i->backoff_ms ? 0 : next_backoff(i));
		return;
	}
	if (error->fail == FAIL_NONE && lived) {
		schedule(i, 0);
		return;
	}
	/* A server that refuses the watch again and again may still serve lists. */
	if (error->fail == FAIL_HTTP && ++i->watch_failures >= STALE_MAX) {
		i->watch_failures = 0;
		i->phase = PHASE_LIST;
	}
	schedule(i, next_backoff(i));
}

static void on_watch_done(void *arg, struct kube_resp *resp, const struct err *error)
{
	struct informer *i = arg;

	i->call = NULL;
	i->watch_open = false;
	buf_clear(&i->line);
	watch_ended(i, resp, error);
}

/* --- requests ------------------------------------------------------------- */

static int make_path(const struct informer *i, int64_t watch_s, struct buf *path, struct err *err)
{
	char number[24];

	if (kube_path(i->opts.res, i->ns, NULL, NULL, path, err) < 0)
		return -1;
	if (i->label_selector)
		url_query(path, "labelSelector", i->label_selector);
	if (i->field_selector)
		url_query(path, "fieldSelector", i->field_selector);
	if (i->phase == PHASE_LIST) {
		(void)snprintf(number, sizeof(number), "%d", PAGE);
		url_query(path, "limit", number);
		if (i->page_token)
			url_query(path, "continue", i->page_token);
		return buf_check(path, err);
	}
	(void)snprintf(number, sizeof(number), "%" PRId64, watch_s);
	url_query(path, "watch", "true");
	url_query(path, "allowWatchBookmarks", "true");
	url_query(path, "resourceVersion", i->rv);
	url_query(path, "timeoutSeconds", number);
	return buf_check(path, err);
}

static int start(struct informer *i, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	struct kube_req req = { .method = "GET", .arg = i };
	int64_t watch_s = i->opts.watch_s ? i->opts.watch_s
					  : WATCH_MIN_S + (int64_t)random_below(WATCH_SPREAD_S);

	if (make_path(i, watch_s, &path, err) < 0)
		return -1;
	req.path = buf_text(&path);
	req.on_done = on_page;
	if (i->phase == PHASE_WATCH) {
		req.on_data = on_watch_data;
		req.on_done = on_watch_done;
		req.no_retry = true; /* our own back-off knows more */
		req.idle_timeout_ms = watch_s * 1000 + WATCH_GRACE_MS;
		i->watch_started_ms = informer_now_ms(i);
		i->watch_events = 0;
		i->relist = false;
	}
	return kube_start(i->k, &req, &i->call, err);
}

static void begin(void *arg)
{
	struct informer *i = arg;
	struct err err = ERR_INIT;

	i->timer = NULL;
	if (start(i, &err) < 0) {
		informer_report(i, &err);
		schedule(i, next_backoff(i));
		return;
	}
	i->watch_open = i->phase == PHASE_WATCH;
}

/* --- the outside ---------------------------------------------------------- */

static int copy_opt(const char *from, char **to, struct err *err)
{
	return from && from[0] ? str_copy(from, to, err) : 0;
}

int informer_new(struct kube *k, const struct informer_opts *opts, struct informer **out,
		 struct err *err)
{
	struct informer *i = calloc(1, sizeof(*i));

	if (!i)
		return err_nomem(err);
	i->k = k;
	i->opts = *opts;
	i->store = MAP_INIT(informer_drop);
	i->next = MAP_INIT(informer_drop);
	i->observed = MAP_INIT(NULL);
	i->line = BUF_INIT(LIMIT_WATCH_EVENT);
	i->heard_ms = informer_now_ms(i);
	if (copy_opt(opts->ns, &i->ns, err) < 0 ||
	    copy_opt(opts->label_selector, &i->label_selector, err) < 0 ||
	    copy_opt(opts->field_selector, &i->field_selector, err) < 0 || start(i, err) < 0) {
		informer_free(i);
		return -1;
	}
	*out = i;
	return 0;
}

void informer_free(struct informer *i)
{
	if (!i)
		return;
	if (i->gone)
		*i->gone = true;
	kube_cancel(i->k, i->call);
	loop_cancel(kube_loop(i->k), i->timer);
	map_release(&i->store);
	map_release(&i->next);
	map_release(&i->observed);
	buf_release(&i->line);
	free(i->page_token);
	free(i->list_rv);
	free(i->rv);
	free(i->ns);
	free(i->label_selector);
	free(i->field_selector);
	free(i);
}
