/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml.h"

#include <math.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "wire/floats.h"
#include "wire/json_nodes.h"
#include "wire/yaml_nodes.h"

static void doc_release(struct yaml_doc *d)
{
	cJSON_Delete(d->json);
	if (d->pos)
		map_release(d->pos);
	free(d->pos);
	*d = (struct yaml_doc){ 0 };
}

void yaml_docs_release(struct yaml_docs *d)
{
	for (size_t i = 0; i < d->n; i++)
		doc_release(&d->v[i]);
	free(d->v);
	*d = (struct yaml_docs){ 0 };
}

/* Appends doc, which is empty afterwards, unless its value is null. */
static int push(struct yaml_docs *docs, struct yaml_doc *doc, struct err *err)
{
	struct yaml_doc *v;

	if (cJSON_IsNull(doc->json))
		return 0;
	v = reallocarray(docs->v, docs->n + 1, sizeof(*v));
	if (!v)
		return err_nomem(err);
	docs->v = v;
	v[docs->n++] = *doc;
	*doc = (struct yaml_doc){ 0 };
	return 0;
}

static int want_positions(struct yaml_doc *doc, unsigned flags, struct err *err)
{
	if (!(flags & YAML_POSITIONS))
		return 0;
	doc->pos = malloc(sizeof(*doc->pos));
	if (!doc->pos)
		return err_nomem(err);
	*doc->pos = MAP_INIT(free);
	return 0;
}

/* --- YAML --------------------------------------------------------------- */

/* One document of YAML, n bytes that start on line `line`. */
static int read_yaml(const char *text, size_t n, size_t line, unsigned flags,
		     struct yaml_docs *docs, struct err *err)
{
	AUTO(yaml_tree) struct yaml_tree tree = { 0 };
	AUTO(doc) struct yaml_doc doc = { 0 };

	if (yaml_tree_read(text, n, line, &tree, err) < 0 || want_positions(&doc, flags, err) < 0 ||
	    yaml_tree_value(&tree, flags & YAML_STRICT_KEYS, doc.pos, &doc.json, err) < 0)
		return -1;
	doc.line = tree.root ? tree.root->pos.line : line;
	return push(docs, &doc, err);
}

static size_t line_length(const char *text, size_t n)
{
	const char *end = memchr(text, '\n', n);

	return end ? (size_t)(end - text) + 1 : n;
}

/* True for a line that separates documents; FAIL_INPUT when something stands behind the dashes. */
static int is_separator(const char *text, size_t len, size_t line, bool *yes, struct err *err)
{
	size_t i = 3;

	*yes = len >= 3 && memcmp(text, "---", 3) == 0;
	if (!*yes)
		return 0;
	while (len > i && strchr(" \t\r\n\v\f", text[len - 1]))
		len--;
	while (i < len && strchr(" \t\r\n\v\f", text[i]))
		i++;
	if (i < len && text[i] != '#')
		return err_set(err, FAIL_INPUT, "line %zu: invalid document separator: ---%.*s",
			       line, (int)(len - 3 > 64 ? 64 : len - 3), text + 3);
	return 0;
}

/* kubectl cuts at lines that start with ---, before any YAML is parsed, even in block scalars. */
static int read_stream(const char *text, size_t n, size_t line, unsigned flags,
		       struct yaml_docs *docs, struct err *err)
{
	size_t start = 0;
	size_t start_line = line;
	size_t at = 0;

	while (at < n) {
		size_t len = line_length(text + at, n - at);
		bool separator;

		if (is_separator(text + at, len, line, &separator, err) < 0)
			return -1;
		if (separator && at > start) {
			if (read_yaml(text + start, at - start, start_line, flags, docs, err) < 0)
				return -1;
			start = at + len;
			start_line = line + 1;
		}
		at += len;
		line++;
	}
	return start < n ? read_yaml(text + start, n - start, start_line, flags, docs, err) : 0;
}

/* --- JSON --------------------------------------------------------------- */

/* Numbers as kubectl holds them: int64, else double. */
static int normalise(cJSON *v, size_t line, struct err *err)
{
	cJSON *item;

	json_each (item, v) {
		int64_t whole;
		char text[FLOAT_TEXT_SIZE];
		double d;
		cJSON *number;

		if (normalise(item, line, err) < 0)
			return -1;
		if (cJSON_IsNumber(item) && item->valuedouble == 0)
			item->valuedouble = 0; /* -0 is the integer 0 */
		if (!cJSON_IsRaw(item))
			continue;
		d = strtod(item->valuestring, NULL);
		if (!isfinite(d))
			return err_set(err, FAIL_INPUT, "line %zu: the number %.32s is too large",
				       line, item->valuestring);
		if (json_int(item, &whole)) {
			number = json_new_int(whole);
		} else {
			float_json(d == 0 ? 0 : d, text);
			number = json_new_number(text, strlen(text));
		}
		if (!number)
			return err_nomem(err);
		cJSON_free(item->valuestring);
		item->type = number->type;
		item->valuestring = TAKE(number->valuestring);
		item->valuedouble = number->valuedouble;
		item->valueint = number->valueint;
		cJSON_Delete(number);
	}
	return 0;
}

/* Positions of JSON text by reading it as YAML; where that does not work there are none. */
static int json_positions(const char *text, size_t n, size_t line, struct yaml_doc *doc,
			  unsigned flags, struct err *err)
{
	AUTO(yaml_tree) struct yaml_tree tree = { 0 };
	AUTO_JSON cJSON *unused = NULL;

	if (want_positions(doc, flags, err) < 0)
		return -1;
	if (doc->pos && (yaml_tree_read(text, n, line, &tree, NULL) < 0 ||
			 yaml_tree_value(&tree, false, doc->pos, &unused, NULL) < 0))
		map_release(doc->pos);
	return 0;
}

static size_t count_lines(const char *text, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static size_t space_length(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
		i++;
	return i;
}

/* JSON values one after the other; after a line --- the rest is YAML. *is_json: it is well-formed.
 */
static int read_json(const char *text, size_t n, unsigned flags, struct yaml_docs *docs,
		     bool *is_json, struct err *err)
{
	size_t at = space_length(text, n);
	size_t line = 1 + count_lines(text, at);

	while (at < n && text[at] == '{') {
		AUTO(doc) struct yaml_doc doc = { .line = line };
		size_t used;

		*is_json = json_parse_prefix(text + at, n - at, !(flags & YAML_STRICT_KEYS), line,
					     &used, &doc.json, err) == 0;
		if (!*is_json || normalise(doc.json, line, err) < 0 ||
		    json_positions(text + at, used, line, &doc, flags, err) < 0 ||
		    push(docs, &doc, err) < 0)
			return -1;
		line += count_lines(text + at, used);
		at += used;
	}
	if (at == n)
		return 0;
	if (n - at >= 3 && memcmp(text + at, "---", 3) == 0 && text[at - 1] == '\n')
		return read_stream(text + at, n - at, line, flags, docs, err);
	return err_set(err, FAIL_INPUT, "line %zu: more text after a JSON value", line);
}

/* --- both --------------------------------------------------------------- */

/* The text with U+FFFD for each byte that is no UTF-8, as kubectl reads it; out stays empty when
 * all is well. */
static int replace_invalid(const char *text, size_t n, struct buf *out, struct err *err)
{
	size_t start = 0;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_len(text + i, n - i);

		if (!len) {
			buf_add(out, text + start, i - start);
			buf_str(out, "\xef\xbf\xbd");
			start = i + 1;
		}
		i += len ? len : 1;
	}
	if (start)
		buf_add(out, text + start, n - start);
	return buf_check(out, err);
}

static int read_text(const char *text, size_t n, unsigned flags, struct yaml_docs *docs,
		     struct err *err)
{
	size_t at = space_length(text, n);
	struct err json_err = ERR_INIT;
	bool is_json = false;

	if (at == n || text[at] != '{')
		return read_stream(text, n, 1, flags, docs, err);
	if (read_json(text, n, flags, docs, &is_json, &json_err) == 0)
		return 0;
	/* A YAML flow mapping looks like JSON too. */
	yaml_docs_release(docs);
	if (!is_json && json_err.fail == FAIL_INPUT &&
	    read_stream(text, n, 1, flags, docs, NULL) == 0)
		return 0;
	yaml_docs_release(docs);
	if (err)
		*err = json_err;
	return -1;
}

int yaml_parse(const char *text, size_t n, unsigned flags, struct yaml_docs *out, struct err *err)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	AUTO(buf) struct buf clean = BUF_INIT(SIZE_MAX / 2);
	bool utf16 =
		n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);

	if (utf16) {
		if (read_yaml(text, n, 1, flags, &docs, err) < 0)
			return -1;
	} else {
		if (replace_invalid(text, n, &clean, err) < 0)
			return -1;
		if (clean.len) {
			text = clean.data;
			n = clean.len;
		}
		if (read_text(text, n, flags, &docs, err) < 0)
			return -1;
	}
	*out = docs;
	docs = (struct yaml_docs){ 0 };
	return 0;
}

struct yaml_pos yaml_pos_of(const struct yaml_doc *d, const char *pointer)
{
	AUTO_FREE char *path = strdup(pointer);
	const struct yaml_pos *pos = NULL;

	while (path && d->pos && !(pos = map_get(d->pos, path))) {
		char *slash = strrchr(path, '/');

		if (!slash)
			break;
		*slash = '\0';
	}
	return pos ? *pos : (struct yaml_pos){ d->line ? d->line : 1, 1 };
}
