/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as a TrainingJob, or {"old", "now", "scaler"}: it is judged without a crash, what is
 * injected applies and is not injected twice, and pods come out whole or not at all.
 */
#include "base/limits.h"
#include "etjob/inject.h"
#include "etjob/podspec.h"
#include "etjob/validate.h"
#include "fuzz.h"

static void check_faults(const struct faults *f)
{
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
	AUTO(buf) struct buf quoted = BUF_INIT(LIMIT_MESSAGE * 8);
	AUTO_JSON cJSON *text = NULL;
	struct err err = ERR_INIT;

	for (size_t i = 0; i < f->n; i++) {
		FUZZ_CHECK(f->v[i].field[0] && f->v[i].message[0] && f->v[i].rule[0]);
		FUZZ_CHECK(f->v[i].pointer[0] == '/');
		FUZZ_CHECK(f->v[i].code == 422 || f->v[i].code == 409);
	}
	for (size_t i = 0; i < f->warnings.n; i++)
		FUZZ_CHECK(strlen(f->warnings.v[i]) <= 256);
	faults_message(f, &message);
	FUZZ_CHECK(buf_check(&message, &err) == 0);
	for (size_t i = 0; i < message.len; i++)
		FUZZ_CHECK((unsigned char)message.data[i] >= 0x20);
	/* Still UTF-8, and so JSON when quoted. */
	buf_json(&quoted, buf_text(&message), message.len);
	FUZZ_CHECK(json_parse(buf_text(&quoted), quoted.len, &text, &err) == 0);
}

static void judge(const cJSON *old, const cJSON *now, const cJSON *scaler)
{
	AUTO(faults) struct faults create = FAULTS_INIT, update = FAULTS_INIT;
	AUTO(faults) struct faults scale = FAULTS_INIT, unknown = FAULTS_INIT;
	struct err err = ERR_INIT;
	struct scaler_world world = { 0 };
	struct scaler pending;
	struct job job;

	scaler_view(scaler, &pending);
	job_view(old, &job);
	world.job = &job;
	world.pending = (struct scaler_set){ .v = &pending, .n = 1 };
	FUZZ_CHECK(validate_job(now, &create, &err) == 0);
	FUZZ_CHECK(validate_job_update(old, now, world.pending, &update, &err) == 0);
	FUZZ_CHECK(validate_scaler(scaler, &world, &scale, &err) == 0);
	FUZZ_CHECK(validate_unknown(now, &unknown, &err) == 0);
	FUZZ_CHECK(validate_unknown(scaler, &unknown, &err) == 0);
	check_faults(&create);
	check_faults(&update);
	check_faults(&scale);
	check_faults(&unknown);
}

static void inject(const cJSON *old, const cJSON *now)
{
	static const struct inject_opts opts = { .mount = true };
	AUTO(patch) struct patch again = PATCH_INIT;
	AUTO(strs) struct strs warnings = STRS_INIT;
	AUTO_JSON cJSON *after = NULL, *before_spec = NULL, *after_spec = NULL;
	struct err err = ERR_INIT;

	after = json_copy(now, &err);
	FUZZ_CHECK(after);
	FUZZ_CHECK(inject_apply(&after, old, &opts, &err) == 0);
	FUZZ_CHECK(inject_patch(after, old, &opts, &again, &warnings, &err) == 0);
	FUZZ_CHECK(patch_len(&again) == 0);
	FUZZ_CHECK(inject_strip_spec(now, &before_spec, &err) == 0);
	FUZZ_CHECK(inject_strip_spec(after, &after_spec, &err) == 0);
	FUZZ_CHECK(json_equal(before_spec, after_spec));
}

static void pods(const cJSON *now)
{
	AUTO_JSON cJSON *worker = NULL, *launcher = NULL, *group = NULL;
	struct err err = ERR_INIT;
	struct job job;

	job_view(now, &job);
	if (podspec_worker(&job, 3, &worker, &err) < 0)
		FUZZ_CHECK(!worker && err.fail == FAIL_INPUT);
	err = ERR_INIT;
	if (podspec_launcher(&job, 1, "r", &launcher, &err) < 0)
		FUZZ_CHECK(!launcher && err.fail == FAIL_INPUT);
	FUZZ_CHECK(podspec_pod_group(&job, &group, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_JSON cJSON *input = NULL;
	struct err err = ERR_INIT;
	const cJSON *now;

	if (json_parse((const char *)data, n, &input, &err) < 0)
		return 0;
	now = json_get(input, "now");
	judge(json_get(input, "old"), now ? now : input, json_get(input, "scaler"));
	inject(json_get(input, "old"), now ? now : input);
	pods(now ? now : input);
	return 0;
}
