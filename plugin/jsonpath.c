/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonpath: kubectl's JSONPath templates: text, {.a.b}, ['key'], [n], [-1], [a:b],
 * [*], .*, ..name, {"text"}, {range PATH}...{end}, {@}, and filters [?(@.a=="x")]
 * with == != < <= > >= or mere presence. Missing fields print nothing.
 */
#include <errno.h>

#include "base/limits.h"
#include "output.h"

#define DEPTH_MAX 64 /* levels of range and of filters */

struct nodes {
	const cJSON **v; /* owned array of borrowed values */
	size_t n, size;
};

static void nodes_release(struct nodes *s)
{
	free(s->v);
	*s = (struct nodes){ 0 };
}

static int nodes_add(struct nodes *s, const cJSON *v, struct err *err)
{
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 8;
		const cJSON **grown = reallocarray(s->v, size, sizeof(*grown));

		if (!grown)
			return err_nomem(err);
		s->v = grown;
		s->size = size;
	}
	s->v[s->n++] = v;
	return 0;
}

struct path {
	const char *at, *end;
	const cJSON *root;
	int depth;
};

static int bad(const struct path *p, const char *what, struct err *err)
{
	return err_set(err, FAIL_USAGE, "jsonpath: %s at \"%.*s\"", what,
		       (int)(p->end - p->at > 40 ? 40 : p->end - p->at), p->at);
}

static int walk(struct path *p, const cJSON *start, struct nodes *out, struct err *err);

static size_t name_length(const struct path *p)
{
	size_t n = 0;

	while (p->at + n < p->end && !strchr(".[]()=!<>|&' \"", p->at[n])) {
		if (p->at[n] == '\\' && p->at + n + 1 < p->end)
			n++;
		n++;
	}
	return n;
}

static const cJSON *member(const cJSON *v, const char *key, size_t n)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);

	for (size_t i = 0; i < n; i++) {
		if (key[i] == '\\' && i + 1 < n)
			i++;
		buf_char(&name, key[i]);
	}
	return json_get(v, buf_text(&name));
}

static int all_children(const cJSON *v, struct nodes *out, struct err *err)
{
	const cJSON *c;

	if (!cJSON_IsArray(v) && !cJSON_IsObject(v))
		return 0;
	json_each (c, v)
		if (nodes_add(out, c, err) < 0)
			return -1;
	return 0;
}

/* ..name: every member of that name below v. */
static int descend(const cJSON *v, const char *key, size_t n, int depth, struct nodes *out,
		   struct err *err)
{
	const cJSON *c, *found = cJSON_IsObject(v) ? member(v, key, n) : NULL;

	if (depth > LIMIT_JSON_DEPTH)
		return 0;
	if (found && nodes_add(out, found, err) < 0)
		return -1;
	if (cJSON_IsArray(v) || cJSON_IsObject(v))
		json_each (c, v)
			if (descend(c, key, n, depth + 1, out, err) < 0)
				return -1;
	return 0;
}

static int step_name(struct path *p, const struct nodes *in, bool deep, struct nodes *out,
		     struct err *err)
{
	size_t n = name_length(p);

	if (!n)
		return bad(p, "a name is missing", err);
	for (size_t i = 0; i < in->n; i++) {
		if (deep) {
			if (descend(in->v[i], p->at, n, 0, out, err) < 0)
				return -1;
		} else if (n == 1 && *p->at == '*') {
			if (all_children(in->v[i], out, err) < 0)
				return -1;
		} else {
			const cJSON *c = member(in->v[i], p->at, n);

			if (c && nodes_add(out, c, err) < 0)
				return -1;
		}
	}
	p->at += n;
	return 0;
}

static void skip_blanks(struct path *p)
{
	while (p->at < p->end && *p->at == ' ')
		p->at++;
}

/* A quoted text, a number, true, false or a path, as the right side of a filter. */
struct operand {
	char text[1024];
	bool number, present;
	double value;
};

static void operand_of(const cJSON *v, struct operand *out)
{
	*out = (struct operand){ .present = v != NULL };
	if (cJSON_IsString(v)) {
		(void)snprintf(out->text, sizeof(out->text), "%s", json_str(v)); /* cut: no match */
	} else if (cJSON_IsBool(v)) {
		(void)snprintf(out->text, sizeof(out->text), "%s",
			       cJSON_IsTrue(v) ? "true" : "false");
	} else if (v && json_is_number(v)) {
		out->number = true;
		out->value = cJSON_IsRaw(v) ? strtod(v->valuestring, NULL) : v->valuedouble;
	}
}

static int read_operand(struct path *p, const cJSON *here, struct operand *out, struct err *err)
{
	skip_blanks(p);
	if (p->at < p->end && (*p->at == '"' || *p->at == '\'')) {
		char quote = *p->at++;
		size_t n = 0;

		*out = (struct operand){ .present = true };
		while (p->at < p->end && *p->at != quote && n + 1 < sizeof(out->text))
			out->text[n++] = *p->at++;
		if (p->at == p->end || *p->at != quote)
			return bad(p, "a quote is not closed", err);
		p->at++;
		return 0;
	}
	if (p->at < p->end && (*p->at == '@' || *p->at == '$' || *p->at == '.')) {
		struct nodes found = { 0 };
		int rc = walk(p, here, &found, err);

		operand_of(found.n ? found.v[0] : NULL, out);
		nodes_release(&found);
		return rc;
	}
	size_t n = name_length(p), k = n < 1023 ? n : 1023;
	char *stop;

	*out = (struct operand){ .present = true };
	memcpy(out->text, p->at, k);
	if (p->at + n < p->end && p->at[n] == '.' && n) { /* 1.5 */
		size_t m = n + 1;

		while (p->at + m < p->end && p->at[m] >= '0' && p->at[m] <= '9' && m < 1023)
			m++;
		memcpy(out->text, p->at, m);
		n = m;
	}
	if (!n)
		return bad(p, "a value is missing", err);
	p->at += n;
	out->value = strtod(out->text, &stop);
	out->number = !*stop;
	return 0;
}

static bool compare(const struct operand *a, const char *op, const struct operand *b)
{
	int c;

	if (!a->present || !b->present)
		return false;
	if (a->number && b->number)
		c = (a->value > b->value) - (a->value < b->value);
	else if (a->number != b->number)
		return str_eq(op, "!=");
	else
		c = strcmp(a->text, b->text);
	return str_eq(op, "==")   ? c == 0
	       : str_eq(op, "!=") ? c != 0
	       : str_eq(op, "<")  ? c < 0
	       : str_eq(op, "<=") ? c <= 0
	       : str_eq(op, ">")  ? c > 0
				  : c >= 0;
}

/* [?(...)]: p stands after "?(". */
static int filter_one(struct path *p, const cJSON *here, bool *keep, struct err *err)
{
	static const char *const ops[] = { "==", "!=", "<=", ">=", "<", ">" };
	struct operand a, b;

	if (read_operand(p, here, &a, err) < 0)
		return -1;
	skip_blanks(p);
	*keep = a.present;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		size_t n = strlen(ops[i]);

		if ((size_t)(p->end - p->at) >= n && strncmp(p->at, ops[i], n) == 0) {
			p->at += n;
			if (read_operand(p, here, &b, err) < 0)
				return -1;
			*keep = compare(&a, ops[i], &b);
			break;
		}
	}
	skip_blanks(p);
	if (p->end - p->at < 2 || p->at[0] != ')' || p->at[1] != ']')
		return bad(p, "a filter ends with )]", err);
	p->at += 2;
	return 0;
}

static int step_filter(struct path *p, const struct nodes *in, struct nodes *out, struct err *err)
{
	const char *start = p->at, *after = NULL;
	const cJSON *c;

	if (++p->depth > DEPTH_MAX)
		return bad(p, "filters are too deep", err);
	for (size_t i = 0; i < in->n; i++) {
		json_each (c, in->v[i]) {
			bool keep;

			p->at = start;
			if (filter_one(p, c, &keep, err) < 0 ||
			    (keep && nodes_add(out, c, err) < 0))
				return -1;
			after = p->at;
		}
	}
	p->depth--;
	if (!after) { /* nothing to try it on: it still has to be well-formed */
		bool keep;

		p->at = start;
		return filter_one(p, NULL, &keep, err);
	}
	p->at = after;
	return 0;
}

static bool read_int(struct path *p, int64_t *out)
{
	char *stop;

	errno = 0;
	*out = strtoll(p->at, &stop, 10);
	if (stop == p->at || stop > p->end || errno)
		return false;
	p->at = stop;
	return true;
}

/* [n] and [a:b]: p stands after "[". */
static int step_index(struct path *p, const struct nodes *in, struct nodes *out, struct err *err)
{
	int64_t from = 0, to = INT64_MAX;
	bool slice = false, has_from = read_int(p, &from);

	if (p->at < p->end && *p->at == ':') {
		slice = true;
		p->at++;
		(void)read_int(p, &to); /* open ended without one */
	} else if (!has_from) {
		return bad(p, "a number, '*' or a filter is missing", err);
	}
	if (p->at == p->end || *p->at != ']')
		return bad(p, "] is missing", err);
	p->at++;
	for (size_t i = 0; i < in->n; i++) {
		int64_t n = (int64_t)json_len(in->v[i]), a = from < 0 ? from + n : from;
		int64_t b = !slice ? a + 1 : to < 0 ? to + n : to;

		if (!cJSON_IsArray(in->v[i]))
			continue;
		if (!slice && (a < 0 || a >= n))
			return err_set(err, FAIL_USAGE,
				       "jsonpath: array index out of bounds: index %" PRId64
				       ", length %" PRId64,
				       a, n);
		for (int64_t k = a < 0 ? 0 : a; k < b && k < n; k++)
			if (nodes_add(out, json_index(in->v[i], (size_t)k), err) < 0)
				return -1;
	}
	return 0;
}

static int step_bracket(struct path *p, const struct nodes *in, struct nodes *out, struct err *err)
{
	if (p->end - p->at >= 2 && p->at[0] == '?' && p->at[1] == '(') {
		p->at += 2;
		return step_filter(p, in, out, err);
	}
	if (p->end - p->at >= 2 && p->at[0] == '*' && p->at[1] == ']') {
		p->at += 2;
		for (size_t i = 0; i < in->n; i++)
			if (all_children(in->v[i], out, err) < 0)
				return -1;
		return 0;
	}
	if (p->at < p->end && (*p->at == '\'' || *p->at == '"')) {
		const char *key = p->at + 1, *close = memchr(key, *p->at, (size_t)(p->end - key));

		if (!close || close + 1 >= p->end || close[1] != ']')
			return bad(p, "a key in brackets is not closed", err);
		for (size_t i = 0; i < in->n; i++) {
			const cJSON *c = member(in->v[i], key, (size_t)(close - key));

			if (c && nodes_add(out, c, err) < 0)
				return -1;
		}
		p->at = close + 2;
		return 0;
	}
	return step_index(p, in, out, err);
}

static int walk(struct path *p, const cJSON *start, struct nodes *out, struct err *err)
{
	struct nodes now = { 0 };
	int rc = 0;

	if (p->at < p->end && (*p->at == '@' || *p->at == '$')) {
		start = *p->at == '$' ? p->root : start;
		p->at++;
	}
	if (start)
		rc = nodes_add(&now, start, err);
	while (rc == 0 && p->at < p->end && (*p->at == '.' || *p->at == '[')) {
		struct nodes next = { 0 };
		bool deep = p->end - p->at >= 2 && p->at[0] == '.' && p->at[1] == '.';

		if (*p->at == '[') {
			p->at++;
			rc = step_bracket(p, &now, &next, err);
		} else {
			p->at += deep ? 2 : 1;
			if (p->at == p->end || *p->at == ' ') { /* "{.}" is the document */
				nodes_release(&next);
				break;
			}
			if (*p->at == '[' && !deep)
				continue;
			rc = step_name(p, &now, deep, &next, err);
		}
		nodes_release(&now);
		now = next;
	}
	for (size_t i = 0; rc == 0 && i < now.n; i++)
		rc = nodes_add(out, now.v[i], err);
	nodes_release(&now);
	return rc;
}

static int print_nodes(const struct nodes *found, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < found->n; i++) {
		if (i)
			buf_char(out, ' ');
		if (cJSON_IsString(found->v[i]))
			buf_str(out, json_str(found->v[i]));
		else if (json_print(found->v[i], out, err) < 0)
			return -1;
	}
	return 0;
}

/* A text in quotes inside braces, with \n \t \" \\. */
static void print_quoted(const char *s, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 1 < n) {
			i++;
			buf_char(out, s[i] == 'n'   ? '\n'
				      : s[i] == 't' ? '\t'
				      : s[i] == 'r' ? '\r'
						    : s[i]);
		} else {
			buf_char(out, s[i]);
		}
	}
}

static int render(const char *at, const char *end, const cJSON *root, const cJSON *here, int depth,
		  struct buf *out, struct err *err);

/* The end of a {...} that begins at `at` ("{"), quotes respected; NULL when it is open. */
static const char *brace_end(const char *at, const char *end)
{
	char quote = 0;

	for (const char *p = at + 1; p < end; p++) {
		if (quote) {
			if (*p == '\\')
				p++;
			else if (*p == quote)
				quote = 0;
		} else if (*p == '"' || *p == '\'') {
			quote = *p;
		} else if (*p == '}') {
			return p;
		}
	}
	return NULL;
}

/* The {end} that closes a range whose body begins at `at`; *after stands behind it. */
static const char *range_end(const char *at, const char *end, const char **after)
{
	int open = 1;

	while (at < end) {
		const char *brace = memchr(at, '{', (size_t)(end - at)), *close;

		if (!brace || !(close = brace_end(brace, end)))
			return NULL;
		if (strncmp(brace + 1, "range ", 6) == 0) {
			open++;
		} else if (close - brace == 4 && strncmp(brace, "{end", 4) == 0 && --open == 0) {
			*after = close + 1;
			return brace;
		}
		at = close + 1;
	}
	return NULL;
}

static int render_range(const char *body, const char *end, const char **after, struct path *p,
			const cJSON *here, int depth, struct buf *out, struct err *err)
{
	const char *stop = range_end(body, end, after);
	struct nodes found = { 0 };
	int rc;

	if (!stop)
		return err_set(err, FAIL_USAGE, "jsonpath: {range} without {end}");
	rc = walk(p, here, &found, err);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		rc = render(body, stop, p->root, found.v[i], depth + 1, out, err);
	nodes_release(&found);
	return rc;
}

static int render_braces(const char *at, const char *close, const char *end, const char **after,
			 const cJSON *root, const cJSON *here, int depth, struct buf *out,
			 struct err *err)
{
	struct path p = { .at = at + 1, .end = close, .root = root };
	struct nodes found = { 0 };
	int rc;

	*after = close + 1;
	skip_blanks(&p);
	while (p.end > p.at && p.end[-1] == ' ')
		p.end--;
	if (p.at < p.end && (*p.at == '"' || *p.at == '\'')) {
		print_quoted(p.at + 1, (size_t)(p.end - p.at - 2), out);
		return 0;
	}
	if (strncmp(p.at, "range ", 6) == 0) {
		p.at += 6;
		skip_blanks(&p);
		return render_range(close + 1, end, after, &p, here, depth, out, err);
	}
	if (p.at < p.end && !strchr(".@$[", *p.at))
		return bad(&p, "a path begins with . @ $ or [", err);
	rc = walk(&p, here, &found, err);
	if (rc == 0 && p.at < p.end)
		rc = bad(&p, "unexpected text", err);
	if (rc == 0)
		rc = print_nodes(&found, out, err);
	nodes_release(&found);
	return rc;
}

static int render(const char *at, const char *end, const cJSON *root, const cJSON *here, int depth,
		  struct buf *out, struct err *err)
{
	if (depth > DEPTH_MAX)
		return err_set(err, FAIL_USAGE, "jsonpath: ranges are too deep");
	while (at < end) {
		if (*at != '{') {
			buf_char(out, *at++);
			continue;
		}
		const char *close = brace_end(at, end);
		if (!close)
			return err_set(err, FAIL_USAGE, "jsonpath: unclosed action at \"%.40s\"",
				       at);
		if (render_braces(at, close, end, &at, root, here, depth, out, err) < 0)
			return -1;
	}
	return 0;
}

int jsonpath_print(const char *template_, const cJSON *doc, struct buf *out, struct err *err)
{
	return render(template_, template_ + strlen(template_), doc, doc, 0, out, err);
}
