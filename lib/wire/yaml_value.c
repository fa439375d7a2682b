/* SPDX-License-Identifier: Apache-2.0 */
/* From the nodes of a document to its JSON value: types, merge keys, aliases. */
#include <math.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/floats.h"
#include "wire/json_nodes.h"
#include "wire/patch.h"
#include "wire/yaml_nodes.h"
#include "wire/yaml_scalar.h"

#define TAG "tag:yaml.org,2002:"

struct converter {
	bool strict_keys;
	struct map *pos;    /* borrowed; NULL: no positions */
	struct buf pointer; /* JSON Pointer of the value at hand */
	unsigned depth;
	unsigned alias_depth; /* aliases that we are inside of */
	size_t count;         /* values made */
	size_t alias_count;   /* of them, those below an alias */
	struct err *err;
};

PRINTF(3, 4)
static int fail_at(struct converter *c, const struct yaml_node *node, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap); /* long keys are cut */
	va_end(ap);
	return err_set(c->err, FAIL_INPUT, "line %zu: %s", node->pos.line, what);
}

/* --- scalars ------------------------------------------------------------ */

static const char *const type_tags[] = {
	[YAML_STR] = "str",        [YAML_NULL] = "null",   [YAML_BOOL] = "bool",
	[YAML_INT] = "int",        [YAML_UINT] = "int",    [YAML_FLOAT] = "float",
	[YAML_TIME] = "timestamp", [YAML_MERGE] = "merge",
};

/* What the scalar is, its tag taken into account. */
static int type_of(struct converter *c, const struct yaml_node *node, struct yaml_scalar *out)
{
	static const char *const known[] = { "bool", "int", "float", "null", "timestamp" };
	const char *tag = node->tag;
	bool resolvable = false;

	*out = (struct yaml_scalar){ .type = YAML_STR };
	if (!tag) {
		if (node->plain)
			*out = yaml_resolve(node->text, node->len);
		return 0;
	}
	if (!str_starts(tag, TAG))
		return 0;
	tag += strlen(TAG);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		resolvable |= strcmp(tag, known[i]) == 0;
	if (!resolvable)
		return 0;
	*out = yaml_resolve(node->text, node->len);
	if (strcmp(tag, "float") == 0 && out->type == YAML_INT)
		out->type = YAML_FLOAT;
	if (strcmp(tag, type_tags[out->type]) != 0)
		return fail_at(c, node, "cannot decode !!%s `%.64s` as a !!%s",
			       type_tags[out->type], node->text, tag);
	return 0;
}

/* Text that is valid UTF-8 and has no NUL, as a string node. */
static int text_value(struct converter *c, const struct yaml_node *node, const char *text, size_t n,
		      cJSON **out)
{
	AUTO(buf) struct buf clean = BUF_INIT(n * 3);

	if (memchr(text, '\0', n))
		return fail_at(c, node, "a string with a NUL character");
	for (size_t i = 0; i < n;) {
		size_t len = utf8_len(text + i, n - i);

		if (len)
			buf_add(&clean, text + i, len);
		else
			buf_str(&clean, "\xef\xbf\xbd");
		i += len ? len : 1;
	}
	if (buf_check(&clean, c->err) < 0)
		return -1;
	*out = cJSON_CreateString(buf_text(&clean));
	return *out ? 0 : err_nomem(c->err);
}

static int binary_value(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	AUTO(buf) struct buf data = BUF_INIT(LIMIT_FILE);

	if (base64_decode(node->text, node->len, &data, NULL) < 0) {
		if (data.fail != FAIL_NONE)
			return buf_check(&data, c->err);
		return fail_at(c, node, "!!binary value contains invalid base64 data");
	}
	return text_value(c, node, buf_text(&data), data.len, out);
}

static cJSON *float_value(double d)
{
	char text[FLOAT_TEXT_SIZE];

	float_json(d, text);
	/* kubectl reads its own text again: "-0" is the integer 0 then. */
	return d == 0 ? cJSON_CreateNumber(0) : json_new_number(text, strlen(text));
}

static int scalar_value(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	struct yaml_scalar s;

	if (str_eq(node->tag, TAG "binary"))
		return binary_value(c, node, out);
	if (type_of(c, node, &s) < 0)
		return -1;
	switch (s.type) {
	case YAML_NULL:
		*out = cJSON_CreateNull();
		break;
	case YAML_BOOL:
		*out = cJSON_CreateBool(s.truth);
		break;
	case YAML_INT:
		*out = json_new_int(s.integer);
		break;
	case YAML_UINT:
	case YAML_FLOAT:
		if (!isfinite(s.number))
			return fail_at(c, node, "JSON has no number like %.16s", node->text);
		*out = float_value(s.number);
		break;
	case YAML_STR:
	case YAML_TIME:
	case YAML_MERGE:
		return text_value(c, node, node->text, node->len, out);
	}
	return *out ? 0 : err_nomem(c->err);
}

/* --- keys --------------------------------------------------------------- */

/* A member of the object in the making. */
struct slot {
	enum yaml_type type; /* of the key: 1 and "1" are two keys to kubectl's reader */
	bool written;        /* not through a merge */
};

/* An object in the making. */
struct members {
	cJSON *object; /* borrowed */
	struct map slots;
};

static void members_release(struct members *m)
{
	map_release(&m->slots);
}

static void float_key(double d, struct buf *out)
{
	char text[FLOAT_TEXT_SIZE];

	float_g(d, true, text);
	if (strcmp(text, "+Inf") == 0)
		buf_str(out, ".inf");
	else if (strcmp(text, "-Inf") == 0)
		buf_str(out, "-.inf");
	else if (strcmp(text, "NaN") == 0)
		buf_str(out, ".nan");
	else
		buf_str(out, text);
}

/* The text that a key node becomes. */
static int key_text(struct converter *c, const struct yaml_node *node, enum yaml_type *type,
		    struct buf *out)
{
	const struct yaml_node *key = node->kind == YAML_ALIAS ? node->target : node;
	AUTO_JSON cJSON *text = NULL;
	struct yaml_scalar s;

	if (key->kind != YAML_SCALAR)
		return fail_at(c, node, "a key is a list or a map");
	if (type_of(c, key, &s) < 0)
		return -1;
	*type = s.type;
	switch (s.type) {
	case YAML_BOOL:
		buf_str(out, s.truth ? "true" : "false");
		break;
	case YAML_INT:
		buf_printf(out, "%" PRId64, s.integer);
		break;
	case YAML_FLOAT:
		float_key(s.number, out);
		break;
	case YAML_NULL:
		return fail_at(c, node, "a key is null");
	case YAML_UINT:
		return fail_at(c, node, "%.32s is too large for a key", key->text);
	case YAML_STR:
	case YAML_TIME:
	case YAML_MERGE:
		*type = YAML_STR;
		if (scalar_value(c, key, &text) < 0)
			return -1;
		buf_str(out, text->valuestring);
		break;
	}
	return buf_check(out, c->err);
}

/* Puts item under key, as the last of equal keys; takes it in any case. */
static int put_member(struct converter *c, struct members *m, const struct yaml_node *node,
		      const char *key, enum yaml_type type, cJSON *item)
{
	struct slot *slot = map_get(&m->slots, key);
	bool merging = node == NULL;

	if (slot && slot->written && !merging && c->strict_keys) {
		cJSON_Delete(item);
		return fail_at(c, node, "key \"%s\" is there twice", key);
	}
	if (slot && slot->type != type) {
		/* Two keys that only look the same in JSON: the first stays. */
		cJSON_Delete(item);
		return 0;
	}
	if (!slot) {
		slot = calloc(1, sizeof(*slot));
		if (!slot || map_put(&m->slots, key, slot, c->err) < 0) {
			free(slot);
			cJSON_Delete(item);
			return err_nomem(c->err);
		}
	}
	slot->type = type;
	slot->written |= !merging;
	return json_set(m->object, key, item, c->err);
}

/* --- collections -------------------------------------------------------- */

static int note_position(struct converter *c, const struct yaml_node *node)
{
	struct yaml_pos *pos;

	if (!c->pos)
		return 0;
	pos = malloc(sizeof(*pos));
	if (!pos)
		return err_nomem(c->err);
	*pos = node->pos;
	if (buf_check(&c->pointer, c->err) < 0 ||
	    map_put(c->pos, buf_text(&c->pointer), pos, c->err) < 0) {
		free(pos);
		return -1;
	}
	return 0;
}

static int value_of(struct converter *c, const struct yaml_node *node, cJSON **out);

/* The value of a member or item, with its place on c->pointer and its position noted. */
static int child_value(struct converter *c, const struct yaml_node *where,
		       const struct yaml_node *node, cJSON **out)
{
	if (note_position(c, where) < 0)
		return -1;
	return value_of(c, node, out);
}

static int sequence_value(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	AUTO_JSON cJSON *array = cJSON_CreateArray();
	size_t before = c->pointer.len;

	if (!array)
		return err_nomem(c->err);
	for (size_t i = 0; i < node->n; i++) {
		cJSON *item = NULL;

		if (c->pos)
			patch_pointer_index(&c->pointer, i);
		if (child_value(c, node->children[i], node->children[i], &item) < 0)
			return -1;
		json_link(array, item);
		buf_cut(&c->pointer, before);
	}
	*out = TAKE(array);
	return 0;
}

static bool is_merge(const struct yaml_node *key)
{
	return key->kind == YAML_SCALAR && strcmp(key->text, "<<") == 0 &&
	       (key->tag ? strcmp(key->tag, TAG "merge") == 0 : key->plain);
}

static int fill(struct converter *c, const struct yaml_node *node, bool merging, struct members *m);

static const struct yaml_node *followed(const struct yaml_node *node)
{
	return node->kind == YAML_ALIAS ? node->target : node;
}

/* Fills in the members of what "<<" names. */
static int merge_one(struct converter *c, const struct yaml_node *node, struct members *m)
{
	struct yaml_node *map = (struct yaml_node *)followed(node); /* only its `open` changes */
	bool alias = map != node;
	int rc;

	if (map->kind != YAML_MAPPING)
		return fail_at(c, node, "map merge requires map or sequence of maps as the value");
	if (map->open)
		return fail_at(c, node, "anchor '%s' value contains itself", node->text);
	if (c->depth >= LIMIT_YAML_DEPTH)
		return fail_at(c, node, "nested deeper than %d levels", LIMIT_YAML_DEPTH);
	c->depth++;
	c->alias_depth += alias;
	map->open = true;
	rc = fill(c, map, true, m);
	map->open = false;
	c->alias_depth -= alias;
	c->depth--;
	return rc;
}

static int merge(struct converter *c, const struct yaml_node *node, struct members *m)
{
	if (node->kind != YAML_SEQUENCE)
		return merge_one(c, node, m);
	/* The first of a list has precedence, so it comes last. */
	for (size_t i = node->n; i > 0; i--)
		if (merge_one(c, node->children[i - 1], m) < 0)
			return -1;
	return 0;
}

static int fill(struct converter *c, const struct yaml_node *node, bool merging, struct members *m)
{
	size_t before = c->pointer.len;

	for (size_t i = 0; i + 1 < node->n; i += 2) {
		const struct yaml_node *key = node->children[i];
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_FILE);
		enum yaml_type type;
		cJSON *item = NULL;

		if (is_merge(key)) {
			if (merge(c, node->children[i + 1], m) < 0)
				return -1;
			continue;
		}
		if (key_text(c, key, &type, &text) < 0)
			return -1;
		if (c->pos)
			patch_pointer(&c->pointer, buf_text(&text));
		if (child_value(c, key, node->children[i + 1], &item) < 0 ||
		    put_member(c, m, merging ? NULL : key, buf_text(&text), type, item) < 0)
			return -1;
		buf_cut(&c->pointer, before);
	}
	return 0;
}

static int mapping_value(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	AUTO_JSON cJSON *object = cJSON_CreateObject();
	AUTO(members) struct members m = { .object = object, .slots = MAP_INIT(free) };

	if (!object)
		return err_nomem(c->err);
	if (fill(c, node, false, &m) < 0)
		return -1;
	*out = TAKE(object);
	return 0;
}

static int alias_value(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	struct yaml_node *target = (struct yaml_node *)node->target; /* only its `open` changes */
	int rc;

	if (target->open)
		return fail_at(c, node, "anchor '%s' value contains itself", node->text);
	c->alias_depth++;
	target->open = true;
	rc = value_of(c, target, out);
	target->open = false;
	c->alias_depth--;
	return rc;
}

/*
 * The bomb guard of kubectl's reader: of many values at most 99 % may come from
 * aliases, of very many 10 %.
 */
static bool too_many_aliases(const struct converter *c)
{
	const double low = 400000;
	const double high = 4000000;
	double allowed = 0.99;

	if (c->alias_count <= 100 || c->count <= 1000)
		return false;
	if ((double)c->count >= high)
		allowed = 0.10;
	else if ((double)c->count > low)
		allowed = 0.99 - 0.89 * (((double)c->count - low) / (high - low));
	return (double)c->alias_count / (double)c->count > allowed;
}

static int value_of(struct converter *c, const struct yaml_node *node, cJSON **out)
{
	int rc = -1;

	c->count++;
	c->alias_count += c->alias_depth > 0;
	if (too_many_aliases(c))
		return fail_at(c, node, "document contains excessive aliasing");
	if (c->count > LIMIT_YAML_NODES)
		return err_set(c->err, FAIL_LIMIT, "more than %d values", LIMIT_YAML_NODES);
	if (c->depth >= LIMIT_YAML_DEPTH)
		return fail_at(c, node, "nested deeper than %d levels", LIMIT_YAML_DEPTH);
	c->depth++;
	switch (node->kind) {
	case YAML_SCALAR:
		rc = scalar_value(c, node, out);
		break;
	case YAML_SEQUENCE:
		rc = sequence_value(c, node, out);
		break;
	case YAML_MAPPING:
		rc = mapping_value(c, node, out);
		break;
	case YAML_ALIAS:
		rc = alias_value(c, node, out);
		break;
	}
	c->depth--;
	return rc;
}

int yaml_tree_value(const struct yaml_tree *t, bool strict_keys, struct map *pos, cJSON **out,
		    struct err *err)
{
	struct converter c = {
		.strict_keys = strict_keys, .pos = pos, .pointer = BUF_INIT(LIMIT_FILE), .err = err
	};
	cJSON *v = NULL;
	int rc;

	if (!t->root) {
		v = cJSON_CreateNull();
		rc = v ? 0 : err_nomem(err);
	} else {
		rc = child_value(&c, t->root, t->root, &v);
	}
	buf_release(&c.pointer);
	if (rc == 0)
		*out = v;
	return rc;
}
