/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/scaler.h"
#include "unit.h"

static void a_scale_out_is_read(void **state)
{
	AUTO_JSON cJSON *obj = unit_json(
		"{\"kind\":\"ScaleOut\",\"metadata\":{\"name\":\"s\",\"namespace\":\"ml\",\"uid\":"
		"\"u\",\"creationTimestamp\":\"1970-01-01T00:00:02Z\"},\"spec\":{\"selector\":{"
		"\"name\":\"et\"},\"timeout\":5,\"backoffLimit\":2,\"script\":\"x\",\"env\":[],"
		"\"ttlSecondsAfterFinished\":9,\"toAdd\":{\"count\":3}},\"status\":{\"phase\":"
		"\"Scaling\",\"addPods\":[\"et-worker-2\"]}}");
	struct scaler s;

	scaler_view(obj, &s);
	assert_true(s.out);
	assert_string_equal(s.job, "et");
	assert_string_equal(s.name, "s");
	assert_int_equal(s.created_ms, 2000);
	assert_int_equal(s.count, 3);
	assert_int_equal(scaler_amount(&s), 3);
	assert_int_equal(s.timeout_s, 5);
	assert_int_equal(s.backoff_limit, 2);
	assert_int_equal(s.ttl_s, 9);
	assert_string_equal(s.script, "x");
	assert_int_equal(s.phase, SCALER_SCALING);
	assert_int_equal(json_len(s.pods), 1);
	assert_false(scaler_finished(&s));
}

static void a_scale_in_removes(void **state)
{
	AUTO_JSON cJSON *by_count = unit_json("{\"kind\":\"ScaleIn\",\"spec\":{\"toDelete\":{"
					      "\"count\":2}}}");
	AUTO_JSON cJSON *by_name = unit_json("{\"kind\":\"ScaleIn\",\"spec\":{\"toDelete\":{"
					     "\"podNames\":[\"a\",\"b\",\"c\"]}}}");
	AUTO_JSON cJSON *nothing = unit_json("{\"kind\":\"ScaleIn\",\"spec\":{\"toDelete\":{"
					     "\"podNames\":[],\"count\":0}}}");
	struct scaler s;

	scaler_view(by_count, &s);
	assert_false(s.out);
	assert_int_equal(scaler_amount(&s), -2);
	assert_int_equal(s.timeout_s, 600);
	assert_int_equal(s.ttl_s, -1);
	scaler_view(by_name, &s);
	assert_int_equal(scaler_amount(&s), -3);
	scaler_view(nothing, &s);
	assert_null(s.pod_names);
	assert_int_equal(s.count, -1);
	assert_int_equal(scaler_amount(&s), 0);
	scaler_view(NULL, &s);
	assert_string_equal(s.job, "");
}

static void an_end_is_seen_by_phase_or_condition(void **state)
{
	static const struct {
		const char *status;
		enum scaler_phase want;
	} cases[] = {
		{ "{}", SCALER_NEW },
		{ "{\"phase\":\"Created\"}", SCALER_NEW },
		{ "{\"phase\":\"ScriptExecuted\"}", SCALER_SCALING },
		{ "{\"phase\":\"ScaleSucceeded\"}", SCALER_SUCCEEDED },
		{ "{\"phase\":\"ScaleFailed\"}", SCALER_FAILED },
		{ "{\"conditions\":[{\"type\":\"ScaleFailed\",\"status\":\"True\"}]}",
		  SCALER_FAILED },
		{ "{\"conditions\":[{\"type\":\"ScaleFailed\",\"status\":\"False\"}]}",
		  SCALER_NEW },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *obj = unit_json("{\"kind\":\"ScaleOut\"}");
		struct err err = ERR_INIT;
		struct scaler s;

		unit_assert_ok(json_set(obj, "status", unit_json(cases[i].status), &err), &err);
		scaler_view(obj, &s);
		assert_int_equal(s.phase, cases[i].want);
		assert_int_equal(scaler_finished(&s), cases[i].want >= SCALER_SUCCEEDED);
	}
}

static void oldest_comes_first_then_by_uid(void **state)
{
	struct scaler v[] = {
		{ .created_ms = 2, .uid = "a" },
		{ .created_ms = 1, .uid = "c" },
		{ .created_ms = 1, .uid = "b" },
	};

	qsort(v, ARRAY_LEN(v), sizeof(v[0]), scaler_order);
	assert_string_equal(v[0].uid, "b");
	assert_string_equal(v[1].uid, "c");
	assert_string_equal(v[2].uid, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_scale_out_is_read),
		UNIT_CASE(a_scale_in_removes),
		UNIT_CASE(an_end_is_seen_by_phase_or_condition),
		UNIT_CASE(oldest_comes_first_then_by_uid),
	};

	UNIT_MAIN(tests);
}
