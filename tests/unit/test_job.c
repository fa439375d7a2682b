/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/job.h"
#include "jobs.h"
#include "unit.h"

static void a_whole_job_is_read(void **state)
{
	AUTO_JSON cJSON *obj = jobs_running();
	struct job j;

	jobs_set(&obj, "/spec/suspend", "true");
	jobs_set(&obj, "/spec/slotsPerWorker", "3");
	jobs_set(&obj, "/spec/launcherAttachMode", "\"kubexec\"");
	jobs_set(&obj, "/spec/cleanPodPolicy", "\"All\"");
	jobs_set(&obj, "/spec/restartPolicy", "\"OnFailure\"");
	jobs_set(&obj, "/spec/backoffLimit", "0");
	jobs_set(&obj, "/spec/activeDeadlineSeconds", "9000000000");
	jobs_set(&obj, "/spec/ttlSecondsAfterFinished", "0");
	jobs_set(&obj, "/spec/startPolicy", "\"Minimum\"");
	jobs_set(&obj, "/metadata/generation", "7");
	jobs_set(&obj, "/metadata/deletionTimestamp", "\"2026-01-02T03:04:05Z\"");
	job_view(obj, &j);
	assert_string_equal(j.ns, "ml");
	assert_string_equal(j.name, "et");
	assert_string_equal(j.uid, "u1");
	assert_int_equal(j.created_ms, INT64_C(1767323045000));
	assert_true(j.deleting && j.suspend && j.replicas_given && j.min_given && j.max_given);
	assert_int_equal(j.generation, 7);
	assert_int_equal(j.replicas, 2);
	assert_int_equal(j.min, 1);
	assert_int_equal(j.max, 4);
	assert_int_equal(j.slots, 3);
	assert_int_equal(j.gpus, 1);
	assert_int_equal(j.attach, ATTACH_KUBEXEC);
	assert_int_equal(j.clean, CLEAN_ALL);
	assert_int_equal(j.restart, RESTART_ON_FAILURE);
	assert_int_equal(j.backoff_limit, 0);
	assert_int_equal(j.deadline_s, INT64_C(9000000000));
	assert_int_equal(j.ttl_s, 0);
	assert_int_equal(j.start, START_MINIMUM);
	assert_int_equal(j.phase, JOB_RUNNING);
	assert_int_equal(j.target, 2);
	assert_int_equal(j.next_index, 2);
	assert_int_equal(json_len(j.current_workers), 2);
	assert_ptr_equal(j.obj, obj);
}

static void what_is_absent_or_broken_has_its_default(void **state)
{
	static const char *const broken[] = { "null", "\"3\"",      "3.5", "1e400", "2147483648",
					      "-1",   "{}",         "[]",  "true",  "0",
					      "3.0",  "4294967297", "1e1" };
	struct job j;

	job_view(NULL, &j);
	assert_string_equal(j.name, "");
	assert_int_equal(j.replicas, 1);
	assert_int_equal(j.min, 1);
	assert_int_equal(j.max, INT32_MAX);
	assert_int_equal(j.slots, 1);
	assert_int_equal(j.backoff_limit, 6);
	assert_int_equal(j.deadline_s, -1);
	assert_int_equal(j.ttl_s, -1);
	assert_int_equal(j.target, 1);
	assert_int_equal(j.phase, JOB_NEW);
	assert_int_equal(j.clean, CLEAN_RUNNING);
	assert_null(j.launcher_template);
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		AUTO_JSON cJSON *obj = jobs_good();

		jobs_set(&obj, WORKER "/minReplicas", broken[i]);
		jobs_set(&obj, WORKER "/maxReplicas", broken[i]);
		jobs_set(&obj, "/spec/slotsPerWorker", broken[i]);
		job_view(obj, &j);
		assert_int_equal(j.min, 2);
		assert_int_equal(j.max, INT32_MAX);
		assert_int_equal(j.slots, 1);
		assert_false(j.min_given || j.max_given);
	}
}

static void the_target_is_that_of_status(void **state)
{
	AUTO_JSON cJSON *obj = jobs_running();
	struct job j;

	jobs_set(&obj, "/status/targetWorkers",
		 "[\"et-worker-0\",\"et-worker-5\",\"et-worker-7\"]");
	job_view(obj, &j);
	assert_int_equal(j.target, 3);
	jobs_set(&obj, "/status/targetWorkers", NULL);
	jobs_set(&obj, "/status/replicas", "4");
	job_view(obj, &j);
	assert_int_equal(j.target, 4);
	jobs_set(&obj, "/status/replicas", NULL);
	job_view(obj, &j);
	assert_int_equal(j.target, 2);
}

static void phases_are_read_and_written(void **state)
{
	static const char *const words[] = { "Created",   "Running",   "Scaling", "Restarting",
					     "Suspended", "Succeeded", "Failed" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_string_equal(job_phase_name(job_phase_parse(words[i])), words[i]);
	assert_int_equal(job_phase_parse("WorkersReady"), JOB_CREATED);
	assert_int_equal(job_phase_parse("running"), JOB_NEW);
	assert_string_equal(job_phase_name(JOB_NEW), "");
}

static void gpus_of_all_makers_count(void **state)
{
	static const struct {
		const char *resources;
		int64_t want;
	} cases[] = {
		{ "{}", 0 },
		{ "{\"limits\":{\"nvidia.com/gpu\":2}}", 2 },
		{ "{\"limits\":{\"nvidia.com/gpu\":\"2\"}}", 2 },
		{ "{\"limits\":{\"amd.com/gpu\":1,\"nvidia.com/mig-1g.5gb\":2}}", 3 },
		{ "{\"requests\":{\"nvidia.com/gpu\":2}}", 2 },
		{ "{\"limits\":{\"nvidia.com/gpu\":2},\"requests\":{\"nvidia.com/gpu\":2}}", 2 },
		{ "{\"limits\":{\"cpu\":2,\"example.com/gpus\":3,\"gpu\":4}}", 0 },
		{ "{\"limits\":{\"nvidia.com/gpu\":\"1k\"}}", 1000 },
		{ "{\"limits\":{\"nvidia.com/gpu\":\"x\"}}", 0 },
		{ "{\"limits\":{\"nvidia.com/gpu\":-1}}", 0 },
		{ "{\"limits\":{\"a/gpu\":\"2G\",\"b/gpu\":\"2G\"}}", INT32_MAX },
		{ "{\"limits\":{\"nvidia.com/gpu\":0}}", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *obj = jobs_good();
		struct job j;

		jobs_set(&obj, W "/containers/0/resources", cases[i].resources);
		jobs_set(&obj, W "/containers/-",
			 "{\"name\":\"b\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/"
			 "gpu\":9}}}");
		job_view(obj, &j);
		assert_int_equal(j.gpus, cases[i].want);
		assert_int_equal(j.slots, cases[i].want ? cases[i].want : 1);
	}
}

static void conditions_are_found(void **state)
{
	AUTO_JSON cJSON *obj = unit_json("{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":"
					 "\"False\"},{\"type\":\"B\",\"status\":\"True\"},7]}}");

	assert_true(job_condition_true(obj, "B"));
	assert_false(job_condition_true(obj, "A"));
	assert_non_null(job_condition(obj, "A"));
	assert_null(job_condition(obj, "C"));
	assert_null(job_condition(NULL, "C"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_whole_job_is_read),
		UNIT_CASE(what_is_absent_or_broken_has_its_default),
		UNIT_CASE(the_target_is_that_of_status),
		UNIT_CASE(phases_are_read_and_written),
		UNIT_CASE(gpus_of_all_makers_count),
		UNIT_CASE(conditions_are_found),
	};

	UNIT_MAIN(tests);
}
