/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict parser. It makes the cJSON nodes itself, in one pass: cJSON's own
 * parser accepts trailing garbage, bad UTF-8 and duplicate keys, cuts strings
 * at \u0000 and rounds numbers, and scanning the text twice costs more than
 * making the nodes here.
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "wire/json.h"
#include "wire/json_nodes.h"

/* Up to so many members, duplicate keys are looked for one by one. */
#define SMALL_OBJECT 16

struct parser {
	const char *text;
	size_t n;
	size_t pos;
	unsigned depth;
	size_t line; /* of the first byte, in messages */
	bool lenient;
	struct err *err;
};

/* FAIL_INPUT with line and column of offset `at`. */
PRINTF(3, 4) static int fail_at(struct parser *p, size_t at, const char *fmt, ...)
{
	size_t line = p->line;
	size_t start = 0;
	char what[256];
	va_list ap;

	for (size_t i = 0; i < at && i < p->n; i++) {
		if (p->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap); /* long keys are cut */
	va_end(ap);
	return err_set(p->err, FAIL_INPUT, "line %zu, column %zu: %s", line, at - start + 1, what);
}

static int expected(struct parser *p, const char *what)
{
	if (p->pos >= p->n)
		return fail_at(p, p->pos, "unexpected end, expected %s", what);
	return fail_at(p, p->pos, "expected %s", what);
}

static void skip_space(struct parser *p)
{
	while (p->pos < p->n && (p->text[p->pos] == ' ' || p->text[p->pos] == '\n' ||
				 p->text[p->pos] == '\t' || p->text[p->pos] == '\r'))
		p->pos++;
}

/* Skips c when it is next. */
static bool take_char(struct parser *p, char c)
{
	if (p->pos >= p->n || p->text[p->pos] != c)
		return false;
	p->pos++;
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The 4 hex digits at offset `at`, or -1. */
static int32_t hex4(const struct parser *p, size_t at)
{
	int32_t value = 0;

	if (p->n - at < 4)
		return -1;
	for (size_t i = at; i < at + 4; i++) {
		int digit = hex_value(p->text[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Code point of the \uXXXX (or pair) whose backslash is at offset `at`; its length in *len. */
static int unicode_escape(struct parser *p, size_t at, uint32_t *cp, size_t *len)
{
	int32_t high = hex4(p, at + 2);
	int32_t low;

	if (high < 0)
		return fail_at(p, at, "\\u needs four hexadecimal digits");
	if (high == 0)
		return fail_at(p, at, "\\u0000 is not allowed");
	*cp = (uint32_t)high;
	*len = 6;
	if (high < 0xd800 || high > 0xdfff)
		return 0;
	if (high > 0xdbff || p->n - at < 12 || p->text[at + 6] != '\\' || p->text[at + 7] != 'u')
		return fail_at(p, at, "half of a surrogate pair");
	low = hex4(p, at + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return fail_at(p, at, "half of a surrogate pair");
	*cp = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
	*len = 12;
	return 0;
}

/* The character of a two-character escape, or 0. */
static char simple_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return 0;
	}
}

/* From after the opening quote to the closing one: checks all but the escapes. */
static int scan_string(struct parser *p, size_t *end, bool *escapes)
{
	size_t i = p->pos;

	*escapes = false;
	while (i < p->n) {
		unsigned char c;
		size_t len = 1;

		i += utf8_plain(p->text + i, p->n - i);
		if (i == p->n)
			break;
		c = (unsigned char)p->text[i];
		if (c == '"') {
			*end = i;
			return 0;
		}
		if (c < 0x20)
			return fail_at(p, i, "control character in a string");
		if (c == '\\') {
			*escapes = true;
			len = 2;
		} else if (c >= 0x80) {
			len = utf8_len(p->text + i, p->n - i);
			if (!len)
				return fail_at(p, i, "invalid UTF-8");
		}
		i += len;
	}
	return fail_at(p, p->pos - 1, "the string does not end");
}

/* Decodes the escapes of text[p->pos..end) into to; returns the length, or -1. */
static ssize_t unescape(struct parser *p, size_t end, char *to)
{
	size_t n = 0;

	for (size_t i = p->pos; i < end;) {
		uint32_t cp = 0;
		size_t len = 0;

		if (p->text[i] != '\\') {
			to[n++] = p->text[i++];
		} else if (p->text[i + 1] == 'u') {
			if (unicode_escape(p, i, &cp, &len) < 0)
				return -1;
			n += utf8_put(cp, to + n);
			i += len;
		} else {
			to[n] = simple_escape(p->text[i + 1]);
			if (!to[n++])
				return fail_at(p, i, "unknown escape in a string");
			i += 2;
		}
	}
	return (ssize_t)n;
}

/* The string at p, opening quote included; *out is cJSON's to free. */
static int parse_string(struct parser *p, char **out)
{
	size_t end = 0;
	bool escapes;
	ssize_t n;
	char *to;

	if (!take_char(p, '"'))
		return expected(p, "a string");
	if (scan_string(p, &end, &escapes) < 0)
		return -1;
	to = cJSON_malloc(end - p->pos + 1); /* an escape is never shorter than its character */
	if (!to)
		return err_nomem(p->err);
	if (escapes) {
		n = unescape(p, end, to);
		if (n < 0) {
			cJSON_free(to);
			return -1;
		}
	} else {
		n = (ssize_t)(end - p->pos);
		memcpy(to, p->text + p->pos, (size_t)n);
	}
	to[n] = '\0';
	p->pos = end + 1;
	*out = to;
	return 0;
}

static size_t skip_digits(struct parser *p)
{
	size_t start = p->pos;

	while (p->pos < p->n && p->text[p->pos] >= '0' && p->text[p->pos] <= '9')
		p->pos++;
	return p->pos - start;
}

static int parse_number(struct parser *p, cJSON **out)
{
	size_t start = p->pos;
	size_t digits;
	bool leading_zero;

	(void)take_char(p, '-');
	leading_zero = p->pos < p->n && p->text[p->pos] == '0';
	digits = skip_digits(p);
	if (!digits)
		return expected(p, "a digit");
	if (leading_zero && digits > 1)
		return fail_at(p, start, "a number with a leading zero");
	if (take_char(p, '.') && !skip_digits(p))
		return expected(p, "a digit");
	if (take_char(p, 'e') || take_char(p, 'E')) {
		if (!take_char(p, '+'))
			(void)take_char(p, '-');
		if (!skip_digits(p))
			return expected(p, "a digit");
	}
	*out = json_new_number(p->text + start, p->pos - start);
	return *out ? 0 : err_nomem(p->err);
}

static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	if (p->n - p->pos < len || memcmp(p->text + p->pos, word, len) != 0)
		return false;
	p->pos += len;
	return true;
}

static int parse_value(struct parser *p, cJSON **out);

/* Makes an empty array or object and goes one level down. */
static cJSON *open_level(struct parser *p, bool object)
{
	cJSON *v;

	if (++p->depth > LIMIT_JSON_DEPTH) {
		(void)fail_at(p, p->pos, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
		return NULL;
	}
	p->pos++;
	skip_space(p);
	v = object ? cJSON_CreateObject() : cJSON_CreateArray();
	if (!v)
		(void)err_nomem(p->err);
	return v;
}

static int parse_array(struct parser *p, cJSON **out)
{
	AUTO_JSON cJSON *array = open_level(p, false);
	cJSON *item;

	if (!array)
		return -1;
	if (!take_char(p, ']')) {
		for (;;) {
			if (parse_value(p, &item) < 0)
				return -1;
			json_link(array, item);
			skip_space(p);
			if (take_char(p, ']'))
				break;
			if (!take_char(p, ','))
				return expected(p, "\",\" or \"]\"");
			skip_space(p);
		}
	}
	p->depth--;
	*out = TAKE(array);
	return 0;
}

/* Handles a second `key` at offset `at`: an error, or the earlier member goes. */
static int drop_duplicate(struct parser *p, cJSON *object, cJSON *earlier, size_t at)
{
	if (!p->lenient)
		return fail_at(p, at, "key \"%s\" is there twice", earlier->string);
	cJSON_Delete(cJSON_DetachItemViaPointer(object, earlier));
	return 0;
}

/* Looks for the key of a small object that is about to get one more member. */
static int check_small(struct parser *p, cJSON *object, const char *key, size_t at)
{
	for (cJSON *m = object->child; m; m = m->next)
		if (strcmp(m->string, key) == 0)
			return drop_duplicate(p, object, m, at);
	return 0;
}

/* Finds duplicates of a large object when it is complete, by sorting. */
static int check_large(struct parser *p, cJSON *object, size_t at)
{
	AUTO_FREE const cJSON **members = NULL;
	size_t n;

	if (json_sorted_members(object, &members, &n, p->err) < 0)
		return -1;
	for (size_t i = 1; i < n; i++) {
		/* The sort is stable: of two equal keys the first stood earlier. */
		if (strcmp(members[i - 1]->string, members[i]->string) == 0 &&
		    drop_duplicate(p, object, (cJSON *)members[i - 1], at) < 0)
			return -1;
	}
	return 0;
}

static int parse_member(struct parser *p, cJSON *object, bool small)
{
	size_t at = p->pos;
	char *key = NULL;
	cJSON *item;

	if (parse_string(p, &key) < 0)
		return -1;
	if (small && check_small(p, object, key, at) < 0)
		goto fail;
	skip_space(p);
	if (!take_char(p, ':')) {
		(void)expected(p, "\":\"");
		goto fail;
	}
	skip_space(p);
	if (parse_value(p, &item) < 0)
		goto fail;
	item->string = key;
	json_link(object, item);
	return 0;
fail:
	cJSON_free(key);
	return -1;
}

static int parse_object(struct parser *p, cJSON **out)
{
	AUTO_JSON cJSON *object = open_level(p, true);
	size_t start = p->pos;
	size_t n = 0;

	if (!object)
		return -1;
	if (!take_char(p, '}')) {
		for (;;) {
			if (parse_member(p, object, n++ < SMALL_OBJECT) < 0)
				return -1;
			skip_space(p);
			if (take_char(p, '}'))
				break;
			if (!take_char(p, ','))
				return expected(p, "\",\" or \"}\"");
			skip_space(p);
		}
	}
	if (n > SMALL_OBJECT && check_large(p, object, start) < 0)
		return -1;
	p->depth--;
	*out = TAKE(object);
	return 0;
}

static int parse_value(struct parser *p, cJSON **out)
{
	char c = '\0';
	char *text;

	if (p->pos < p->n)
		c = p->text[p->pos];
	if (c == '{')
		return parse_object(p, out);
	if (c == '[')
		return parse_array(p, out);
	if (c == '-' || (c >= '0' && c <= '9'))
		return parse_number(p, out);
	if (c == '"') {
		if (parse_string(p, &text) < 0)
			return -1;
		*out = json_own_text(cJSON_String, text);
	} else if (take_word(p, "true")) {
		*out = cJSON_CreateTrue();
	} else if (take_word(p, "false")) {
		*out = cJSON_CreateFalse();
	} else if (take_word(p, "null")) {
		*out = cJSON_CreateNull();
	} else {
		return expected(p, "a value");
	}
	return *out ? 0 : err_nomem(p->err);
}

int json_parse_prefix(const char *text, size_t n, bool lenient, size_t line, size_t *used,
		      cJSON **out, struct err *err)
{
	struct parser p = { .text = text, .n = n, .line = line, .lenient = lenient, .err = err };
	AUTO_JSON cJSON *v = NULL;

	skip_space(&p);
	if (parse_value(&p, &v) < 0)
		return -1;
	skip_space(&p);
	if (!used && p.pos < n)
		return fail_at(&p, p.pos, "more text after the value");
	if (used)
		*used = p.pos;
	*out = TAKE(v);
	return 0;
}

int json_parse(const char *text, size_t n, cJSON **out, struct err *err)
{
	return json_parse_prefix(text, n, false, 1, NULL, out, err);
}

int json_parse_lenient(const char *text, size_t n, cJSON **out, struct err *err)
{
	return json_parse_prefix(text, n, true, 1, NULL, out, err);
}
