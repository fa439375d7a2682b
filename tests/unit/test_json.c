/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include "base/limits.h"
#include "fault.h"
#include "unit.h"
#include "wire/floats.h"

static void what_is_read_is_printed(void **state)
{
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"{}",
		"[]",
		"[1,-2,0,3.5]",
		"[9007199254740993,-9223372036854775808,18446744073709551616]",
		"[1.0,1e3,1E+2,-0,0.10,100000000000000000000000,1e400]",
		"{\"b\":1,\"a\":{\"x\":[null,\"y\"]}}",
		"\"\xc3\xa9\xf0\x9f\x98\x80\"",
		"\"\"",
		"{\"\":\"\"}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_JSON cJSON *v = unit_json(texts[i]);

		unit_assert_json(v, texts[i]);
	}
}

static void escapes_are_decoded(void **state)
{
	AUTO_JSON cJSON *v =
		unit_json(" \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\ude00\" ");

	assert_string_equal(json_str(v), "\"\\/\b\f\n\r\tA\xc3\xa9\xf0\x9f\x98\x80");
	unit_assert_json(v, "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xc3\xa9\xf0\x9f\x98\x80\"");
}

static void what_is_no_json_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "line 1, column 1: unexpected end, expected a value" },
		{ "  ", "unexpected end" },
		{ "\xef\xbb\xbf{}", "column 1: expected a value" },
		{ "{} x", "line 1, column 4: more text after the value" },
		{ "[1,2,]", "column 6: expected a value" },
		{ "[1 2]", "column 4: expected \",\" or \"]\"" },
		{ "[1", "unexpected end, expected \",\" or \"]\"" },
		{ "{\"a\"}", "column 5: expected \":\"" },
		{ "{\"a\":1,}", "column 8: expected a string" },
		{ "{a:1}", "column 2: expected a string" },
		{ "{\"a\":1 \"b\":2}", "expected \",\" or \"}\"" },
		{ "{\n \"a\": 1,\n \"a\": 2}", "line 3, column 2: key \"a\" is there twice" },
		{ "\"a", "column 1: the string does not end" },
		{ "\"a\\", "the string does not end" },
		{ "\"\t\"", "column 2: control character in a string" },
		{ "\"\\x\"", "column 2: unknown escape" },
		{ "\"\\u00g0\"", "\\u needs four hexadecimal digits" },
		{ "\"\\u00\"", "\\u needs four hexadecimal digits" },
		{ "\"\\u0000\"", "\\u0000 is not allowed" },
		{ "\"\\ud83d\"", "half of a surrogate pair" },
		{ "\"\\ud83dxxxxxx\"", "half of a surrogate pair" },
		{ "\"\\ud83d\\u0041\"", "half of a surrogate pair" },
		{ "\"\\ude00\"", "half of a surrogate pair" },
		{ "\"\xff\"", "column 2: invalid UTF-8" },
		{ "\"\xed\xa0\x80\"", "invalid UTF-8" },
		{ "\"\xc3\"", "invalid UTF-8" },
		{ "01", "leading zero" },
		{ "-01", "leading zero" },
		{ "-", "expected a digit" },
		{ "1.", "expected a digit" },
		{ "1.e3", "expected a digit" },
		{ "1e", "expected a digit" },
		{ ".5", "expected a value" },
		{ "+1", "expected a value" },
		{ "0x1", "more text" },
		{ "NaN", "expected a value" },
		{ "nul", "expected a value" },
		{ "True", "expected a value" },
		{ "'a'", "expected a value" },
		{ "[1]//", "more text" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		cJSON *v = NULL;
		int rc = json_parse(cases[i].text, strlen(cases[i].text), &v, &err);

		if (rc == 0)
			fail_msg("accepted: %s", cases[i].text);
		unit_assert_fails(rc, &err, FAIL_INPUT, cases[i].message);
		assert_null(v);
	}
}

static void a_nul_byte_is_no_end(void **state)
{
	struct err err = ERR_INIT;
	cJSON *v = NULL;

	unit_assert_fails(json_parse("{}\0", 3, &v, &err), &err, FAIL_INPUT, "more text");
	unit_assert_fails(json_parse("\"a\0b\"", 5, &v, &err), &err, FAIL_INPUT, "control");
}

static void depth_is_limited(void **state)
{
	static char text[2 * (LIMIT_JSON_DEPTH + 1)];
	const size_t n = LIMIT_JSON_DEPTH;
	struct err err = ERR_INIT;
	AUTO_JSON cJSON *v = NULL;
	cJSON *none = NULL;

	memset(text, '[', n);
	memset(text + n, ']', n);
	unit_assert_ok(json_parse(text, 2 * n, &v, &err), &err);
	memset(text, '[', n + 1);
	memset(text + n + 1, ']', n + 1);
	unit_assert_fails(json_parse(text, 2 * n + 2, &none, &err), &err, FAIL_INPUT,
			  "nested deeper than 512 levels");
}

/* {"k0":0,"k1":1...,"k5":99}: a duplicate among many members. */
static void many_members(struct buf *b, int n)
{
	buf_char(b, '{');
	for (int i = 0; i < n; i++)
		buf_printf(b, "\"k%d\":%d,", i, i);
	buf_str(b, "\"k5\":99}");
}

static void duplicates_are_found_among_many(void **state)
{
	for (int n = 6; n < 60; n++) {
		AUTO(buf) struct buf b = BUF_INIT(4096);
		struct err err = ERR_INIT;
		AUTO_JSON cJSON *lenient = NULL;
		cJSON *strict = NULL;

		many_members(&b, n);
		unit_assert_fails(json_parse(b.data, b.len, &strict, &err), &err, FAIL_INPUT,
				  "key \"k5\" is there twice");
		err = ERR_INIT;
		unit_assert_ok(json_parse_lenient(b.data, b.len, &lenient, &err), &err);
		assert_int_equal(json_len(lenient), n);
		assert_int_equal(json_get_int(lenient, "k5", -1), 99);
	}
}

static void lenient_keeps_the_last_of_three(void **state)
{
	const char *text = "{\"a\":1,\"a\":2,\"b\":0,\"a\":3}";
	struct err err = ERR_INIT;
	AUTO_JSON cJSON *v = NULL;

	unit_assert_ok(json_parse_lenient(text, strlen(text), &v, &err), &err);
	unit_assert_json(v, "{\"b\":0,\"a\":3}");
}

static void pretty_is_as_kubectl_prints(void **state)
{
	AUTO_JSON cJSON *v = unit_json("{\"b\":[1,{\"y\":[],\"x\":{}}],\"a\":\"<&>\\u2028\\u2029\","
				       "\"B\":null,\"c<\":1}");
	AUTO(buf) struct buf b = BUF_INIT(4096);
	struct err err = ERR_INIT;

	unit_assert_ok(json_print_pretty(v, &b, &err), &err);
	assert_string_equal(buf_text(&b), "{\n"
					  "    \"B\": null,\n"
					  "    \"a\": \"\\u003c\\u0026\\u003e\\u2028\\u2029\",\n"
					  "    \"b\": [\n"
					  "        1,\n"
					  "        {\n"
					  "            \"x\": {},\n"
					  "            \"y\": []\n"
					  "        }\n"
					  "    ],\n"
					  "    \"c\\u003c\": 1\n"
					  "}\n");
}

static void printing_stops_at_the_cap(void **state)
{
	AUTO_JSON cJSON *v = unit_json("{\"a\":\"0123456789\"}");

	for (size_t cap = 0; cap < 18; cap++) {
		AUTO(buf) struct buf b = BUF_INIT(cap);
		AUTO(buf) struct buf pretty = BUF_INIT(cap);
		struct err err = ERR_INIT;

		unit_assert_fails(json_print(v, &b, &err), &err, FAIL_LIMIT, "larger");
		unit_assert_fails(json_print_pretty(v, &pretty, &err), &err, FAIL_LIMIT, "larger");
	}
}

static void getters_give_absent_for_anything_else(void **state)
{
	AUTO_JSON cJSON *v = unit_json("{\"s\":\"x\",\"n\":3,\"t\":true,\"z\":null,"
				       "\"o\":{\"p\":{\"q\":1}},\"l\":[1,null,3]}");
	int64_t n = 42;

	assert_null(json_get(NULL, "s"));
	assert_null(json_get(v, "S"));
	assert_null(json_get(v, "z"));
	assert_string_equal(json_get_str(v, "s", "-"), "x");
	assert_string_equal(json_get_str(v, "n", "-"), "-");
	assert_true(json_get_bool(v, "t", false));
	assert_true(json_get_bool(v, "s", true));
	assert_int_equal(json_get_int(v, "n", -1), 3);
	assert_int_equal(json_get_int(v, "s", -1), -1);
	assert_non_null(json_at(v, "o", "p", "q", NULL));
	assert_null(json_at(v, "o", "x", "q", NULL));
	assert_null(json_at(v, "s", "p", NULL));
	assert_null(json_at(NULL, "a", NULL));
	assert_null(json_at(v, "z", NULL));
	assert_int_equal(json_len(json_get(v, "l")), 3);
	assert_int_equal(json_len(json_get(v, "s")), 0);
	assert_non_null(json_index(json_get(v, "l"), 2));
	assert_null(json_index(json_get(v, "l"), 1));
	assert_null(json_index(json_get(v, "l"), 3));
	assert_null(json_index(v, 0));
	assert_false(json_int(NULL, &n));
	assert_int_equal(n, 42);
}

static void only_whole_numbers_are_integers(void **state)
{
	static const struct {
		const char *text;
		bool is;
		int64_t value;
	} cases[] = {
		{ "3", true, 3 },
		{ "-4", true, -4 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "3.0", false, 0 },
		{ "1e1", false, 0 },
		{ "2.5", false, 0 },
		{ "\"3\"", false, 0 },
		{ "true", false, 0 },
		{ "null", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *v = unit_json(cases[i].text);
		int64_t n = 0;

		assert_int_equal(json_int(v, &n), cases[i].is);
		assert_true(n == cases[i].value);
	}
}

static void equality_is_by_value(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
		{ "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1}", false },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false },
		{ "{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":1,\"c\":3,\"b\":3}", false },
		{ "[1,2]", "[2,1]", false },
		{ "[1,2]", "[1,2,3]", false },
		{ "[]", "{}", false },
		{ "\"1\"", "1", false },
		{ "null", "false", false },
		{ "true", "true", true },
		{ "1", "1.0", true },
		{ "10", "1e1", true },
		{ "0.001", "1e-3", true },
		{ "100.50", "1005e-1", true },
		{ "0", "-0", true },
		{ "0", "0.0e5", true },
		{ "1", "-1", false },
		{ "-1.0", "-1", true },
		{ "9007199254740993", "9007199254740992", false },
		{ "9007199254740993", "9007199254740993.0", true },
		{ "1e400", "10e399", true },
		{ "1e400", "1e401", false },
		{ "1e99999999999", "1e99999999999", true },
		{ "12", "102", false },
		{ "1.2", "10.2", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *a = unit_json(cases[i].a);
		AUTO_JSON cJSON *b = unit_json(cases[i].b);

		if (json_equal(a, b) != cases[i].equal || json_equal(b, a) != cases[i].equal)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
	assert_true(json_equal(NULL, NULL));
}

static void builders_replace_and_append(void **state)
{
	AUTO_JSON cJSON *v = cJSON_CreateObject();
	struct err err = ERR_INIT;

	unit_assert_ok(json_set_str(v, "a", "x", &err), &err);
	unit_assert_ok(json_set_int(v, "b", INT64_MAX, &err), &err);
	unit_assert_ok(json_set_bool(v, "a", true, &err), &err);
	unit_assert_ok(json_append_str(json_need_array(v, "l", &err), "y", &err), &err);
	unit_assert_ok(json_append_str(json_need_array(v, "l", &err), "z", &err), &err);
	unit_assert_ok(json_set_int(json_need_object(v, "o", &err), "p", -1, &err), &err);
	unit_assert_ok(json_set(v, "n", cJSON_CreateNull(), &err), &err);
	assert_non_null(json_need_object(v, "n", &err));
	unit_assert_json(v, "{\"a\":true,\"b\":9223372036854775807,\"l\":[\"y\",\"z\"],"
			    "\"o\":{\"p\":-1},\"n\":{}}");
	assert_null(json_need_array(v, "a", &err));
	unit_assert_fails(-1, &err, FAIL_INPUT, "a is not a list");
	json_del(v, "b");
	json_del(v, "nothing");
	unit_assert_fails(json_set(v, "x", NULL, &err), &err, FAIL_NOMEM, "memory");
	unit_assert_json(v, "{\"a\":true,\"l\":[\"y\",\"z\"],\"o\":{\"p\":-1},\"n\":{}}");
}

static void floats_are_laid_out_as_in_go(void **state)
{
	static const struct {
		double d;
		const char *json, *g, *g32;
	} cases[] = {
		{ 0, "0", "0", "0" },
		{ 1.5, "1.5", "1.5", "1.5" },
		{ -1000, "-1000", "-1000", "-1000" },
		{ 1e20, "100000000000000000000", "1e+20", "1e+20" },
		{ 1e21, "1e+21", "1e+21", "1e+21" },
		{ 1e-7, "1e-7", "1e-07", "1e-07" },
		{ 0.000001, "0.000001", "1e-06", "1e-06" },
		{ 0.0001, "0.0001", "0.0001", "0.0001" },
		{ 123456789.123, "123456789.123", "1.23456789123e+08", "1.2345679e+08" },
		{ 0.1, "0.1", "0.1", "0.1" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308",
		  "+Inf" },
		{ 5e-324, "5e-324", "5e-324", "0" },
		{ 9007199254740993.0, "9007199254740992", "9.007199254740992e+15", "9.007199e+15" },
		{ 123456, "123456", "123456", "123456" },
		{ 1234567, "1234567", "1.234567e+06", "1.234567e+06" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[FLOAT_TEXT_SIZE];

		float_json(cases[i].d, text);
		assert_string_equal(text, cases[i].json);
		float_g(cases[i].d, false, text);
		assert_string_equal(text, cases[i].g);
		float_g(cases[i].d, true, text);
		assert_string_equal(text, cases[i].g32);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	many_members(&text, 30);
	buf_cut(&text, text.len - 8); /* no duplicate */
	buf_str(&text, "\"l\":[true,null,\"x\\n\",1.0,{\"o\":{}}]}");
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(buf) struct buf out = BUF_INIT(1 << 16);
		struct err err = ERR_INIT;
		AUTO_JSON cJSON *v = NULL;
		AUTO_JSON cJSON *copy = NULL;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = json_parse(text.data, text.len, &v, &err);
		if (rc == 0)
			rc = json_set_str(v, "new", "x", &err);
		if (rc == 0)
			rc = json_set_str(v, "k3", "x", &err);
		if (rc == 0)
			rc = json_print_pretty(v, &out, &err);
		if (rc == 0) {
			copy = json_copy(v, &err);
			rc = copy ? 0 : -1;
		}
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
	}
}

static void equality_needs_no_memory(void **state)
{
	AUTO_JSON cJSON *a = unit_json("{\"a\":1,\"b\":{\"c\":[],\"d\":2}}");
	AUTO_JSON cJSON *b = unit_json("{\"b\":{\"d\":2,\"c\":[]},\"a\":1}");
	AUTO_JSON cJSON *c = unit_json("{\"b\":{\"d\":3,\"c\":[]},\"a\":1}");

	fault_arm_all(FAULT_ALLOC, 1);
	assert_true(json_equal(a, b));
	assert_false(json_equal(a, c));
	assert_true(fault_disarm());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(what_is_read_is_printed),
		UNIT_CASE(escapes_are_decoded),
		UNIT_CASE(what_is_no_json_is_refused),
		UNIT_CASE(a_nul_byte_is_no_end),
		UNIT_CASE(depth_is_limited),
		UNIT_CASE(duplicates_are_found_among_many),
		UNIT_CASE(lenient_keeps_the_last_of_three),
		UNIT_CASE(pretty_is_as_kubectl_prints),
		UNIT_CASE(printing_stops_at_the_cap),
		UNIT_CASE(getters_give_absent_for_anything_else),
		UNIT_CASE(only_whole_numbers_are_integers),
		UNIT_CASE(equality_is_by_value),
		UNIT_CASE(builders_replace_and_append),
		UNIT_CASE(floats_are_laid_out_as_in_go),
		UNIT_CASE(every_failed_allocation_is_reported),
		UNIT_CASE(equality_needs_no_memory),
	};

	UNIT_MAIN(tests);
}
