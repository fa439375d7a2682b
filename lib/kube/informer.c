/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer: list, then watch from the list's resourceVersion, for ever.
 * The old copy is served while a new list is read; what differs is reported
 * when the list is complete.
 */
#include "kube/informer.h"

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

enum phase { PHASE_LIST, PHASE_WATCH };

struct informer {
	struct kube *k;
	struct informer_opts opts; /* its strings are the owned copies below */
	char *ns, *label_selector, *field_selector;
	struct map store;    /* "ns/name" -> cJSON *, owned */
	struct map next;     /* the list under way */
	struct map observed; /* keys that informer_observe() put in since the last list */
	char *rv;            /* owned: where the watch goes on; NULL before the first list */
	char *list_rv;       /* owned: of the first page of the list under way */
	char *page_token;    /* owned: continue */
	enum phase phase;
	struct kube_call *call;
	struct timer *timer;
	struct buf line; /* of the watch, without its newline yet */
	int64_t backoff_ms;
	int64_t heard_ms; /* monotonic; of the API server's last sign */
	int64_t watch_started_ms;
	size_t watch_events;
	int watch_failures; /* in a row */
	bool watch_open, synced;
	bool relist; /* the watch said 410: read a list next */
	bool *gone;  /* set when the informer is freed inside of a callback */
};

static void begin(void *arg);

static int64_t now_ms(const struct informer *i)
{
	return clock_mono_ms(loop_clock(kube_loop(i->k)));
}

static void drop_json(void *v)
{
	cJSON_Delete(v);
}

/* --- keys and versions ---------------------------------------------------- */

void informer_key(const cJSON *obj, struct buf *out)
{
	const cJSON *meta = json_get(obj, "metadata");
	const char *ns = json_get_str(meta, "namespace", "");

	if (ns[0])
		buf_printf(out, "%s/", ns);
	buf_str(out, json_get_str(meta, "name", ""));
}

static const char *version_of(const cJSON *obj)
{
	return json_get_str(json_get(obj, "metadata"), "resourceVersion", "");
}

static bool is_decimal(const char *s)
{
	return s[0] && s[strspn(s, "0123456789")] == '\0';
}

/* -1, 0, 1 as strcmp, for decimals of any length; unequal other texts: 1 (take the newcomer). */
static int version_cmp(const char *a, const char *b)
{
	size_t na, nb;
	int c;

	if (!is_decimal(a) || !is_decimal(b))
		return strcmp(a, b) ? 1 : 0;
	a += strspn(a, "0");
	b += strspn(b, "0");
	na = strlen(a);
	nb = strlen(b);
	if (na != nb)
		return na < nb ? -1 : 1;
	c = strcmp(a, b);
	return c < 0 ? -1 : c > 0;
}

static void trim(const struct informer *i, cJSON *obj)
{
	if (i->opts.trim)
		i->opts.trim(obj);
	else
		json_del(json_get_mut(obj, "metadata"), "managedFields");
}

/* --- the next step -------------------------------------------------------- */

static void report(struct informer *i, const struct err *err)
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
		report(i, &err);
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

static void set_text(char **to, const char *text)
{
	char *copy = NULL;

	/* When memory is out the older version stays: the watch repeats a few events. */
	if (str_copy(text, &copy, NULL) < 0)
		return;
	free(*to);
	*to = copy;
}

/* --- changes -------------------------------------------------------------- */

/* Tells of a change; false when the informer was freed by the callback. */
static bool tell(struct informer *i, const cJSON *old, const cJSON *now)
{
	bool gone = false;
	bool *outer = i->gone;

	if (!i->opts.on_change)
		return true;
	i->gone = &gone;
	i->opts.on_change(i->opts.arg, old, now);
	if (gone) {
		if (outer)
			*outer = true;
		return false;
	}
	i->gone = outer;
	return true;
}

/* Puts obj (taken over) into the copy and tells. false: freed. */
static bool store_put(struct informer *i, const char *key, cJSON *obj)
{
	cJSON *old = map_take(&i->store, key);
	struct err err = ERR_INIT;
	bool alive;

	if (map_put(&i->store, key, obj, &err) < 0) {
		/* The object is lost to the copy until the next list: have one soon. */
		cJSON_Delete(obj);
		cJSON_Delete(old);
		i->relist = true;
		report(i, &err);
		return true;
	}
	alive = tell(i, old, obj);
	cJSON_Delete(old);
	return alive;
}

static bool store_del(struct informer *i, const char *key)
{
	cJSON *old = map_take(&i->store, key);
	bool alive = true;

	if (old)
		alive = tell(i, old, NULL);
	cJSON_Delete(old);
	return alive;
}

/* --- a complete list ------------------------------------------------------ */

/* What a write returned after the list was read is newer than the list. */
static bool newer_than_list(const struct informer *i, const char *key)
{
	const cJSON *obj = map_get(&i->store, key);

	return obj && map_has(&i->observed, key) &&
	       version_cmp(version_of(obj), i->list_rv ? i->list_rv : "0") > 0;
}

static int stale_keys(const struct informer *i, struct strs *out, struct err *err)
{
	struct map_entry *e;

	map_each (&i->store, e) {
		if (map_has(&i->next, e->key) || newer_than_list(i, e->key))
			continue;
		if (strs_add(out, e->key, err) < 0)
			return -1;
	}
	return 0;
}

static bool take_item(struct informer *i, const char *key)
{
	cJSON *obj = map_take(&i->next, key);
	const cJSON *old = map_get(&i->store, key);

	if (!obj)
		return true;
	if (newer_than_list(i, key) || (old && strcmp(version_of(old), version_of(obj)) == 0)) {
		cJSON_Delete(obj);
		return true;
	}
	return store_put(i, key, obj);
}

/* Deleted ones first: a name may have moved to another namespace. false: freed. */
static bool take_over(struct informer *i, struct err *err)
{
	AUTO(strs) struct strs gone = STRS_INIT;
	AUTO(strs) struct strs keys = STRS_INIT;
	struct map_entry *e;

	if (stale_keys(i, &gone, err) < 0)
		return true;
	map_each (&i->next, e) {
		if (strs_add(&keys, e->key, err) < 0)
			return true;
	}
	for (size_t n = 0; n < gone.n; n++)
		if (!store_del(i, gone.v[n]))
			return false;
	for (size_t n = 0; n < keys.n; n++)
		if (!take_item(i, keys.v[n]))
			return false;
	map_release(&i->next);
	map_release(&i->observed);
	return true;
}

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
	report(i, err);
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

		trim(i, obj);
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
	i->heard_ms = now_ms(i);
	if (take_page(i, resp->json, &err) < 0) {
		list_failed(i, &err);
		schedule(i, next_backoff(i));
		return;
	}
	if (i->page_token) {
		begin(i);
		return;
	}
	if (!take_over(i, &err))
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
		report(i, &err);
		if (i->backoff_ms == 0)
			i->backoff_ms = BACKOFF_MIN_MS;
	}
}

static bool apply_event(struct informer *i, const char *type, cJSON *obj)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	const cJSON *old;

	if (version_of(obj)[0])
		set_text(&i->rv, version_of(obj));
	if (str_eq(type, "BOOKMARK")) {
		cJSON_Delete(obj);
		return true;
	}
	informer_key(obj, &key);
	if (key.fail != FAIL_NONE) {
		/* The event is lost to the copy until the next list: have one soon. */
		cJSON_Delete(obj);
		i->relist = true;
		return true;
	}
	old = map_get(&i->store, buf_text(&key));
	/* What a write returned may be newer than this event: the event for it is to come. */
	if (old && version_cmp(version_of(old), version_of(obj)) > 0 &&
	    map_has(&i->observed, buf_text(&key))) {
		cJSON_Delete(obj);
		return true;
	}
	(void)map_del(&i->observed, buf_text(&key));
	if (str_eq(type, "DELETED")) {
		cJSON_Delete(obj);
		return store_del(i, buf_text(&key));
	}
	trim(i, obj);
	return store_put(i, buf_text(&key), obj);
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
		return apply_event(i, type, cJSON_DetachItemViaPointer(event, obj)) ? 0 : 1;
	return 0; /* a type of the future */
}

static int on_watch_data(void *arg, const char *data, size_t n)
{
	struct informer *i = arg;
	struct err err = ERR_INIT;

	i->heard_ms = now_ms(i);
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
	report(i, &err);
	return 1;
}

static void watch_ended(struct informer *i, const struct kube_resp *resp, const struct err *error)
{
	bool lived = i->watch_events > 0 || now_ms(i) - i->watch_started_ms >= SHORT_WATCH_MS;

	if (resp->http == 410)
		i->relist = true;
	if (error->fail != FAIL_NONE && error->fail != FAIL_CANCELED && resp->http != 410)
		report(i, error);
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
	int64_t watch_s = WATCH_MIN_S + (int64_t)random_below(WATCH_SPREAD_S);

	if (make_path(i, watch_s, &path, err) < 0)
		return -1;
	req.path = buf_text(&path);
	req.on_done = on_page;
	if (i->phase == PHASE_WATCH) {
		req.on_data = on_watch_data;
		req.on_done = on_watch_done;
		req.no_retry = true; /* our own back-off knows more */
		req.idle_timeout_ms = watch_s * 1000 + WATCH_GRACE_MS;
		i->watch_started_ms = now_ms(i);
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
		report(i, &err);
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
	i->store = MAP_INIT(drop_json);
	i->next = MAP_INIT(drop_json);
	i->observed = MAP_INIT(NULL);
	i->line = BUF_INIT(LIMIT_WATCH_EVENT);
	i->heard_ms = now_ms(i);
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

bool informer_synced(const struct informer *i)
{
	return i->synced;
}

int64_t informer_age_ms(const struct informer *i)
{
	return now_ms(i) - i->heard_ms;
}

const struct map *informer_store(const struct informer *i)
{
	return &i->store;
}

const cJSON *informer_get(const struct informer *i, const char *ns, const char *name)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

	if (ns && ns[0])
		buf_printf(&key, "%s/", ns);
	buf_str(&key, name);
	return map_get(&i->store, buf_text(&key));
}

/*
 * Only what is newer than all that the watch has told: an object of an older
 * version was changed again or deleted since, and the copy knows better.
 */
void informer_observe(struct informer *i, const cJSON *obj)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	struct err ignored = ERR_INIT;
	const cJSON *old;
	cJSON *copy;

	informer_key(obj, &key);
	old = map_get(&i->store, buf_text(&key));
	if (key.fail != FAIL_NONE || !i->synced || !version_of(obj)[0] ||
	    version_cmp(version_of(obj), i->rv) <= 0 ||
	    (old && version_cmp(version_of(obj), version_of(old)) <= 0))
		return;
	copy = json_copy(obj, &ignored);
	if (!copy)
		return; /* the event comes anyway */
	trim(i, copy);
	if (map_put(&i->observed, buf_text(&key), NULL, &ignored) < 0 ||
	    map_put(&i->store, buf_text(&key), copy, &ignored) < 0)
		cJSON_Delete(copy);
}
