/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/request.h"

#include "etjob/names.h"

#define REVIEW_API "admission.k8s.io/v1"

static const char *const kind_words[REQUEST_KINDS] = { KIND_JOB, KIND_SCALEOUT, KIND_SCALEIN,
						       "other" };
static const char *const op_words[REQUEST_OPS] = { "CREATE", "UPDATE", "DELETE", "CONNECT",
						   "other" };

const char *request_kind_word(enum request_kind k)
{
	return kind_words[k];
}

const char *request_op_word(enum request_op op)
{
	return op_words[op];
}

static enum request_kind kind_of(const cJSON *kind)
{
	if (!str_eq(json_get_str(kind, "group", ""), ETJOB_GROUP))
		return REQUEST_FOREIGN;
	for (unsigned i = 0; i < REQUEST_FOREIGN; i++)
		if (str_eq(json_get_str(kind, "kind", ""), kind_words[i]))
			return i;
	return REQUEST_FOREIGN;
}

static enum request_op op_of(const char *word)
{
	for (unsigned i = 0; i < REQUEST_OTHER; i++)
		if (str_eq(word, op_words[i]))
			return i;
	return REQUEST_OTHER;
}

static const cJSON *object_of(const cJSON *request, const char *key)
{
	const cJSON *v = json_get(request, key);

	return cJSON_IsObject(v) ? v : NULL;
}

int request_read(const cJSON *root, struct request *out, struct err *err)
{
	const cJSON *r = object_of(root, "request");
	const char *uid = json_get_str(r, "uid", "");
	const char *version = json_get_str(root, "apiVersion", "");

	if (!str_eq(json_get_str(root, "kind", ""), "AdmissionReview"))
		return err_set(err, FAIL_INPUT, "the body is no AdmissionReview");
	if (!str_eq(version, REVIEW_API))
		return err_set(err, FAIL_INPUT, "apiVersion is \"%.64s\": only %s is served",
			       version, REVIEW_API);
	if (!r || !*uid)
		return err_set(err, FAIL_INPUT, "the AdmissionReview has no request with a uid");
	*out = (struct request){
		.kind = kind_of(json_get(r, "kind")),
		.op = op_of(json_get_str(r, "operation", "")),
		.uid = uid,
		.kind_name = json_get_str(json_get(r, "kind"), "kind", ""),
		.ns = json_get_str(r, "namespace", ""),
		.name = json_get_str(r, "name", ""),
		.user = json_get_str(json_get(r, "userInfo"), "username", ""),
		.subresource = json_get_str(r, "subResource", ""),
		.dry_run = json_get_bool(r, "dryRun", false),
		.object = object_of(r, "object"),
		.old = object_of(r, "oldObject"),
	};
	if (out->object) {
		const cJSON *meta = json_get(out->object, "metadata");

		out->name = json_get_str(meta, "name", out->name);
		if (!*out->ns)
			out->ns = json_get_str(meta, "namespace", "");
	}
	return 0;
}

/* --- a body that the parser refuses ------------------------------------------ */

struct scan {
	const char *p, *end;
};

static void skip_space(struct scan *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

static bool take_char(struct scan *s, char c)
{
	skip_space(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* A string without looking at its escapes; *text is what stands between the quotes. */
static bool take_string(struct scan *s, const char **text, size_t *n)
{
	if (!take_char(s, '"'))
		return false;
	*text = s->p;
	while (s->p < s->end && *s->p != '"') {
		if (*s->p == '\\')
			s->p++;
		s->p++;
	}
	if (s->p >= s->end)
		return false;
	*n = (size_t)(s->p - *text);
	s->p++;
	return true;
}

/* Skips one value by its brackets and quotes alone. */
static bool skip_value(struct scan *s)
{
	size_t depth = 0, n;
	const char *text;

	do {
		skip_space(s);
		if (s->p == s->end)
			return false;
		if (*s->p == '"') {
			if (!take_string(s, &text, &n))
				return false;
		} else if (*s->p == '{' || *s->p == '[') {
			depth++;
			s->p++;
		} else if (*s->p == '}' || *s->p == ']') {
			if (!depth)
				return false;
			depth--;
			s->p++;
		} else if (*s->p == ',' || *s->p == ':') {
			if (!depth)
				return false;
			s->p++;
		} else {
			while (s->p < s->end && !strchr(",:{}[]\" \t\r\n", *s->p))
				s->p++;
			if (s->p < s->end && !*s->p)
				return false;
		}
	} while (depth);
	return true;
}

/* Moves to the value of a member of the object that begins here. */
static bool find_member(struct scan *s, const char *key)
{
	const char *text;
	size_t n;

	if (!take_char(s, '{'))
		return false;
	do {
		if (!take_string(s, &text, &n) || !take_char(s, ':'))
			return false;
		if (n == strlen(key) && memcmp(text, key, n) == 0)
			return true;
		if (!skip_value(s))
			return false;
	} while (take_char(s, ','));
	return false;
}

bool request_salvage_uid(const char *text, size_t n, struct buf *uid)
{
	struct scan s = { .p = text, .end = text + n };
	const char *kind, *value;
	size_t kind_n, value_n;

	if (!find_member(&s, "kind") || !take_string(&s, &kind, &kind_n) ||
	    kind_n != strlen("AdmissionReview") || memcmp(kind, "AdmissionReview", kind_n) != 0)
		return false;
	s.p = text;
	if (!find_member(&s, "request") || !find_member(&s, "uid") ||
	    !take_string(&s, &value, &value_n) || value_n == 0 || value_n > 128)
		return false;
	for (size_t i = 0; i < value_n; i++)
		if (value[i] <= ' ' || value[i] >= 127 || value[i] == '\\')
			return false;
	buf_add(uid, value, value_n);
	return true;
}

bool request_fits(const char *text, size_t n)
{
	size_t values = 1;
	const char *end = text + n;

	for (const char *p = text; p < end; p++) {
		if (*p == '"') {
			/* memchr is many times faster than a loop, and long strings are the rule */
			for (p++; p < end; p++) {
				const char *q = memchr(p, '"', (size_t)(end - p));
				const char *b;

				if (!q)
					return values <= REQUEST_VALUES_MAX;
				for (b = q; b > p && b[-1] == '\\'; b--)
					;
				p = q;
				if ((q - b) % 2 == 0)
					break;
			}
		} else if (*p == ',' || *p == '{' || *p == '[') {
			values++;
		}
	}
	return values <= REQUEST_VALUES_MAX;
}
