/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/table.h"
#include "unit.h"

static const struct table_col cols[] = {
	{ .name = "NAME" },
	{ .name = "WORKERS", .right = true },
	{ .name = "NODE", .wide = true },
	{ .name = "AGE" },
};

static void assert_table(const char *const *cells, size_t nrows, bool wide, bool headers,
			 const char *want)
{
	AUTO(buf) struct buf out = BUF_INIT(4096);
	struct err err = ERR_INIT;

	unit_assert_ok(table_print(cols, ARRAY_LEN(cols), cells, nrows, wide, headers, &out, &err),
		       &err);
	assert_string_equal(buf_text(&out), want);
}

static void columns_are_as_wide_as_their_cells_and_three_blanks(void **state)
{
	const char *const cells[] = { "a",         "2",  "n1", "5m", /* */
				      "long-name", "16", "n2", "3d" };

	assert_table(cells, 2, false, true,
		     "NAME        WORKERS   AGE\n"
		     "a                 2   5m\n"
		     "long-name        16   3d\n");
	assert_table(cells, 2, true, true,
		     "NAME        WORKERS   NODE   AGE\n"
		     "a                 2   n1     5m\n"
		     "long-name        16   n2     3d\n");
	assert_table(cells, 2, false, false,
		     "a             2   5m\n"
		     "long-name    16   3d\n");
}

static void nothing_is_only_heads(void **state)
{
	assert_table(NULL, 0, false, true, "NAME   WORKERS   AGE\n");
	assert_table(NULL, 0, false, false, "");
}

static void control_characters_are_shown_and_a_null_cell_is_empty(void **state)
{
	const char *const cells[] = { "a\033[31m\n", NULL, "", "x" };

	assert_table(cells, 1, false, true,
		     "NAME            WORKERS   AGE\n"
		     "a\\x1b[31m\\x0a             x\n");
}

static void wide_characters_take_two_cells_and_marks_none(void **state)
{
	const char *const cells[] = { "\xe8\xae\xad\xe7\xbb\x83",
				      "1",
				      "",
				      "x", /* two ideographs */
				      "e\xcc\x81",
				      "2",
				      "",
				      "y" }; /* e and an accent */

	assert_table(cells, 2, false, true,
		     "NAME   WORKERS   AGE\n"
		     "\xe8\xae\xad\xe7\xbb\x83         1   x\n"
		     "e\xcc\x81            2   y\n");
}

static void an_output_that_is_too_small_is_an_error(void **state)
{
	const char *const cells[] = { "a", "1", "n", "x" };
	AUTO(buf) struct buf out = BUF_INIT(10);
	struct err err = ERR_INIT;

	unit_assert_fails(table_print(cols, ARRAY_LEN(cols), cells, 1, true, true, &out, &err),
			  &err, FAIL_LIMIT, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(columns_are_as_wide_as_their_cells_and_three_blanks),
		UNIT_CASE(nothing_is_only_heads),
		UNIT_CASE(control_characters_are_shown_and_a_null_cell_is_empty),
		UNIT_CASE(wide_characters_take_two_cells_and_marks_none),
		UNIT_CASE(an_output_that_is_too_small_is_an_error),
	};
	UNIT_MAIN(tests);
}
