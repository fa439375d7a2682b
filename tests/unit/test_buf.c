/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "fault.h"
#include "unit.h"

static void text_grows_and_is_terminated(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(1000);

	assert_string_equal(buf_text(&b), "");
	buf_str(&b, "ab");
	buf_char(&b, 'c');
	buf_add(&b, "\0d", 2);
	buf_printf(&b, "%d-%s", 7, "x");
	assert_int_equal(b.len, 8);
	assert_memory_equal(b.data, "abc\0d7-x", 9);
}

static void nothing_past_the_cap_gets_in(void **state)
{
	for (size_t cap = 0; cap < 200; cap++) {
		AUTO(buf) struct buf b = BUF_INIT(cap);
		struct err err = ERR_INIT;
		char *text = NULL;

		for (int i = 0; i < 40; i++)
			buf_printf(&b, "%05d", i);
		assert_true(b.len <= cap);
		if (b.data)
			assert_int_equal(b.data[b.len], '\0');
		unit_assert_fails(buf_finish(&b, &text, &err), &err, FAIL_LIMIT,
				  "larger than the limit of");
		assert_null(text);
	}
}

static void exactly_the_cap_fits(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(5);
	struct err err = ERR_INIT;

	buf_printf(&b, "%s", "12345");
	unit_assert_ok(buf_check(&b, &err), &err);
	buf_char(&b, '6');
	unit_assert_fails(buf_check(&b, &err), &err, FAIL_LIMIT, "5 bytes");
	assert_string_equal(buf_text(&b), "12345");
	buf_clear(&b);
	assert_int_equal(b.fail, FAIL_NONE);
	assert_string_equal(buf_text(&b), "");
}

static void a_failure_latches(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(3);

	buf_str(&b, "four");
	buf_str(&b, "x");
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.fail, FAIL_LIMIT);
}

static void finish_moves_the_text_out(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(10);
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *empty = NULL;
	struct err err = ERR_INIT;

	buf_str(&b, "abc");
	unit_assert_ok(buf_finish(&b, &text, &err), &err);
	assert_string_equal(text, "abc");
	assert_null(b.data);
	unit_assert_ok(buf_finish(&b, &empty, &err), &err);
	assert_string_equal(empty, "");
}

static void cut_and_drop(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(10);

	buf_drop(&b, 3);
	buf_cut(&b, 3);
	buf_str(&b, "abcdef");
	buf_drop(&b, 2);
	assert_string_equal(b.data, "cdef");
	buf_cut(&b, 2);
	assert_string_equal(b.data, "cd");
	buf_drop(&b, 99);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
}

static void json_strings_are_escaped(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(200);

	buf_json(&b, "a\"\\\b\f\n\r\t\x01\x1f\x7f/\xc3\xa9\xff", 15);
	assert_string_equal(buf_text(&b), "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/"
					  "\xc3\xa9\xef\xbf\xbd\"");
}

static void visible_text_has_no_control_characters(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(200);

	buf_visible(&b, "a\x1b[2J\n\xc2\x9b\xfe\xe2\x82\xac", 12);
	assert_string_equal(buf_text(&b), "a\\x1b[2J\\x0a\\xc2\\x9b\\xfe\xe2\x82\xac");
}

static void wipe_leaves_an_empty_buffer(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(20);

	buf_wipe(&b);
	buf_str(&b, "secret");
	buf_wipe(&b);
	assert_null(b.data);
	assert_int_equal(b.cap, 20);
	assert_int_equal(b.len, 0);
}

static void every_failed_allocation_is_reported(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(buf) struct buf b = BUF_INIT(4096);
		AUTO_FREE char *text = NULL;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		for (int i = 0; i < 100; i++)
			buf_printf(&b, "%d,", i);
		rc = buf_finish(&b, &text, &err);
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
		assert_true(n < 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(text_grows_and_is_terminated),
		UNIT_CASE(nothing_past_the_cap_gets_in),
		UNIT_CASE(exactly_the_cap_fits),
		UNIT_CASE(a_failure_latches),
		UNIT_CASE(finish_moves_the_text_out),
		UNIT_CASE(cut_and_drop),
		UNIT_CASE(json_strings_are_escaped),
		UNIT_CASE(visible_text_has_no_control_characters),
		UNIT_CASE(wipe_leaves_an_empty_buffer),
		UNIT_CASE(every_failed_allocation_is_reported),
	};

	UNIT_MAIN(tests);
}
