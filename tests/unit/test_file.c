/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "fault.h"
#include "unit.h"

struct place {
	char dir[64];
	char path[128];
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/etjob-unit.XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	(void)snprintf(p->path, sizeof(p->path), "%s/file", p->dir);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	(void)unlink(p->path);
	if (rmdir(p->dir) < 0) /* nothing else may have stayed behind */
		return -1;
	free(p);
	return 0;
}

static void what_is_written_is_read(void **state)
{
	const struct place *p = *state;
	AUTO(buf) struct buf text = BUF_INIT(100);
	struct err err = ERR_INIT;
	struct stat st;

	unit_assert_ok(file_write(p->path, "old text", 8, 0644, &err), &err);
	unit_assert_ok(file_write(p->path, "a\0b", 3, 0600, &err), &err);
	unit_assert_ok(file_read(p->path, &text, &err), &err);
	assert_int_equal(text.len, 3);
	assert_memory_equal(text.data, "a\0b", 3);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_missing_file_is_named(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(100);
	struct err err = ERR_INIT;

	unit_assert_fails(file_read("/nope/nothing", &text, &err), &err, FAIL_OS,
			  "cannot open \"/nope/nothing\": No such file or directory");
	assert_int_equal(err.os, ENOENT);
	unit_assert_fails(file_read("/tmp", &text, &err), &err, FAIL_OS,
			  "\"/tmp\": read: Is a directory");
	unit_assert_fails(file_write("/nope/nothing", "", 0, 0600, &err), &err, FAIL_OS,
			  "beside \"/nope/nothing\"");
}

static void a_large_file_is_refused(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(100);
	struct err err = ERR_INIT;

	unit_assert_fails(file_read("/dev/zero", &text, &err), &err, FAIL_LIMIT,
			  "\"/dev/zero\": larger than the limit of 100 bytes");
}

static void folders_are_made_with_their_parents(void **state)
{
	const struct place *p = *state;
	struct err err = ERR_INIT;
	struct stat st;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/a/b/", p->dir);
	unit_assert_ok(file_mkdirs(path, &err), &err);
	unit_assert_ok(file_mkdirs(path, &err), &err);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(rmdir(path), 0);
	(void)snprintf(path, sizeof(path), "%s/a", p->dir);
	assert_int_equal(rmdir(path), 0);
	unit_assert_fails(file_mkdirs("/dev/null/x", &err), &err, FAIL_OS, "cannot make folder");
}

static void failed_calls_leave_the_old_file(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_WRITE, FAULT_RENAME, FAULT_FSYNC,
						 FAULT_ALLOC };
	const struct place *p = *state;
	struct err err = ERR_INIT;

	unit_assert_ok(file_write(p->path, "old", 3, 0600, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		AUTO(buf) struct buf text = BUF_INIT(100);
		int rc;

		err = ERR_INIT;
		fault_arm(kinds[i], 1);
		rc = file_write(p->path, "new", 3, 0600, &err);
		assert_true(fault_disarm());
		assert_int_equal(rc, -1);
		assert_int_not_equal(err.fail, FAIL_NONE);
		err = ERR_INIT;
		unit_assert_ok(file_read(p->path, &text, &err), &err);
		assert_string_equal(buf_text(&text), "old");
	}
}

static void short_and_interrupted_calls_are_no_failure(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_SHORT, FAULT_EINTR };
	const struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		AUTO(buf) struct buf text = BUF_INIT(100);
		struct err err = ERR_INIT;

		fault_arm(kinds[i], 1);
		unit_assert_ok(file_write(p->path, "hello", 5, 0600, &err), &err);
		assert_true(fault_disarm());
		fault_arm(kinds[i], 1);
		unit_assert_ok(file_read(p->path, &text, &err), &err);
		assert_true(fault_disarm());
		assert_string_equal(buf_text(&text), "hello");
	}
}

static void a_failed_read_is_an_error(void **state)
{
	const struct place *p = *state;
	AUTO(buf) struct buf text = BUF_INIT(100);
	struct err err = ERR_INIT;
	int rc;

	unit_assert_ok(file_write(p->path, "x", 1, 0600, &err), &err);
	fault_arm(FAULT_READ, 1);
	rc = file_read(p->path, &text, &err);
	assert_true(fault_disarm());
	unit_assert_fails(rc, &err, FAIL_OS, "read: Input/output error");
}

/* --- log ---------------------------------------------------------------- */

static int64_t fixed_wall(const struct clock *c)
{
	return 1767323045006; /* 2026-01-02T03:04:05.006Z */
}

static const struct clock fixed = { .wall_ms = fixed_wall, .mono_ms = fixed_wall };

static void log_lines(void **state)
{
	const struct place *p = *state;
	AUTO(buf) struct buf text = BUF_INIT(4096);
	struct err err = ERR_INIT;
	int fd = open(p->path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct log log = { .fd = fd, .level = LOG_INFO, .format = LOG_TEXT, .clock = &fixed };

	assert_true(fd >= 0);
	log_event(&log, LOG_DEBUG, "not shown", NULL);
	log_event(&log, LOG_INFO, "job started", "job", "ns/a", "why", "a \"b\"\n", "gone", NULL,
		  "empty", "", NULL);
	log.format = LOG_JSON;
	log_event(&log, LOG_ERROR, "x", "k", "v\x1b", NULL);
	close(fd);
	unit_assert_ok(file_read(p->path, &text, &err), &err);
	assert_string_equal(buf_text(&text),
			    "time=2026-01-02T03:04:05.006Z level=info msg=\"job started\" "
			    "job=ns/a why=\"a \\\"b\\\"\\n\" empty=\"\"\n"
			    "{\"time\":\"2026-01-02T03:04:05.006Z\",\"level\":\"error\","
			    "\"msg\":\"x\",\"k\":\"v\\u001b\"}\n");
}

static void log_words(void **state)
{
	enum log_level level = LOG_INFO;
	enum log_format format = LOG_TEXT;

	assert_true(log_level_parse("error", &level));
	assert_int_equal(level, LOG_ERROR);
	assert_false(log_level_parse("loud", &level));
	assert_true(log_format_parse("json", &format));
	assert_int_equal(format, LOG_JSON);
	assert_false(log_format_parse("xml", &format));
}

static void the_clocks_run(void **state)
{
	const struct clock *c = clock_system();
	int64_t before = clock_mono_ms(c);

	assert_true(clock_wall_ms(c) > 1700000000000);
	assert_true(clock_mono_ms(c) >= before);
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(what_is_written_is_read),
		PLACED(a_missing_file_is_named),
		PLACED(a_large_file_is_refused),
		PLACED(folders_are_made_with_their_parents),
		PLACED(failed_calls_leave_the_old_file),
		PLACED(short_and_interrupted_calls_are_no_failure),
		PLACED(a_failed_read_is_an_error),
		PLACED(log_lines),
		UNIT_CASE(log_words),
		UNIT_CASE(the_clocks_run),
	};

	UNIT_MAIN(tests);
}
