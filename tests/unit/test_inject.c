/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/inject.h"
#include "etjob/validate.h"
#include "fault.h"
#include "jobs.h"
#include "unit.h"

static const struct inject_opts with_mount = { .mount = true };
static const struct inject_opts env_only = { .mount = false };

/* The patch for obj as text; warnings joined by newlines go to *warned when not NULL. */
static void patch_text(const cJSON *obj, const cJSON *old, const struct inject_opts *opts,
		       struct buf *out, struct buf *warned)
{
	AUTO(patch) struct patch patch = PATCH_INIT;
	AUTO(strs) struct strs warnings = STRS_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(inject_patch(obj, old, opts, &patch, &warnings, &err), &err);
	if (patch.ops)
		unit_assert_ok(json_print(patch.ops, out, &err), &err);
	for (size_t i = 0; warned && i < warnings.n; i++)
		buf_printf(warned, "%s\n", warnings.v[i]);
}

static void assert_patch(const cJSON *obj, const cJSON *old, const struct inject_opts *opts,
			 const char *want)
{
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);

	patch_text(obj, old, opts, &text, NULL);
	assert_string_equal(buf_text(&text), want);
}

#define ENV4(w, g, lo, hi)                                                              \
	"[{\"name\":\"workers\",\"value\":\"" w "\"},{\"name\":\"gpus\",\"value\":\"" g \
	"\"},{\"name\":\"minWorkers\",\"value\":\"" lo                                  \
	"\"},{\"name\":\"maxWorkers\",\"value\":\"" hi "\"}]"

static void a_plain_job_gets_all(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();

	assert_patch(
		job, NULL, &with_mount,
		"[{\"op\":\"add\",\"path\":\"" L "/containers/0/env\",\"value\":" ENV4(
			"2", "1", "1",
			"4") "},"
			     "{\"op\":\"add\",\"path\":\"" W "/containers/0/env\",\"value\":" ENV4(
				     "2", "1", "1",
				     "4") "},"
					  "{\"op\":\"add\",\"path\":\"" L
					  "/volumes\",\"value\":[{\"name\":\"etjob-config\","
					  "\"configMap\":{\"name\":\"et-config\",\"defaultMode\":493}}]},"
					  "{\"op\":\"add\",\"path\":\"" L
					  "/containers/0/volumeMounts\",\"value\":[{\"name\":"
					  "\"etjob-config\",\"mountPath\":\"/etc/edl\",\"readOnly\":true}]}]");
}

static void without_bounds_the_defaults_are_given(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();

	jobs_set(&job, WORKER "/maxReplicas", NULL);
	jobs_set(&job, WORKER "/minReplicas", NULL);
	jobs_set(&job, W "/containers/0/resources", NULL);
	assert_patch(job, NULL, &env_only,
		     "[{\"op\":\"add\",\"path\":\"" L "/containers/0/env\",\"value\":" ENV4(
			     "2", "0", "2", "1000") "},"
						    "{\"op\":\"add\",\"path\":\"" W
						    "/containers/0/env\",\"value\":" ENV4(
							    "2", "0", "2", "1000") "}]");
}

static void only_what_is_absent_is_added(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();

	jobs_set(&job, L "/containers/0/env",
		 "[{\"name\":\"workers\",\"value\":\"7\"},{\"name\":\"gpus\",\"valueFrom\":{}},"
		 "{\"name\":\"A\"}]");
	jobs_set(&job, W "/containers/0/env", "null");
	jobs_set(&job, L "/initContainers", "[{\"name\":\"init\",\"image\":\"i\"}]");
	assert_patch(job, NULL, &env_only,
		     "[{\"op\":\"add\",\"path\":\"" L "/containers/0/env/-\",\"value\":{\"name\":"
		     "\"minWorkers\",\"value\":\"1\"}},"
		     "{\"op\":\"add\",\"path\":\"" L "/containers/0/env/-\",\"value\":{\"name\":"
		     "\"maxWorkers\",\"value\":\"4\"}},"
		     "{\"op\":\"add\",\"path\":\"" W
		     "/containers/0/env\",\"value\":" ENV4("2", "1", "1", "4") "}]");
}

static void values_that_were_ours_follow(void **state)
{
	AUTO_JSON cJSON *old = jobs_good();
	AUTO_JSON cJSON *now = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(inject_apply(&old, NULL, &with_mount, &err), &err);
	jobs_set(&old, W "/containers/0/env/0/value", "\"9\""); /* the user's */
	now = json_copy(old, &err);
	assert_non_null(now);
	jobs_set(&now, WORKER "/replicas", "3");
	jobs_set(&now, WORKER "/maxReplicas", "8");
	assert_patch(
		now, old, &with_mount,
		"[{\"op\":\"replace\",\"path\":\"" L "/containers/0/env/0/value\",\"value\":\"3\"},"
		"{\"op\":\"replace\",\"path\":\"" L "/containers/0/env/3/value\",\"value\":\"8\"},"
		"{\"op\":\"replace\",\"path\":\"" W
		"/containers/0/env/3/value\",\"value\":\"8\"}]");
	/* On create the same text is the user's. */
	assert_patch(now, NULL, &with_mount, "");
}

/* kubectl scale changed replicas and could not change the variable. A client-side apply then drops
 * the variable: were it to come back with another value, each apply would be a change. */
static void what_scale_left_behind_stays_until_replicas_are_applied(void **state)
{
	AUTO_JSON cJSON *old = jobs_good();
	AUTO_JSON cJSON *now = jobs_good();
	AUTO_JSON cJSON *other = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(inject_apply(&old, NULL, &with_mount, &err), &err);
	jobs_set(&old, WORKER "/replicas", "3");
	jobs_set(&now, WORKER "/replicas", "3");
	unit_assert_ok(inject_apply(&now, old, &with_mount, &err), &err);
	assert_true(cJSON_Compare(now, old, true));

	other = jobs_good();
	jobs_set(&other, WORKER "/replicas", "4");
	unit_assert_ok(inject_apply(&other, old, &with_mount, &err), &err);
	assert_string_equal(
		json_get_str(json_index(json_at(json_index(json_at(other, "spec", "etReplicaSpecs",
								   "worker", "template", "spec",
								   "containers", NULL),
							   0),
						"env", NULL),
					0),
			     "value", ""),
		"4");
}

static void some_jobs_are_left_alone(void **state)
{
	static const struct {
		const char *pointer, *value;
	} cases[] = {
		{ "/metadata/annotations", "{\"kai.alibabacloud.com/inject\":\"disabled\"}" },
		{ "/metadata/deletionTimestamp", "\"2026-01-01T00:00:00Z\"" },
		{ "/status", "{\"phase\":\"Succeeded\"}" },
		{ "/status", "{\"phase\":\"Failed\"}" },
		{ "/spec", "null" },
		{ "/spec", "7" },
		{ "/spec/etReplicaSpecs", "[]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_good();

		jobs_set(&job, cases[i].pointer, cases[i].value);
		assert_patch(job, NULL, &with_mount, "");
	}
	AUTO_JSON cJSON *job = jobs_good();
	jobs_set(&job, "/metadata/annotations", "{\"kai.alibabacloud.com/inject\":\"Disabled\"}");
	assert_true(inject_wanted(job));
}

static void broken_containers_are_passed_over(void **state)
{
	static const struct {
		const char *pointer, *value;
	} cases[] = {
		{ L "/containers", "null" },    { L "/containers", "[null,7,[]]" },
		{ L "/containers", "{}" },      { L "/containers/0/env", "{}" },
		{ L "/containers/0/env", "7" }, { L "/containers/0/env", "[null,7,\"workers\"]" },
		{ L "/volumes", "{}" },         { L "/containers/0/volumeMounts", "7" },
		{ L "/volumes", "[null,7]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_good();
		struct err err = ERR_INIT;

		jobs_set(&job, cases[i].pointer, cases[i].value);
		unit_assert_ok(inject_apply(&job, NULL, &with_mount, &err), &err);
	}
}

static void mounts_of_the_user_stay(void **state)
{
#define OURS "[{\"name\":\"etjob-config\",\"configMap\":{\"name\":\"et-config\"}}]"
#define MOUNT_OP(path, value) "[{\"op\":\"add\",\"path\":\"" L path "\",\"value\":" value "}]"
#define MOUNT "{\"name\":\"etjob-config\",\"mountPath\":\"/etc/edl\",\"readOnly\":true}"
#define VOLUME \
	"{\"name\":\"etjob-config\",\"configMap\":{\"name\":\"et-config\",\"defaultMode\":493}}"
	static const struct {
		const char *volumes, *mounts, *patch, *warning;
	} cases[] = {
		/* our volume without its mount gets the mount */
		{ OURS, NULL, MOUNT_OP("/containers/0/volumeMounts", "[" MOUNT "]"), "" },
		{ OURS, "[{\"name\":\"a\",\"mountPath\":\"/a\"}]",
		  MOUNT_OP("/containers/0/volumeMounts/-", MOUNT), "" },
		/* our mount without its volume gets the volume */
		{ NULL, "[{\"name\":\"etjob-config\",\"mountPath\":\"/etc/edl/\"}]",
		  MOUNT_OP("/volumes", "[" VOLUME "]"), "" },
		{ "[{\"name\":\"a\"}]", "[{\"name\":\"etjob-config\",\"mountPath\":\"/etc/edl\"}]",
		  MOUNT_OP("/volumes/-", VOLUME), "" },
		/* both are there */
		{ OURS, "[{\"name\":\"etjob-config\",\"mountPath\":\"/etc/edl\"}]", "", "" },
		/* the user's */
		{ "[{\"name\":\"a\"}]", "[{\"name\":\"a\",\"mountPath\":\"/etc/edl/\"}]", "",
		  "spec.etReplicaSpecs.launcher.template.spec.containers[0].volumeMounts: /etc/edl "
		  "has a volume of your own: the host list is not mounted, move the volume to get "
		  "it\n" },
		{ "[{\"name\":\"etjob-config\",\"configMap\":{\"name\":\"other\"}}]", NULL, "",
		  "spec.etReplicaSpecs.launcher.template.spec.volumes: etjob-config has a source of "
		  "your own: the host list is not mounted, rename the volume to get it at "
		  "/etc/edl\n" },
		{ "[{\"name\":\"etjob-config\",\"emptyDir\":{}}]", NULL, "",
		  "spec.etReplicaSpecs.launcher.template.spec.volumes: etjob-config has a source of "
		  "your own: the host list is not mounted, rename the volume to get it at "
		  "/etc/edl\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_good();
		AUTO(buf) struct buf text = BUF_INIT(1u << 20), warned = BUF_INIT(4096);

		/* The variables are there already, so only the mount shows. */
		jobs_set(&job, L "/containers/0/env", ENV4("2", "1", "1", "4"));
		jobs_set(&job, W "/containers/0/env", ENV4("2", "1", "1", "4"));
		if (cases[i].volumes)
			jobs_set(&job, L "/volumes", cases[i].volumes);
		if (cases[i].mounts)
			jobs_set(&job, L "/containers/0/volumeMounts", cases[i].mounts);
		patch_text(job, NULL, &with_mount, &text, &warned);
		assert_string_equal(buf_text(&text), cases[i].patch);
		assert_string_equal(buf_text(&warned), cases[i].warning);
		assert_true(warned.len <= 256);
	}
}

static void without_a_name_there_is_no_volume(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);

	jobs_set(&job, "/metadata", "{\"generateName\":\"et-\"}");
	patch_text(job, NULL, &with_mount, &text, NULL);
	assert_null(strstr(buf_text(&text), "etjob-config"));
	assert_non_null(strstr(buf_text(&text), "minWorkers"));
}

/* Removes from v what inject may have put there, and compares with what was before. */
static void assert_only_added(const cJSON *before, const cJSON *after)
{
	const cJSON *item;

	if (cJSON_IsArray(before)) {
		size_t i = 0;

		json_each (item, before) {
			assert_only_added(item, json_index(after, i++));
		}
	} else if (cJSON_IsObject(before)) {
		json_each (item, before) {
			if (!cJSON_IsNull(item))
				assert_only_added(item, json_get(after, item->string));
		}
	} else {
		assert_true(json_equal(before, after));
	}
}

static void random_jobs_keep_the_promises(void **state)
{
	uint64_t seed = 42;

	for (int i = 0; i < 2000; i++) {
		AUTO_JSON cJSON *job = jobs_random_valid(&seed);
		AUTO(faults) struct faults faults = FAULTS_INIT;
		AUTO(patch) struct patch patch = PATCH_INIT, second = PATCH_INIT;
		struct err err = ERR_INIT;
		AUTO_JSON cJSON *patched = json_copy(job, &err);
		AUTO_JSON cJSON *applied = json_copy(job, &err);
		AUTO_JSON cJSON *s1 = NULL, *s2 = NULL;

		unit_assert_ok(validate_job(job, &faults, &err), &err);
		if (faults.n)
			fail_msg("seed 42, job %d: %s: %s", i, faults.v[0].field,
				 faults.v[0].message);
		unit_assert_ok(inject_patch(job, NULL, &with_mount, &patch, NULL, &err), &err);
		if (patch.ops)
			unit_assert_ok(patch_apply(patch.ops, &patched, &err), &err);
		unit_assert_ok(inject_apply(&applied, NULL, &with_mount, &err), &err);
		assert_true(json_equal(patched, applied));
		unit_assert_ok(inject_patch(applied, NULL, &with_mount, &second, NULL, &err), &err);
		assert_int_equal(patch_len(&second), 0);
		assert_only_added(job, applied);
		unit_assert_ok(inject_strip(job, &s1, &err), &err);
		unit_assert_ok(inject_strip(applied, &s2, &err), &err);
		assert_true(json_equal(s1, s2));
	}
}

static void a_failed_allocation_leaves_the_job_as_it_was(void **state)
{
	AUTO_JSON cJSON *whole = jobs_good();
	struct err none = ERR_INIT;

	unit_assert_ok(inject_apply(&whole, NULL, &with_mount, &none), &none);
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO_JSON cJSON *job = jobs_good();
		AUTO_JSON cJSON *before = jobs_good();
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = inject_apply(&job, NULL, &with_mount, &err);
		fired = fault_disarm();
		/* Some allocations have a slower way round. */
		assert_true(rc == 0 || fired);
		assert_int_equal(err.fail, rc == 0 ? FAIL_NONE : FAIL_NOMEM);
		assert_true(json_equal(job, rc == 0 ? whole : before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_plain_job_gets_all),
		UNIT_CASE(without_bounds_the_defaults_are_given),
		UNIT_CASE(only_what_is_absent_is_added),
		UNIT_CASE(values_that_were_ours_follow),
		UNIT_CASE(what_scale_left_behind_stays_until_replicas_are_applied),
		UNIT_CASE(some_jobs_are_left_alone),
		UNIT_CASE(broken_containers_are_passed_over),
		UNIT_CASE(mounts_of_the_user_stay),
		UNIT_CASE(without_a_name_there_is_no_volume),
		UNIT_CASE(random_jobs_keep_the_promises),
		UNIT_CASE(a_failed_allocation_leaves_the_job_as_it_was),
	};

	UNIT_MAIN(tests);
}
