/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml.h"

#include "fault.h"
#include "unit.h"

#define GOLDEN "tests/golden/yaml/"

/* --- what kubectl 1.32.4 answered ---------------------------------------- */

/* Parses concatenated JSON values as kubectl printed them. */
static size_t expected_values(const char *text, cJSON *out[8])
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err = ERR_INIT;

	unit_assert_ok(yaml_parse(text, strlen(text), 0, &docs, &err), &err);
	assert_true(docs.n <= 8);
	for (size_t i = 0; i < docs.n; i++)
		out[i] = TAKE(docs.v[i].json);
	return docs.n;
}

/* The answers were made with `kubectl label zz=1 --local`. */
static void take_label(cJSON *v)
{
	cJSON *labels = json_at_mut(v, "metadata", "labels", NULL);

	json_del(labels, "zz");
	if (!json_len(labels))
		json_del(json_at_mut(v, "metadata", NULL), "labels");
}

static bool same(const cJSON *got, const cJSON *want)
{
	if (!json_equal(got, want)) {
		AUTO(buf) struct buf text = BUF_INIT(1 << 20);
		struct err err = ERR_INIT;

		unit_assert_ok(json_print(got, &text, &err), &err);
		buf_str(&text, "\n  wanted ");
		unit_assert_ok(json_print(want, &text, &err), &err);
		print_error("  got    %s\n", buf_text(&text));
		return false;
	}
	return true;
}

/* True when text reads as the values of `want`, or fails where kubectl failed. */
static bool as_golden(const char *name, const char *text, size_t n, const char *want)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err = ERR_INIT;
	cJSON *values[8] = { 0 };
	size_t count = 0;
	bool fails = str_starts(want, "error: ");
	bool ok;

	if (yaml_parse(text, n, 0, &docs, &err) < 0) {
		if (!fails)
			print_error("%s: %s\n", name, err.msg);
		return fails;
	}
	if (!fails)
		count = expected_values(want, values);
	ok = !fails && docs.n == count;
	for (size_t i = 0; i < count; i++) {
		take_label(values[i]);
		ok = ok && same(docs.v[i].json, values[i]);
		cJSON_Delete(values[i]);
	}
	if (!ok)
		print_error("%s: %zu documents\n", name, docs.n);
	return ok;
}

static char *next_line(char **rest)
{
	char *line = strsep(rest, "\n");

	return line && (*line || *rest) ? line : NULL;
}

static void scalars_have_the_types_that_kubectl_gives_them(void **state)
{
	size_t n;
	AUTO_FREE char *answers = unit_read(GOLDEN "scalars.kubectl-1.32.4.txt", &n);
	char *rest = answers;
	char *line;
	size_t lines = 0;
	size_t bad = 0;

	while ((line = next_line(&rest))) {
		AUTO(buf) struct buf text = BUF_INIT(4096);
		AUTO(buf) struct buf want = BUF_INIT(4096);
		char *arrow = strstr(line, " => ");

		assert_non_null(arrow);
		lines++;
		for (char *end = arrow; end >= line && *end == ' '; end--)
			*end = '\0';
		arrow += 4;
		buf_printf(&text, "spec:\n  v: %s\n", line);
		buf_printf(&want, str_starts(arrow, "error") ? "%s" : "{%s", arrow);
		bad += !as_golden(line, buf_text(&text), text.len, buf_text(&want));
	}
	assert_int_equal(lines, 100);
	assert_int_equal(bad, 0);
}

static void documents_have_the_structure_that_kubectl_gives_them(void **state)
{
	size_t n;
	AUTO_FREE char *answers = unit_read(GOLDEN "structure.kubectl-1.32.4.txt", &n);
	char *rest = answers;
	char *line;
	size_t lines = 0;
	size_t bad = 0;

	while ((line = next_line(&rest))) {
		AUTO(buf) struct buf path = BUF_INIT(256);
		AUTO_FREE char *text = NULL;
		char *arrow = strstr(line, " => ");

		assert_non_null(arrow);
		lines++;
		buf_printf(&path, GOLDEN "structure/%.*s.yaml", (int)strcspn(line + 3, " "),
			   line + 3);
		text = unit_read(buf_text(&path), &n);
		bad += !as_golden(buf_text(&path), text, n, arrow + 4);
	}
	assert_int_equal(lines, 50);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(scalars_have_the_types_that_kubectl_gives_them),
		UNIT_CASE(documents_have_the_structure_that_kubectl_gives_them),
	};

	UNIT_MAIN(tests);
}
