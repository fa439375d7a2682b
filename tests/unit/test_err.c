/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

#include "base/utf8.h"
#include "unit.h"

static void set_fills_in_and_returns_minus_one(void **state)
{
	struct err err = { .os = 5, .http = 404 };

	assert_int_equal(err_set(&err, FAIL_INPUT, "no \"%s\"", "x"), -1);
	assert_int_equal(err.fail, FAIL_INPUT);
	assert_int_equal(err.os, 0);
	assert_int_equal(err.http, 0);
	assert_string_equal(err.msg, "no \"x\"");
}

static void control_characters_are_escaped(void **state)
{
	struct err err = ERR_INIT;

	err_set(&err, FAIL_INPUT, "a\x1b[31m\n\x7f\xc2\x9b\xff caf\xc3\xa9");
	assert_string_equal(err.msg, "a\\x1b[31m\\x0a\\x7f\\xc2\\x9b\\xff caf\xc3\xa9");
}

static void a_long_message_is_cut_between_characters(void **state)
{
	struct err err = ERR_INIT;
	char text[2049];

	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, FAIL_INPUT, "x%s", text);
	assert_int_equal(strlen(err.msg), 1023);
	assert_memory_equal(err.msg + 1021, "\xc3\xa9", 3);
}

static void wrap_puts_context_before(void **state)
{
	struct err err = ERR_INIT;

	err_os(&err, ENOENT, "cannot open \"%s\"", "a\nb");
	assert_int_equal(err.fail, FAIL_OS);
	assert_int_equal(err.os, ENOENT);
	assert_int_equal(err_wrap(&err, "reading %s", "it"), -1);
	assert_string_equal(err.msg,
			    "reading it: cannot open \"a\\x0ab\": No such file or directory");
	assert_int_equal(err.os, ENOENT);
}

static void wrap_of_much_keeps_what_fits(void **state)
{
	struct err err = ERR_INIT;
	char text[3000];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, FAIL_INPUT, "fact");
	err_wrap(&err, "%s", text);
	assert_true(strlen(err.msg) < sizeof(err.msg));
	assert_int_equal(err.msg[0], 'y');
}

static void no_err_is_fine(void **state)
{
	assert_int_equal(err_set(NULL, FAIL_INPUT, "x"), -1);
	assert_int_equal(err_os(NULL, EIO, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
	assert_int_equal(err_nomem(NULL), -1);
}

static void utf8_lengths(void **state)
{
	static const struct {
		const char *bytes;
		size_t n, len;
	} cases[] = {
		{ "a", 1, 1 },
		{ "\xc3\xa9", 2, 2 },
		{ "\xe2\x82\xac", 3, 3 },
		{ "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\x80", 1, 0 },
		{ "\xc1\x81", 2, 0 },         /* overlong */
		{ "\xe0\x9f\xbf", 3, 0 },     /* overlong */
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xed\xa0\x80", 3, 0 },     /* surrogate */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* past the last */
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xc3", 1, 0 }, /* cut */
		{ "\xe2\x82", 2, 0 },
		{ "\xc3(", 2, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(utf8_len(cases[i].bytes, cases[i].n), cases[i].len);
}

static void utf8_written_is_utf8_read(void **state)
{
	static const uint32_t points[] = {
		0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff
	};

	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		char out[4];
		size_t n = utf8_put(points[i], out);

		assert_int_equal(utf8_len(out, n), n);
	}
	assert_true(utf8_is_control("\xc2\x85", 2));
	assert_false(utf8_is_control("\xc2\xa0", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(set_fills_in_and_returns_minus_one),
		UNIT_CASE(control_characters_are_escaped),
		UNIT_CASE(a_long_message_is_cut_between_characters),
		UNIT_CASE(wrap_puts_context_before),
		UNIT_CASE(wrap_of_much_keeps_what_fits),
		UNIT_CASE(no_err_is_fine),
		UNIT_CASE(utf8_lengths),
		UNIT_CASE(utf8_written_is_utf8_read),
	};

	UNIT_MAIN(tests);
}
