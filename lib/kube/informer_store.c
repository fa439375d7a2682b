/* SPDX-License-Identifier: Apache-2.0 */
/* informer_store: the copy of the objects, and how lists, events and writes change it. */
#include "base/limits.h"
#include "kube/informer_int.h"

void informer_drop(void *v)
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

void informer_trim(const struct informer *i, cJSON *obj)
{
	if (i->opts.trim)
		i->opts.trim(obj);
	else
		json_del(json_get_mut(obj, "metadata"), "managedFields");
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
bool informer_put(struct informer *i, const char *key, cJSON *obj)
{
	cJSON *old = map_take(&i->store, key);
	struct err err = ERR_INIT;
	bool alive;

	if (map_put(&i->store, key, obj, &err) < 0) {
		/* The object is lost to the copy until the next list: have one soon. */
		cJSON_Delete(obj);
		cJSON_Delete(old);
		i->relist = true;
		informer_report(i, &err);
		return true;
	}
	alive = tell(i, old, obj);
	cJSON_Delete(old);
	return alive;
}

bool informer_del(struct informer *i, const char *key)
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
	return informer_put(i, key, obj);
}

/* Deleted ones first: a name may have moved to another namespace. false: freed. */
bool informer_take_over(struct informer *i, struct err *err)
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
		if (!informer_del(i, gone.v[n]))
			return false;
	for (size_t n = 0; n < keys.n; n++)
		if (!take_item(i, keys.v[n]))
			return false;
	map_release(&i->next);
	map_release(&i->observed);
	return true;
}

/* --- events --------------------------------------------------------------- */

static void set_text(char **to, const char *text)
{
	char *copy = NULL;

	/* When memory is out the older version stays: the watch repeats a few events. */
	if (str_copy(text, &copy, NULL) < 0)
		return;
	free(*to);
	*to = copy;
}

bool informer_event(struct informer *i, const char *type, cJSON *obj)
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
		return informer_del(i, buf_text(&key));
	}
	informer_trim(i, obj);
	return informer_put(i, buf_text(&key), obj);
}

/* --- the outside ---------------------------------------------------------- */

bool informer_synced(const struct informer *i)
{
	return i->synced;
}

int64_t informer_age_ms(const struct informer *i)
{
	return informer_now_ms(i) - i->heard_ms;
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
	informer_trim(i, copy);
	if (map_put(&i->observed, buf_text(&key), NULL, &ignored) < 0 ||
	    map_put(&i->store, buf_text(&key), copy, &ignored) < 0)
		cJSON_Delete(copy);
}
