/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/floats.h"
#include "wire/json.h"
#include "wire/json_nodes.h"

/* Go's encoder also escapes what could end a script element in a web page. */
static void add_html_safe(struct buf *out, const char *s)
{
	AUTO(buf) struct buf plain = BUF_INIT(out->cap);
	size_t start = 0;

	buf_json(&plain, s, strlen(s));
	if (plain.fail != FAIL_NONE) {
		out->fail = plain.fail;
		return;
	}
	for (size_t i = 0; i < plain.len; i++) {
		const char *as = NULL;
		size_t len = 1;

		if (plain.data[i] == '<')
			as = "\\u003c";
		else if (plain.data[i] == '>')
			as = "\\u003e";
		else if (plain.data[i] == '&')
			as = "\\u0026";
		else if (strncmp(plain.data + i, "\xe2\x80\xa8", 3) == 0)
			as = "\\u2028";
		else if (strncmp(plain.data + i, "\xe2\x80\xa9", 3) == 0)
			as = "\\u2029";
		if (!as)
			continue;
		len = as[2] == '2' ? 3 : 1;
		buf_add(out, plain.data + start, i - start);
		buf_str(out, as);
		i += len - 1;
		start = i + 1;
	}
	buf_add(out, plain.data + start, plain.len - start);
}

static void add_scalar(const cJSON *v, struct buf *out, bool html)
{
	char number[FLOAT_TEXT_SIZE];

	if (cJSON_IsString(v) && html) {
		add_html_safe(out, v->valuestring);
	} else if (cJSON_IsString(v)) {
		buf_json(out, v->valuestring, strlen(v->valuestring));
	} else if (cJSON_IsRaw(v)) {
		buf_str(out, v->valuestring);
	} else if (cJSON_IsNumber(v)) {
		float_json(v->valuedouble, number);
		buf_str(out, number);
	} else if (cJSON_IsTrue(v)) {
		buf_str(out, "true");
	} else if (cJSON_IsFalse(v)) {
		buf_str(out, "false");
	} else {
		buf_str(out, "null");
	}
}

static void print(const cJSON *v, struct buf *out)
{
	bool object = cJSON_IsObject(v);
	const cJSON *m;

	if (!object && !cJSON_IsArray(v)) {
		add_scalar(v, out, false);
		return;
	}
	buf_char(out, object ? '{' : '[');
	json_each (m, v) {
		if (m != v->child)
			buf_char(out, ',');
		if (object) {
			buf_json(out, m->string, strlen(m->string));
			buf_char(out, ':');
		}
		print(m, out);
	}
	buf_char(out, object ? '}' : ']');
}

int json_print(const cJSON *v, struct buf *out, struct err *err)
{
	print(v, out);
	return buf_check(out, err);
}

static int pretty(const cJSON *v, int indent, struct buf *out, struct err *err);

static int pretty_members(const cJSON *v, int indent, struct buf *out, struct err *err)
{
	AUTO_FREE const cJSON **members = NULL;
	size_t n;

	if (json_sorted_members(v, &members, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s\n%*s", i ? "," : "", indent, "");
		add_html_safe(out, members[i]->string);
		buf_str(out, ": ");
		if (pretty(members[i], indent, out, err) < 0)
			return -1;
	}
	return 0;
}

static int pretty(const cJSON *v, int indent, struct buf *out, struct err *err)
{
	const cJSON *item;
	bool object = cJSON_IsObject(v);

	if (!object && !cJSON_IsArray(v)) {
		add_scalar(v, out, true);
		return 0;
	}
	if (!v->child) {
		buf_str(out, object ? "{}" : "[]");
		return 0;
	}
	buf_char(out, object ? '{' : '[');
	if (object) {
		if (pretty_members(v, indent + 4, out, err) < 0)
			return -1;
	} else {
		json_each (item, v) {
			buf_printf(out, "%s\n%*s", item == v->child ? "" : ",", indent + 4, "");
			if (pretty(item, indent + 4, out, err) < 0)
				return -1;
		}
	}
	buf_printf(out, "\n%*s%c", indent, "", object ? '}' : ']');
	return 0;
}

int json_print_pretty(const cJSON *v, struct buf *out, struct err *err)
{
	if (pretty(v, 0, out, err) < 0)
		return -1;
	buf_char(out, '\n');
	return buf_check(out, err);
}
