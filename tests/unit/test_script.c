/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/script.h"
#include "unit.h"

#define SUCCESS "\x82\x15\x03{\"status\":\"Success\"}"
#define FAILURE "\x82\x2f\x03{\"status\":\"Failure\",\"message\":\"exit code 4\"}   "

static void frames_may_come_in_any_pieces(void **state)
{
	static const char text[] = "\x82\x06\x01hello\x89\x00\x82\x07\x02 world" SUCCESS;
	size_t n = sizeof(text) - 1;

	/* "\x89\x00" is a ping without a payload. */
	for (size_t piece = 1; piece <= n; piece++) {
		AUTO(script_frames) struct script_frames f = SCRIPT_FRAMES_INIT;
		struct err err = ERR_INIT;

		for (size_t at = 0; at < n; at += piece)
			unit_assert_ok(script_frames_add(&f, text + at,
							 n - at < piece ? n - at : piece, &err),
				       &err);
		assert_true(f.ended);
		assert_true(f.ok);
		assert_string_equal(buf_text(&f.said), "hello world");
	}
}

static void a_failure_has_its_message(void **state)
{
	AUTO(script_frames) struct script_frames f = SCRIPT_FRAMES_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(script_frames_add(&f, FAILURE, sizeof(FAILURE) - 1, &err), &err);
	assert_true(f.ended);
	assert_false(f.ok);
	assert_string_equal(buf_text(&f.cause), "exit code 4");
}

static void a_close_without_a_status_is_a_failure(void **state)
{
	AUTO(script_frames) struct script_frames f = SCRIPT_FRAMES_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(script_frames_add(&f, "\x88\x00", 2, &err), &err);
	assert_true(f.ended);
	assert_false(f.ok);
}

static void only_the_end_of_long_output_is_kept(void **state)
{
	AUTO(script_frames) struct script_frames f = SCRIPT_FRAMES_INIT;
	struct err err = ERR_INIT;
	char frame[4 + 1001];

	memcpy(frame, "\x82\x7e\x03\xe9\x01", 5);
	memset(frame + 5, 'a', 1000);
	for (int i = 0; i < 5; i++)
		unit_assert_ok(script_frames_add(&f, frame, sizeof(frame), &err), &err);
	assert_int_equal(f.said.len, 512);
}

static void what_is_no_frame_is_refused(void **state)
{
	AUTO(script_frames) struct script_frames f = SCRIPT_FRAMES_INIT;
	AUTO(script_frames) struct script_frames big = SCRIPT_FRAMES_INIT;
	struct err err = ERR_INIT;

	unit_assert_fails(script_frames_add(&f, "\x82\x81", 2, &err), &err, FAIL_INPUT,
			  "no WebSocket of a server");
	err = ERR_INIT;
	unit_assert_fails(
		script_frames_add(&big, "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10, &err), &err,
		FAIL_LIMIT, "a frame of");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(frames_may_come_in_any_pieces),
		UNIT_CASE(a_failure_has_its_message),
		UNIT_CASE(a_close_without_a_status_is_a_failure),
		UNIT_CASE(only_the_end_of_long_output_is_kept),
		UNIT_CASE(what_is_no_frame_is_refused),
	};
	UNIT_MAIN(tests);
}
