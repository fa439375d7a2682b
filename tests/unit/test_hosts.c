/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/hosts.h"
#include "unit.h"

static void a_list_is_written_and_read_back(void **state)
{
	static const char *const pods[] = { "et-worker-0", "et-worker-12" };
	AUTO(buf) struct buf text = BUF_INIT(1024);
	AUTO_JSON cJSON *list = NULL;
	struct err err = ERR_INIT;

	hosts_file("et", pods, ARRAY_LEN(pods), 2, &text);
	assert_string_equal(buf_text(&text),
			    "et-worker-0.et-workers:2\net-worker-12.et-workers:2\n");
	unit_assert_ok(hosts_read(buf_text(&text), &list, &err), &err);
	unit_assert_json(list, "[\"et-worker-0\",\"et-worker-12\"]");
}

static void a_list_by_other_hands_is_read(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "[]" },           { "\n\n", "[]" },
		{ "a.b:1", "[\"a\"]" }, { "a:1\n\nb.c:2\n", "[\"a\",\"b\"]" },
		{ "a", "[\"a\"]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *list = NULL;
		struct err err = ERR_INIT;

		unit_assert_ok(hosts_read(cases[i].text, &list, &err), &err);
		unit_assert_json(list, cases[i].want);
	}
}

static void the_script_is_for_sh(void **state)
{
	assert_true(str_starts(hosts_script(), "#!/bin/sh\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_list_is_written_and_read_back),
		UNIT_CASE(a_list_by_other_hands_is_read),
		UNIT_CASE(the_script_is_for_sh),
	};

	UNIT_MAIN(tests);
}
