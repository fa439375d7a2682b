/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/patch.h"

#include "base/limits.h"
#include "base/num.h"
#include "wire/json_nodes.h"

/* --- building ----------------------------------------------------------- */

void patch_release(struct patch *p)
{
	cJSON_Delete(p->ops);
	p->ops = NULL;
}

void patch_pointer(struct buf *pointer, const char *key)
{
	buf_char(pointer, '/');
	for (; *key; key++) {
		if (*key == '~')
			buf_str(pointer, "~0");
		else if (*key == '/')
			buf_str(pointer, "~1");
		else
			buf_char(pointer, *key);
	}
}

void patch_pointer_index(struct buf *pointer, size_t i)
{
	buf_printf(pointer, "/%zu", i);
}

/* Appends an op; takes value, which is NULL only for a remove. */
static int push(struct patch *p, const char *name, const char *pointer, cJSON *value,
		struct err *err)
{
	AUTO_JSON cJSON *op = cJSON_CreateObject();
	AUTO_JSON cJSON *owned = value;

	if (!p->ops)
		p->ops = cJSON_CreateArray();
	if (!op || !p->ops)
		return err_nomem(err);
	if (json_set_str(op, "op", name, err) < 0 || json_set_str(op, "path", pointer, err) < 0)
		return -1;
	if (owned && json_set(op, "value", TAKE(owned), err) < 0)
		return -1;
	return json_append(p->ops, TAKE(op), err);
}

int patch_add(struct patch *p, const char *pointer, cJSON *value, struct err *err)
{
	return value ? push(p, "add", pointer, value, err) : err_nomem(err);
}

int patch_replace(struct patch *p, const char *pointer, cJSON *value, struct err *err)
{
	return value ? push(p, "replace", pointer, value, err) : err_nomem(err);
}

int patch_remove(struct patch *p, const char *pointer, struct err *err)
{
	return push(p, "remove", pointer, NULL, err);
}

int patch_test(struct patch *p, const char *pointer, cJSON *value, struct err *err)
{
	return value ? push(p, "test", pointer, value, err) : err_nomem(err);
}

size_t patch_len(const struct patch *p)
{
	return json_len(p->ops);
}

/* --- applying ----------------------------------------------------------- */

/* Where a pointer leads: a parent and the last token, or the whole document. */
struct place {
	cJSON *parent;   /* NULL: the document itself */
	struct buf last; /* the decoded last token */
	cJSON *child;    /* what is there now, or NULL */
};

static void place_release(struct place *p)
{
	buf_release(&p->last);
}

/* Decodes the token at s (after its slash) into out; returns its end, NULL when it is malformed. */
static const char *token(const char *s, struct buf *out)
{
	buf_clear(out);
	for (; *s && *s != '/'; s++) {
		if (*s != '~') {
			buf_char(out, *s);
			continue;
		}
		s++;
		if (*s != '0' && *s != '1')
			return NULL;
		buf_char(out, *s == '0' ? '~' : '/');
	}
	return s;
}

/* An array index without sign or leading zero. */
static bool index_of(const char *text, size_t *out)
{
	int64_t n;

	if (*text < '0' || *text > '9' || (text[0] == '0' && text[1]) ||
	    num_parse(text, strlen(text), 0, LIMIT_ITEMS, &n, NULL) < 0)
		return false;
	*out = (size_t)n;
	return true;
}

static cJSON *child_of(cJSON *v, const char *name)
{
	size_t i;

	if (cJSON_IsArray(v) && index_of(name, &i)) {
		cJSON *item = v->child;

		for (; item && i; i--)
			item = item->next;
		return item;
	}
	return cJSON_IsObject(v) ? cJSON_GetObjectItemCaseSensitive(v, name) : NULL;
}

static int locate(cJSON *doc, const char *pointer, struct place *at, struct err *err)
{
	const char *s = pointer;

	at->parent = NULL;
	at->child = doc;
	if (*s && *s != '/')
		return err_set(err, FAIL_INPUT, "path \"%s\" does not start with a slash", pointer);
	while (*s) {
		if (!at->child)
			return err_set(err, FAIL_INPUT, "path \"%s\" leads nowhere", pointer);
		at->parent = at->child;
		s = token(s + 1, &at->last);
		if (!s)
			return err_set(err, FAIL_INPUT, "path \"%s\" has a bad escape", pointer);
		if (buf_check(&at->last, err) < 0)
			return -1;
		at->child = child_of(at->parent, buf_text(&at->last));
	}
	return 0;
}

static int insert(struct place *at, cJSON *value, struct err *err)
{
	const char *name = buf_text(&at->last);
	size_t n = json_len(at->parent);
	size_t i = n;

	if ((strcmp(name, "-") != 0 && !index_of(name, &i)) || i > n) {
		cJSON_Delete(value);
		return err_set(err, FAIL_INPUT, "index \"%s\" is out of range", name);
	}
	if (i == n)
		return json_append(at->parent, value, err);
	json_link_before(at->parent, at->child, value);
	return 0;
}

/* Takes value. */
static int put(cJSON **doc, struct place *at, cJSON *value, bool replace, struct err *err)
{
	if (!value)
		return err_nomem(err);
	if (!at->parent) {
		cJSON_Delete(*doc);
		*doc = value;
		return 0;
	}
	if (cJSON_IsObject(at->parent))
		return json_set(at->parent, buf_text(&at->last), value, err);
	if (!cJSON_IsArray(at->parent)) {
		cJSON_Delete(value);
		return err_set(err, FAIL_INPUT, "the parent is neither object nor list");
	}
	if (!replace)
		return insert(at, value, err);
	(void)cJSON_ReplaceItemViaPointer(at->parent, at->child, value); /* all are there */
	return 0;
}

static int apply_one(const cJSON *op, cJSON **doc, struct err *err)
{
	AUTO(place) struct place at = { .last = BUF_INIT(LIMIT_TEXT) };
	const char *name = json_get_str(op, "op", "");
	const char *path = json_get_str(op, "path", NULL);
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(op, "value"); /* null is a value */
	bool add = strcmp(name, "add") == 0;
	bool replace = strcmp(name, "replace") == 0;
	bool test = strcmp(name, "test") == 0;

	if (!add && !replace && !test && strcmp(name, "remove") != 0)
		return err_set(err, FAIL_INPUT, "op \"%s\" is none of add, replace, remove, test",
			       name);
	if (!path)
		return err_set(err, FAIL_INPUT, "op \"%s\" has no path", name);
	if (!value && (add || replace || test))
		return err_set(err, FAIL_INPUT, "op \"%s\" has no value", name);
	if (locate(*doc, path, &at, err) < 0)
		return -1;
	if (!add && !at.child)
		return err_set(err, FAIL_INPUT, "there is nothing at \"%s\"", path);
	if (test)
		return json_equal(at.child, value)
			       ? 0
			       : err_set(err, FAIL_INPUT, "the value at \"%s\" is another", path);
	if (add || replace)
		return put(doc, &at, json_copy(value, err), replace, err);
	if (!at.parent)
		return err_set(err, FAIL_INPUT, "the whole document can not be removed");
	cJSON_Delete(cJSON_DetachItemViaPointer(at.parent, at.child));
	return 0;
}

int patch_apply(const cJSON *ops, cJSON **doc, struct err *err)
{
	AUTO_JSON cJSON *work = json_copy(*doc, err);
	const cJSON *op;
	size_t i = 0;

	if (!work)
		return -1;
	if (!cJSON_IsArray(ops))
		return err_set(err, FAIL_INPUT, "a JSON Patch is a list");
	json_each (op, ops) {
		if (apply_one(op, &work, err) < 0)
			return err_wrap(err, "patch op %zu", i);
		i++;
	}
	cJSON_Delete(*doc);
	*doc = TAKE(work);
	return 0;
}

/* Merges patch into target, which is an object. */
static int merge_into(cJSON *target, const cJSON *patch, struct err *err)
{
	const cJSON *m;

	json_each (m, patch) {
		cJSON *there = cJSON_GetObjectItemCaseSensitive(target, m->string);

		if (cJSON_IsNull(m)) {
			json_del(target, m->string);
			continue;
		}
		if (!cJSON_IsObject(m)) {
			cJSON *copy = json_copy(m, err);

			if (!copy || json_set(target, m->string, copy, err) < 0)
				return -1;
			continue;
		}
		if (!cJSON_IsObject(there)) {
			there = cJSON_CreateObject();
			if (json_set(target, m->string, there, err) < 0)
				return -1;
		}
		if (merge_into(there, m, err) < 0)
			return -1;
	}
	return 0;
}

int patch_merge(cJSON **doc, const cJSON *patch, struct err *err)
{
	bool whole = !cJSON_IsObject(patch);
	AUTO_JSON cJSON *work = NULL;

	if (whole || cJSON_IsObject(*doc))
		work = json_copy(whole ? patch : *doc, err);
	else
		work = cJSON_CreateObject();
	if (!work)
		return err_nomem(err);
	if (!whole && merge_into(work, patch, err) < 0)
		return -1;
	cJSON_Delete(*doc);
	*doc = TAKE(work);
	return 0;
}
