/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/file.h"

char *unit_read(const char *path, size_t *n)
{
	AUTO(buf) struct buf text = BUF_INIT(16u << 20);
	struct err err = ERR_INIT;
	char *out = NULL;

	unit_assert_ok(file_read(path, &text, &err), &err);
	*n = text.len;
	unit_assert_ok(buf_finish(&text, &out, &err), &err);
	return out;
}

cJSON *unit_json(const char *text)
{
	struct err err = ERR_INIT;
	cJSON *v = NULL;

	unit_assert_ok(json_parse(text, strlen(text), &v, &err), &err);
	return v;
}

void unit_assert_json(const cJSON *v, const char *text)
{
	AUTO(buf) struct buf out = BUF_INIT(16u << 20);
	struct err err = ERR_INIT;

	assert_non_null(v);
	unit_assert_ok(json_print(v, &out, &err), &err);
	assert_string_equal(buf_text(&out), text);
}

void unit_assert_ok(int rc, const struct err *err)
{
	if (rc < 0)
		fail_msg("%s", err->fail == FAIL_NONE ? "-1 without an error" : err->msg);
	assert_int_equal(err->fail, FAIL_NONE);
}

void unit_assert_fails(int rc, const struct err *err, enum fail fail, const char *part)
{
	assert_int_equal(rc, -1);
	if (err->fail != fail || !strstr(err->msg, part))
		fail_msg("fail %d, \"%s\"; wanted fail %d, \"%s\"", (int)err->fail, err->msg,
			 (int)fail, part);
}
