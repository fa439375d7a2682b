/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include "unit.h"

static void whole_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "+5", 5 },
		{ "007", 7 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
	};
	static const char *const bad[] = { "",
					   "-",
					   "+",
					   " 1",
					   "1 ",
					   "1.0",
					   "1e1",
					   "0x1",
					   "--1",
					   "9223372036854775808",
					   "-9223372036854775809" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct err err = ERR_INIT;
		int64_t n = 42;

		unit_assert_ok(num_parse(good[i].text, strlen(good[i].text), INT64_MIN, INT64_MAX,
					 &n, &err),
			       &err);
		assert_true(n == good[i].value);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = ERR_INIT;
		int64_t n = 42;

		unit_assert_fails(num_parse(bad[i], strlen(bad[i]), INT64_MIN, INT64_MAX, &n, &err),
				  &err, FAIL_INPUT, "");
		assert_int_equal(n, 42);
	}
}

static void the_range_is_inclusive(void **state)
{
	struct err err = ERR_INIT;
	int64_t n;

	unit_assert_ok(num_parse("1", 1, 1, 3, &n, &err), &err);
	unit_assert_ok(num_parse("3", 1, 1, 3, &n, &err), &err);
	unit_assert_fails(num_parse("4", 1, 1, 3, &n, &err), &err, FAIL_INPUT,
			  "4 is not between 1 and 3");
}

static void only_the_given_bytes_count(void **state)
{
	struct err err = ERR_INIT;
	int64_t n;

	unit_assert_ok(num_parse("123", 2, 0, 99, &n, &err), &err);
	assert_int_equal(n, 12);
	unit_assert_fails(num_parse("1\0002", 3, 0, 99, &n, &err), &err, FAIL_INPUT, "whole");
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -99: an error */
	} cases[] = {
		{ "90", 90 },      { "90s", 90 },         { "10m", 600 },
		{ "1h30m", 5400 }, { "1.5h", 5400 },      { "500ms", 1 },
		{ "1001ms", 2 },   { "7d", 604800 },      { "0", 0 },
		{ "0s", 0 },       { "-2s", -2 },         { "-1500ms", -1 },
		{ ".5m", 30 },     { "1us", 1 },          { "1\xc2\xb5s", 1 },
		{ "1ns", 1 },      { "1m1m", 120 },       { "", -99 },
		{ "s", -99 },      { ".s", -99 },         { "1x", -99 },
		{ "1 s", -99 },    { "1h 1m", -99 },      { "1.5", -99 },
		{ "1h30", -99 },   { "1y", -99 },         { "-", -99 },
		{ "+", -99 },      { "999999999h", -99 }, { "1e3s", -99 },
		{ "--1s", -99 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		int64_t s = -99;
		int rc = num_seconds(cases[i].text, strlen(cases[i].text), &s, &err);

		if (s != cases[i].seconds || rc != (s == -99 ? -1 : 0))
			fail_msg("\"%s\": %ld", cases[i].text, (long)s);
		if (rc < 0)
			assert_non_null(strstr(err.msg, "is not a duration"));
	}
}

static void nanoseconds_are_exact(void **state)
{
	struct err err = ERR_INIT;
	int64_t ns;

	unit_assert_ok(num_duration("1.000000001s", 12, &ns, &err), &err);
	assert_int_equal(ns, 1000000001);
	unit_assert_ok(num_duration("0.0000000019s", 13, &ns, &err), &err);
	assert_int_equal(ns, 1);
	unit_assert_fails(num_duration("90", 2, &ns, &err), &err, FAIL_INPUT, "duration");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(whole_numbers),
		UNIT_CASE(the_range_is_inclusive),
		UNIT_CASE(only_the_given_bytes_count),
		UNIT_CASE(durations),
		UNIT_CASE(nanoseconds_are_exact),
	};

	UNIT_MAIN(tests);
}
