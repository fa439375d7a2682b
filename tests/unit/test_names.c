/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/names.h"
#include "unit.h"

static void children_are_named_after_the_job(void **state)
{
	static const struct {
		void (*name)(const char *job, struct buf *out);
		const char *want;
	} cases[] = {
		{ name_launcher, "et-launcher" },
		{ name_service, "et-workers" },
		{ name_config, "et-config" },
		{ name_secret, "et-ssh" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf) struct buf b = BUF_INIT(64);

		cases[i].name("et", &b);
		assert_string_equal(buf_text(&b), cases[i].want);
	}
	AUTO(buf) struct buf b = BUF_INIT(64);
	name_worker("et", 12, &b);
	assert_string_equal(buf_text(&b), "et-worker-12");
}

static void longest_name_gives_pod_names_that_are_labels(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(128);
	char job[NAME_MAX_JOB + 1];

	memset(job, 'a', NAME_MAX_JOB);
	job[NAME_MAX_JOB] = '\0';
	name_worker(job, 99999, &b);
	assert_int_equal(b.len, 63);
}

static void worker_index_is_read_exactly(void **state)
{
	static const struct {
		const char *job, *pod;
		int64_t want;
	} cases[] = {
		{ "et", "et-worker-0", 0 },
		{ "et", "et-worker-10", 10 },
		{ "et", "et-worker-2147483647", INT32_MAX },
		{ "et", "et-worker-2147483648", -1 },
		{ "et", "et-worker-", -1 },
		{ "et", "et-worker-01", -1 },
		{ "et", "et-worker-+1", -1 },
		{ "et", "et-worker--1", -1 },
		{ "et", "et-worker-1x", -1 },
		{ "et", "et-worker-1 ", -1 },
		{ "et", "et2-worker-1", -1 },
		{ "et", "xet-worker-1", -1 },
		{ "et", "et-launcher", -1 },
		{ "et", "et", -1 },
		{ "et", "", -1 },
		{ "et-worker-1", "et-worker-1-worker-2", 2 },
		{ "et", "et-worker-1-worker-2", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(name_worker_index(cases[i].job, cases[i].pod), cases[i].want);
}

static void labels_are_those_of_rfc_1035(void **state)
{
	static const struct {
		const char *text;
		bool label, prefix;
	} cases[] = {
		{ "a", true, true },     { "a-b", true, true },   { "a1", true, true },
		{ "a-", false, true },   { "", false, false },    { "-a", false, false },
		{ "1a", false, false },  { "A", false, false },   { "a.b", false, false },
		{ "a_b", false, false }, { "a b", false, false }, { "\xc3\xa9", false, false },
		{ "a\n", false, false }, { "abcde", true, true }, { "abcdef", false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(name_is_label(cases[i].text, 5), cases[i].label);
		assert_int_equal(name_is_prefix(cases[i].text, 5), cases[i].prefix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(children_are_named_after_the_job),
		UNIT_CASE(longest_name_gives_pod_names_that_are_labels),
		UNIT_CASE(worker_index_is_read_exactly),
		UNIT_CASE(labels_are_those_of_rfc_1035),
	};

	UNIT_MAIN(tests);
}
