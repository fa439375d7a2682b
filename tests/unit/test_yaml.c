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

/* The same object as kubectl prints it as JSON and as YAML. */
static void printed_yaml_is_kubectls_byte_for_byte(void **state)
{
	size_t n, yaml_len;
	AUTO_FREE char *json = unit_read(GOLDEN "print.kubectl-1.32.4.json", &n);
	AUTO_FREE char *yaml = unit_read(GOLDEN "print.kubectl-1.32.4.yaml", &yaml_len);
	AUTO_JSON cJSON *v = unit_json(json);
	AUTO(buf) struct buf out = BUF_INIT(1 << 20);
	AUTO(buf) struct buf pretty = BUF_INIT(1 << 20);
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err = ERR_INIT;

	unit_assert_ok(yaml_print(v, &out, &err), &err);
	assert_string_equal(buf_text(&out), yaml);
	unit_assert_ok(json_print_pretty(v, &pretty, &err), &err);
	assert_string_equal(buf_text(&pretty), json);
	unit_assert_ok(yaml_parse(yaml, yaml_len, 0, &docs, &err), &err);
	assert_int_equal(docs.n, 1);
	assert_true(same(docs.v[0].json, v));
}

/* --- ours ---------------------------------------------------------------- */

static int parse(const char *text, unsigned flags, struct yaml_docs *docs, struct err *err)
{
	*err = ERR_INIT;
	return yaml_parse(text, strlen(text), flags, docs, err);
}

static void assert_pos(const struct yaml_doc *d, const char *pointer, size_t line, size_t col)
{
	struct yaml_pos pos = yaml_pos_of(d, pointer);

	if (pos.line != line || pos.col != col)
		fail_msg("%s is at %zu:%zu", pointer, pos.line, pos.col);
}

static void positions_count_in_the_file(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err;

	unit_assert_ok(
		parse("# first\na: 1\n---\n\nspec:\n  a/b:\n  - x\n  - y: 1\n    <<: {m: 2}\n",
		      YAML_POSITIONS, &docs, &err),
		&err);
	assert_int_equal(docs.n, 2);
	assert_int_equal(docs.v[0].line, 2);
	assert_int_equal(docs.v[1].line, 5);
	assert_pos(&docs.v[0], "/a", 2, 1);
	assert_pos(&docs.v[1], "/spec", 5, 1);
	assert_pos(&docs.v[1], "/spec/a~1b", 6, 3);
	assert_pos(&docs.v[1], "/spec/a~1b/1", 8, 5);
	assert_pos(&docs.v[1], "/spec/a~1b/1/m", 9, 10);
	assert_pos(&docs.v[1], "/spec/a~1b/1/y/deeper/still", 8, 5);
	assert_pos(&docs.v[1], "/other", 5, 1);
}

static void positions_of_json(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err;

	unit_assert_ok(
		parse("{\n \"a\": 1,\n \"b\": [\n  2]}\n{\"c\": 3}", YAML_POSITIONS, &docs, &err),
		&err);
	assert_int_equal(docs.n, 2);
	assert_pos(&docs.v[0], "/b/0", 4, 3);
	assert_pos(&docs.v[1], "/c", 5, 2);
}

static void without_positions_there_is_the_line_of_the_document(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err;

	unit_assert_ok(parse("\n\na: 1\n", 0, &docs, &err), &err);
	assert_pos(&docs.v[0], "/a", 3, 1);
}

static void mistakes_name_their_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "a: 1\n b: 2\n", "line 2: mapping values are not allowed in this context" },
		{ "a: 1\n---\nb: [\n", "line 4: did not find expected node content" },
		{ "a: *x\n", "line 1: unknown anchor 'x' referenced" },
		{ "a: &x 1\n---\nb: *x\n", "line 3: unknown anchor 'x' referenced" },
		{ "a: &x {b: *x}\n", "line 1: anchor 'x' value contains itself" },
		{ "a: &x {<<: *x}\n", "line 1: anchor 'x' value contains itself" },
		{ "a:\n  b: &x [*x]\n", "line 2: anchor 'x' value contains itself" },
		{ "a: 1\n~: 2\n", "line 2: a key is null" },
		{ "? [a]\n: 1\n", "line 1: a key is a list or a map" },
		{ "a: \"x\\0y\"\n", "line 1: a string with a NUL character" },
		{ "a: !!binary '?'\n", "line 1: !!binary value contains invalid base64 data" },
		{ "a: !!int x\n", "line 1: cannot decode !!str `x` as a !!int" },
		{ "a: .inf\n", "line 1: JSON has no number like .inf" },
		{ "--- a: 1\n", "line 1: invalid document separator: --- a: 1" },
		{ "a: 1\n...\nb: 1\n", "line 3: did not find expected <document start>" },
		{ "a: 1\n...\n%YAML 1.1\n", "line 4: did not find expected <document start>" },
		{ "{\"a\": 1} x", "line 1: more text after a JSON value" },
		{ "{\"a\": 1}\n\n{\"a\" 1}", "line 3, column 6: expected \":\"" },
		{ "{\"a\": 1e999}", "line 1: the number 1e999 is too large" },
		{ "a: \x01\n", "control characters are not allowed" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(yaml_docs) struct yaml_docs docs = { 0 };
		struct err err;
		int rc = parse(cases[i].text, YAML_POSITIONS, &docs, &err);

		if (rc == 0)
			fail_msg("accepted: %s", cases[i].text);
		unit_assert_fails(rc, &err, FAIL_INPUT, cases[i].message);
		assert_int_equal(docs.n, 0);
	}
}

static void strict_keys(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err;

	unit_assert_fails(parse("a: 1\nb: 2\na: 3\n", YAML_STRICT_KEYS, &docs, &err), &err,
			  FAIL_INPUT, "line 3: key \"a\" is there twice");
	unit_assert_fails(parse("{\"a\": 1,\n\"a\": 2}", YAML_STRICT_KEYS, &docs, &err), &err,
			  FAIL_INPUT, "line 2, column 1: key \"a\" is there twice");
	unit_assert_ok(parse("b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n", YAML_STRICT_KEYS, &docs, &err),
		       &err);
	unit_assert_json(docs.v[0].json, "{\"b\":{\"x\":1},\"c\":{\"x\":2}}");
}

static void documents_are_cut_as_kubectl_cuts(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
		{ "", 0 },
		{ "# only\n", 0 },
		{ "---\n---\n", 0 },
		{ "a: 1", 1 },
		{ "a: 1\n---", 1 },
		{ "---\na: 1\n---\nnull\n---\n# c\n---\nb: 2\n", 2 },
		{ "a: 1\n--- # why\nb: 2\n", 2 },
		{ "{\"a\":1}{\"b\":2}\n---\nc: 3\n---\nd: 4\n", 4 },
		{ "{a: 1, # flow\n}\n", 1 },
		{ "- a\n- b\n", 1 },
		{ "hello\n", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(yaml_docs) struct yaml_docs docs = { 0 };
		struct err err;

		unit_assert_ok(parse(cases[i].text, 0, &docs, &err), &err);
		assert_int_equal(docs.n, cases[i].n);
	}
}

static void numbers_of_json_are_held_as_kubectl_holds_them(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct err err;

	unit_assert_ok(parse("{\"a\":[1.0,1e2,-0,9007199254740993,9223372036854775808,1e21,0.50]}",
			     0, &docs, &err),
		       &err);
	unit_assert_json(docs.v[0].json,
			 "{\"a\":[1,100,0,9007199254740993,9223372036854776000,1e+21,0.5]}");
}

static void depth_and_size_are_limited(void **state)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	AUTO(buf) struct buf deep = BUF_INIT(1 << 20);
	AUTO(buf) struct buf chain = BUF_INIT(1 << 20);
	AUTO(buf) struct buf bomb = BUF_INIT(1 << 20);
	struct err err;

	for (int i = 0; i < 600; i++)
		buf_char(&deep, '[');
	unit_assert_fails(parse(buf_text(&deep), 0, &docs, &err), &err, FAIL_INPUT,
			  "line 1: nested deeper than 512 levels");
	/* Each alias adds one level. */
	buf_str(&chain, "a0: &a0 [x]\n");
	for (int i = 1; i < 600; i++)
		buf_printf(&chain, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	unit_assert_fails(parse(buf_text(&chain), 0, &docs, &err), &err, FAIL_INPUT, "");
	buf_str(&bomb, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++)
		buf_printf(&bomb, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
			   i - 1, i - 1, i - 1);
	unit_assert_fails(parse(buf_text(&bomb), 0, &docs, &err), &err, FAIL_INPUT,
			  "document contains excessive aliasing");
}

static void printing_reports_the_cap(void **state)
{
	AUTO_JSON cJSON *v = unit_json("{\"a\":[{\"b\":\"some text\"}]}");
	AUTO(buf) struct buf out = BUF_INIT(10);
	struct err err = ERR_INIT;

	unit_assert_fails(yaml_print(v, &out, &err), &err, FAIL_LIMIT, "10 bytes");
}

static void every_failed_allocation_is_reported(void **state)
{
	const char *text =
		"a: &a {x: [1, y, 1.5, ~]}\nb: *a\nc: {<<: *a}\nd: !!binary aGk=\n---\ne: 1\n";

	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(yaml_docs) struct yaml_docs docs = { 0 };
		AUTO(buf) struct buf out = BUF_INIT(1 << 16);
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = yaml_parse(text, strlen(text), YAML_POSITIONS, &docs, &err);
		if (rc == 0)
			rc = yaml_print(docs.v[0].json, &out, &err);
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
		if (!fired)
			assert_int_equal(docs.n, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(scalars_have_the_types_that_kubectl_gives_them),
		UNIT_CASE(documents_have_the_structure_that_kubectl_gives_them),
		UNIT_CASE(printed_yaml_is_kubectls_byte_for_byte),
		UNIT_CASE(positions_count_in_the_file),
		UNIT_CASE(positions_of_json),
		UNIT_CASE(without_positions_there_is_the_line_of_the_document),
		UNIT_CASE(mistakes_name_their_line),
		UNIT_CASE(strict_keys),
		UNIT_CASE(documents_are_cut_as_kubectl_cuts),
		UNIT_CASE(numbers_of_json_are_held_as_kubectl_holds_them),
		UNIT_CASE(depth_and_size_are_limited),
		UNIT_CASE(printing_reports_the_cap),
		UNIT_CASE(every_failed_allocation_is_reported),
	};

	UNIT_MAIN(tests);
}
