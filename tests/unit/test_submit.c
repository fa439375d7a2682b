/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"
#include "plugin/history.h"
#include "plugin/output.h"
#include "plugin/submit.h"
#include "unit.h"

static void the_kubelet_gives_back_what_was_typed(void **state)
{
	static const struct {
		const char *typed, *sent;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$", "$" },
		{ "$$", "$$$$" },
		{ "$$$", "$$$$$" },
		{ "$(A)", "$$(A)" },
		{ "$(A.b-c)", "$$(A.b-c)" },
		{ "$(1A)", "$(1A)" },
		{ "$(echo $$)", "$(echo $$)" },
		{ "$(unclosed", "$(unclosed" },
		{ "$((${workers}*${gpus}))", "$((${workers}*${gpus}))" },
		{ "${x}$(", "${x}$(" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf) struct buf out = BUF_INIT(4096);

		submit_escape(cases[i].typed, &out);
		assert_string_equal(buf_text(&out), cases[i].sent);
	}
}

static int build(const struct submit_opts *o, struct submit_out *out, struct err *err)
{
	static const char *const words[] = { "run" };
	static const struct submit_file file = { .path = "/etc/f", .data = (char *)"x", .n = 1 };
	const struct submit_in in = { .o = o,
				      .ns = "default",
				      .name = "n",
				      .words = words,
				      .nwords = 1,
				      .shell = true,
				      .env_file = "A=1\n",
				      .files = &file,
				      .nfiles = 1 };

	return submit_build(&in, out, err);
}

static void every_failed_allocation_of_a_build_is_reported(void **state)
{
	struct submit_opts o = submit_defaults;

	o.image = "i";
	o.gpus = 2;
	o.rdma = o.gang = o.queue = o.tensorboard = true;
	o.sync_mode = "git";
	o.sync_source = "https://git.example/a.git";
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(submit_out) struct submit_out out = { 0 };
		struct err err = ERR_INIT;

		fault_arm(FAULT_ALLOC, n);
		int rc = build(&o, &out, &err);
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
		assert_true(!out.job == (rc < 0));
	}
}

static void history_keeps_a_short_peak_in_the_chart(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
		"\"spec\":{\"etReplicaSpecs\":{\"worker\":{\"replicas\":1,\"minReplicas\":1}}},"
		"\"status\":{\"scaleHistory\":[{\"time\":\"2026-01-01T00:30:00Z\",\"from\":1,\"to\":3,\"cause\":\"a<b\"},"
		"{\"time\":\"2026-01-01T00:30:01Z\",\"from\":3,\"to\":1,\"cause\":\"c\"}]}}";
	AUTO(history) struct history h = { 0 };
	AUTO(buf) struct buf chart = BUF_INIT(65536), svg = BUF_INIT(65536);
	AUTO_JSON cJSON *obj = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &obj, &err), 0);
	assert_int_equal(history_read(obj, 1767229200000, &h, &err), 0); /* 01:00 */
	assert_int_equal(h.n, 3);
	assert_int_equal(h.most, 3);
	assert_int_equal(history_at(&h, h.v[0].at_ms), 1);
	assert_int_equal(history_chart(&h, 28, false, &chart, &err), 0);
	assert_string_equal(buf_text(&chart), "    3 |          #\n"
					      "    2 |          #\n"
					      "    1 |####################\n"
					      "    0 +--------------------\n"
					      "       0                60m\n");
	assert_int_equal(history_svg(&h, &svg, &err), 0);
	assert_non_null(strstr(buf_text(&svg), "a&lt;b"));
	assert_null(strstr(buf_text(&svg), "nan"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kubelet_gives_back_what_was_typed),
		cmocka_unit_test(every_failed_allocation_of_a_build_is_reported),
		cmocka_unit_test(history_keeps_a_short_peak_in_the_chart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
