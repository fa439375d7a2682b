/* SPDX-License-Identifier: Apache-2.0 */
/* What an update of a TrainingJob may not do, and what a scaler may not ask for. */
#include "base/limits.h"
#include "etjob/inject.h"
#include "etjob/validate.h"
#include "fault.h"
#include "jobs.h"
#include "unit.h"

#define SPEC "spec.etReplicaSpecs."
#define SUSPEND "suspend the job first, or make a new one"

static void assert_message(const struct faults *faults, const char *want, int code)
{
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);

	faults_message(faults, &message);
	assert_string_equal(buf_text(&message), want);
	assert_int_equal(faults_code(faults), *want ? code : 0);
}

static void assert_update(const cJSON *old, const cJSON *now, struct scaler_set pending,
			  const char *want, int code)
{
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(validate_job_update(old, now, pending, &faults, &err), &err);
	assert_message(&faults, want, code);
}

static void updates_of_a_running_job(void **state)
{
	static const struct {
		const char *pointer, *value, *said;
	} cases[] = {
		{ "/metadata/labels", "{\"a\":\"b\"}", "" },
		{ "/metadata/finalizers", "[]", "" },
		{ "/status/phase", "\"Scaling\"", "" },
		{ "/spec/suspend", "true", "" },
		{ "/spec/ttlSecondsAfterFinished", "9", "" },
		{ "/spec/backoffLimit", "9", "" },
		{ "/spec/backoffLimit", "-9",
		  "spec.backoffLimit: -9 is less than 0: give at least 0" },
		{ WORKER "/replicas", "4", "" },
		{ WORKER "/replicas", "5",
		  SPEC
		  "worker.maxReplicas: 4 is less than replicas (5): raise it or start with fewer "
		  "workers" },
		{ WORKER "/maxReplicas", "2", "" },
		{ WORKER "/maxReplicas", NULL, "" },
		{ W "/containers/0/image", "\"horovod:2\"",
		  SPEC
		  "worker.template.spec.containers[0].image: can not change from \"horovod:1\" to "
		  "\"horovod:2\" while the job has pods: " SUSPEND },
		{ L "/containers/0/command", "[\"sh\",\"-c\",\"x\"]",
		  SPEC "launcher.template.spec.containers[0].command[2]: can not change from "
		       "\"horovodrun -np $((${workers}*${gpus})) --host-discovery-script "
		       "/...\" to \"x\" while the job has pods: " SUSPEND },
		{ W "/nodeName", "\"n\"",
		  SPEC
		  "worker.template.spec.nodeName: can not change from nothing to \"n\" while the "
		  "job has pods: " SUSPEND },
		{ W "/containers/0/env", "[{\"name\":\"A\"}]",
		  SPEC
		  "worker.template.spec.containers[0].env: can not change from nothing to a list "
		  "while the job has pods: " SUSPEND },
		{ "/spec/slotsPerWorker", "2",
		  "spec.slotsPerWorker: can not change from 1 to 2: make a new job for another number "
		  "of processes" },
		{ "/spec/slotsPerWorker", "1", "" }, /* what it is already */
		{ "/spec/launcherAttachMode", "\"ssh\"", "" },
		{ "/spec/launcherAttachMode", "\"kubexec\"",
		  "spec.launcherAttachMode: can not change from ssh to kubexec: make a new job for "
		  "another mode" },
		/* what inject adds or an apply takes away is no change of a template */
		{ W "/containers/0/env", "[{\"name\":\"workers\",\"value\":\"77\"}]", "" },
		{ W "/containers/0/env", "[{\"name\":\"workers\",\"value\":\"x\"}]",
		  SPEC
		  "worker.template.spec.containers[0].env: can not change from nothing to a list "
		  "while the job has pods: " SUSPEND "; " SPEC
		  "worker.template.spec.containers[0].env[0].value: \"x\" is no whole number: give "
		  "one, or leave workers out to have it set" },
		{ W "/tolerations", "null", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *old = jobs_running();
		AUTO_JSON cJSON *now = jobs_running();

		jobs_set(&now, cases[i].pointer, cases[i].value);
		assert_update(old, now, (struct scaler_set){ 0 }, cases[i].said, 422);
	}
}

static void an_apply_that_drops_what_was_injected_is_none(void **state)
{
	static const struct inject_opts opts = { .mount = true };
	AUTO_JSON cJSON *old = jobs_running();
	AUTO_JSON cJSON *now = jobs_running();
	struct err err = ERR_INIT;

	unit_assert_ok(inject_apply(&old, NULL, &opts, &err), &err);
	assert_update(old, now, (struct scaler_set){ 0 }, "", 422);
	assert_update(now, old, (struct scaler_set){ 0 }, "", 422);
	/* Gone stale through /scale, and then applied again. */
	jobs_set(&old, WORKER "/replicas", "3");
	assert_update(old, now, (struct scaler_set){ 0 }, "", 422);
}

static void a_long_key_is_cut_in_the_path(void **state)
{
	AUTO_JSON cJSON *old = jobs_running();
	AUTO_JSON cJSON *now = jobs_running();
	AUTO(buf) struct buf meta = BUF_INIT(1u << 20);
	AUTO(faults) struct faults faults = FAULTS_INIT;
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
	struct err err = ERR_INIT;

	buf_str(&meta, "{\"annotations\":{\"");
	for (int i = 0; i < 50000; i++)
		buf_str(&meta, "\xc3\xa9");
	buf_str(&meta, "\":\"x\"}}");
	jobs_set(&now, WORKER "/template/metadata", "{\"annotations\":{}}");
	jobs_set(&old, WORKER "/template/metadata", buf_text(&meta));
	unit_assert_ok(validate_job_update(old, now, (struct scaler_set){ 0 }, &faults, &err),
		       &err);
	faults_message(&faults, &message);
	unit_assert_ok(buf_check(&message, &err), &err);
	assert_int_equal(faults.n, 1);
	assert_true(message.len > 100 && message.len < 500);
	assert_non_null(strstr(buf_text(&message), "...: can not change from \"x\" to nothing"));
	assert_string_equal(faults.v[0].pointer, WORKER "/template/metadata/annotations");
}

static void templates_change_while_there_are_no_pods(void **state)
{
	static const struct {
		const char *suspend, *status;
		bool allowed;
	} cases[] = {
		{ "true", "{\"phase\":\"Suspended\"}", true },
		{ "true", "{}", true },
		{ "true",
		  "{\"phase\":\"Suspended\",\"replicaStatuses\":{\"Launcher\":{\"active\":0},"
		  "\"Worker\":{\"active\":0}}}",
		  true },
		{ "true",
		  "{\"phase\":\"Suspended\",\"replicaStatuses\":{\"Worker\":{\"active\":1}}}",
		  false },
		{ "true", "{\"phase\":\"Suspended\",\"currentWorkers\":[\"et-worker-0\"]}", false },
		{ "true", "{\"phase\":\"Running\"}", false },
		{ "false", "{\"phase\":\"Suspended\"}", false },
		{ "false", "{}", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *old = jobs_good();
		AUTO_JSON cJSON *now = NULL;
		struct err err = ERR_INIT;

		jobs_set(&old, "/spec/suspend", cases[i].suspend);
		jobs_set(&old, "/status", cases[i].status);
		now = json_copy(old, &err);
		jobs_set(&now, W "/containers/0/image", "\"horovod:2\"");
		assert_update(old, now, (struct scaler_set){ 0 },
			      cases[i].allowed ? ""
					       : SPEC
				      "worker.template.spec.containers[0].image: can not change "
				      "from \"horovod:1\" to \"horovod:2\" while the job has "
				      "pods: " SUSPEND,
			      422);
	}
}

static void an_old_broken_job_keeps_its_metadata_free(void **state)
{
	AUTO_JSON cJSON *old = jobs_running();
	AUTO_JSON cJSON *now = NULL;
	struct err err = ERR_INIT;

	jobs_set(&old, "/metadata/name", "\"old.name\"");
	jobs_set(&old, WORKER "/minReplicas", "3");
	now = json_copy(old, &err);
	jobs_set(&now, "/metadata/labels", "{\"a\":\"b\"}");
	assert_update(old, now, (struct scaler_set){ 0 }, "", 422);
	/* A change of spec that leaves it broken is refused, but not for the name. */
	jobs_set(&now, "/spec/backoffLimit", "1");
	assert_update(old, now, (struct scaler_set){ 0 },
		      SPEC
		      "worker.minReplicas: 3 is more than replicas (2): lower it or start with "
		      "more workers",
		      422);
	jobs_set(&now, WORKER "/minReplicas", "1");
	assert_update(old, now, (struct scaler_set){ 0 }, "", 422);
}

static void a_finished_job_stays_as_it_is(void **state)
{
	static const struct {
		const char *pointer, *value, *said;
		int code;
	} cases[] = {
		{ "/metadata/labels", "{\"a\":\"b\"}", "", 0 },
		{ "/spec/ttlSecondsAfterFinished", "9", "", 0 },
		{ "/spec/suspend", "true", "", 0 },
		{ WORKER "/replicas", "3",
		  SPEC "worker.replicas: can not change from 2 to 3 as the job has finished "
		       "(Succeeded): make a new job",
		  409 },
		{ "/spec/backoffLimit", "3",
		  "spec.backoffLimit: can not change from nothing to 3 as the job has finished "
		  "(Succeeded): make a new job",
		  409 },
		{ "/spec/ttlSecondsAfterFinished", "-1",
		  "spec.ttlSecondsAfterFinished: -1 is less than 0: give at least 0", 422 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *old = jobs_running();
		AUTO_JSON cJSON *now = NULL;
		struct err err = ERR_INIT;

		jobs_set(&old, "/status/phase", "\"Succeeded\"");
		now = json_copy(old, &err);
		jobs_set(&now, cases[i].pointer, cases[i].value);
		assert_update(old, now, (struct scaler_set){ 0 }, cases[i].said, cases[i].code);
	}
}

static void bounds_are_judged_by_the_target(void **state)
{
	struct scaler out2 = { .out = true, .count = 2, .uid = "", .name = "o" };
	struct scaler in1 = { .out = false, .count = 1, .uid = "", .name = "i" };
	struct scaler busy = { .out = true, .count = 2, .phase = SCALER_SCALING, .uid = "" };
	AUTO_JSON cJSON *old = jobs_running();
	AUTO_JSON cJSON *now = NULL;
	struct err err = ERR_INIT;

	jobs_set(&old, "/status/targetWorkers", "[\"a\",\"b\",\"c\"]");
	now = json_copy(old, &err);
	jobs_set(&now, WORKER "/maxReplicas", "2");
	assert_update(old, now, (struct scaler_set){ 0 },
		      SPEC
		      "worker.maxReplicas: 2 is less than the 3 workers of the job now: scale in "
		      "first",
		      422);
	jobs_set(&now, WORKER "/maxReplicas", "3");
	assert_update(old, now, (struct scaler_set){ 0 }, "", 422);

	/* A change of replicas counts scalers that have not begun. */
	jobs_set(&now, WORKER "/maxReplicas", "4");
	jobs_set(&now, WORKER "/replicas", "3");
	assert_update(old, now, (struct scaler_set){ .v = &out2, .n = 1 },
		      SPEC
		      "worker.replicas: 3 and the 2 that unfinished scalers add make 5, more than "
		      "maxReplicas (4): wait for them, or ask for less",
		      422);
	assert_update(old, now, (struct scaler_set){ .v = &busy, .n = 1 }, "", 422);
	struct scaler both[] = { out2, in1 };
	assert_update(old, now, (struct scaler_set){ .v = both, .n = 2 }, "", 422);
	jobs_set(&now, WORKER "/replicas", "1");
	assert_update(old, now, (struct scaler_set){ .v = &in1, .n = 1 },
		      SPEC
		      "worker.replicas: 1 less the 1 that unfinished scalers remove make 0, less "
		      "than minReplicas (1): wait for them, or ask for more",
		      422);
}

static void no_memory_is_no_pass(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO_JSON cJSON *old = jobs_running();
		AUTO_JSON cJSON *now = jobs_running();
		AUTO(faults) struct faults faults = FAULTS_INIT;
		struct err err = ERR_INIT;
		int rc;

		jobs_set(&now, W "/containers/0/image", "\"other\"");
		fault_arm(FAULT_ALLOC, n);
		rc = validate_job_update(old, now, (struct scaler_set){ 0 }, &faults, &err);
		fired = fault_disarm();
		assert_true(rc == 0 || fired);
		assert_int_equal(err.fail, rc == 0 ? FAIL_NONE : FAIL_NOMEM);
		if (rc == 0)
			assert_int_equal(faults.n, 1);
	}
}

/* --- scalers --------------------------------------------------------------- */

static cJSON *scaler(const char *kind, const char *spec)
{
	cJSON *obj = unit_json("{\"metadata\":{\"name\":\"s\",\"namespace\":\"ml\"}}");
	struct err err = ERR_INIT;

	unit_assert_ok(json_set_str(obj, "kind", kind, &err), &err);
	if (spec)
		unit_assert_ok(json_set(obj, "spec", unit_json(spec), &err), &err);
	return obj;
}

#define SEL "\"selector\":{\"name\":\"et\"}"

static void scalers_alone(void **state)
{
	static const struct {
		const char *kind, *spec, *said;
	} cases[] = {
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1}}", "" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"count\":1}}", "" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[\"a\"]}}", "" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[\"a\"],\"count\":null}}", "" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[],\"count\":1}}", "" },
		{ "ScaleOut", NULL, "spec: is missing: give selector and toAdd" },
		{ "ScaleIn", "7", "spec: is no object: give selector and toDelete" },
		{ "ScaleOut", "{\"toAdd\":{\"count\":1}}",
		  "spec.selector.name: is missing: give the name of the job to scale" },
		{ "ScaleOut", "{\"selector\":{\"name\":\"\"},\"toAdd\":{\"count\":1}}",
		  "spec.selector.name: is empty: give the name of the job to scale" },
		{ "ScaleOut", "{\"selector\":{\"name\":7},\"toAdd\":{\"count\":1}}",
		  "spec.selector.name: 7 is no text: put it in quotes" },
		{ "ScaleOut", "{" SEL "}", "spec.toAdd: is missing: give a count" },
		{ "ScaleIn", "{" SEL "}", "spec.toDelete: is missing: give a count or podNames" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":3}", "spec.toAdd: is no object: give a count" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{}}",
		  "spec.toAdd.count: is missing: give the number of workers to add" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":0}}",
		  "spec.toAdd.count: 0 is less than 1: give at least 1" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":-1}}",
		  "spec.toAdd.count: -1 is less than 1: give at least 1" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1.0}}",
		  "spec.toAdd.count: 1.0 is not written as a whole number: write 1" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":2147483648}}",
		  "spec.toAdd.count: 2147483648 is more than 2147483647: give at most 2147483647" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{}}",
		  "spec.toDelete: has neither count nor podNames: give one of them" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[]}}",
		  "spec.toDelete: has neither count nor podNames: give one of them" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"count\":1,\"podNames\":[\"a\"]}}",
		  "spec.toDelete: has both count and podNames: give one of them" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[\"a\",\"b\",\"a\"]}}",
		  "spec.toDelete.podNames[2]: \"a\" is in the list twice: name it once" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":[null]}}",
		  "spec.toDelete.podNames[0]: null is no name of a pod: give one" },
		{ "ScaleIn", "{" SEL ",\"toDelete\":{\"podNames\":\"a\"}}",
		  "spec.toDelete.podNames: \"a\" is no list: give a list of pods" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1},\"toDelete\":{\"count\":1}}",
		  "spec.toDelete: does not belong in a ScaleOut: use toAdd, or a ScaleIn" },
		{ "ScaleIn", "{" SEL ",\"toAdd\":{\"count\":1},\"toDelete\":{\"count\":1}}",
		  "spec.toAdd: does not belong in a ScaleIn: use toDelete, or a ScaleOut" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1},\"timeout\":0}",
		  "spec.timeout: 0 is less than 1: give at least 1" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1},\"timeout\":1}", "" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1},\"backoffLimit\":-1}",
		  "spec.backoffLimit: -1 is less than 0: give at least 0" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":1},\"script\":[]}",
		  "spec.script: a list is no text: put it in quotes" },
		{ "ScaleOut", "{" SEL ",\"toAdd\":{\"count\":0},\"timeout\":-1}",
		  "spec.toAdd.count: 0 is less than 1: give at least 1; spec.timeout: -1 is less than "
		  "1: give at least 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *obj = scaler(cases[i].kind, cases[i].spec);
		AUTO(faults) struct faults faults = FAULTS_INIT;
		const struct scaler_world nothing = { 0 };
		struct err err = ERR_INIT;

		unit_assert_ok(validate_scaler(obj, &nothing, &faults, &err), &err);
		assert_message(&faults, cases[i].said, 422);
	}
}

static void assert_scaler(const cJSON *job, struct scaler_set pending, const char *kind,
			  const char *amount, const char *want, int code)
{
	AUTO(buf) struct buf spec = BUF_INIT(1024);
	AUTO_JSON cJSON *obj = NULL;
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct scaler_world world = { .pending = pending };
	struct err err = ERR_INIT;
	struct job j;

	buf_printf(&spec, "{" SEL ",%s}", amount);
	obj = scaler(kind, buf_text(&spec));
	job_view(job, &j);
	world.job = job ? &j : NULL;
	world.job_missing = !job;
	unit_assert_ok(validate_scaler(obj, &world, &faults, &err), &err);
	assert_message(&faults, want, code);
}

static void scalers_and_the_state_of_the_job(void **state)
{
	static const struct {
		const char *pointer, *value, *said;
		int code;
	} cases[] = {
		{ "/metadata/deletionTimestamp", "\"2026-01-01T00:00:00Z\"",
		  "spec.selector.name: job \"et\" is being deleted: it can not be scaled any more",
		  422 },
		{ "/status/phase", "\"Failed\"",
		  "spec.selector.name: job \"et\" has finished (Failed): it can not be scaled any more",
		  409 },
		{ "/spec/suspend", "true",
		  "spec.selector.name: job \"et\" is suspended: resume it first, or change its "
		  "replicas",
		  422 },
		{ "/status/phase", "\"Scaling\"", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_running();

		jobs_set(&job, cases[i].pointer, cases[i].value);
		assert_scaler(job, (struct scaler_set){ 0 }, "ScaleOut", "\"toAdd\":{\"count\":1}",
			      cases[i].said, cases[i].code);
	}
	assert_scaler(
		NULL, (struct scaler_set){ 0 }, "ScaleOut", "\"toAdd\":{\"count\":1}",
		"spec.selector.name: there is no TrainingJob \"et\" in namespace \"ml\": name "
		"one of this namespace",
		422);
}

static void scalers_and_the_bounds_of_the_job(void **state)
{
	AUTO_JSON cJSON *job = jobs_running(); /* 2 now, 1 to 4 */
	struct scaler_set none = { 0 };
	struct scaler out1 = { .out = true, .count = 1, .uid = "", .name = "o" };
	struct scaler in1 = { .out = false, .count = 1, .uid = "", .name = "i" };
	struct scaler huge[] = { { .out = true, .count = INT32_MAX, .uid = "", .name = "h" },
				 { .out = true, .count = INT32_MAX, .uid = "", .name = "g" } };

	assert_scaler(job, none, "ScaleOut", "\"toAdd\":{\"count\":2}", "", 422);
	assert_scaler(
		job, none, "ScaleOut", "\"toAdd\":{\"count\":3}",
		"spec.toAdd.count: 3 more would make 5 workers, more than maxReplicas (4; now "
		"2): add at most 2",
		422);
	assert_scaler(job, none, "ScaleIn", "\"toDelete\":{\"count\":1}", "", 422);
	assert_scaler(job, none, "ScaleIn", "\"toDelete\":{\"count\":2}",
		      "spec.toDelete.count: 2 less would make 0 workers, less than minReplicas (1; "
		      "now 2): remove at most 1",
		      422);
	assert_scaler(
		job, none, "ScaleIn",
		"\"toDelete\":{\"podNames\":[\"et-worker-0\",\"et-worker-1\"]}",
		"spec.toDelete.podNames: 2 less would make 0 workers, less than minReplicas (1; "
		"now 2): remove at most 1",
		422);
	/* Those that wait count, in sum. */
	assert_scaler(
		job, (struct scaler_set){ .v = &out1, .n = 1 }, "ScaleOut",
		"\"toAdd\":{\"count\":2}",
		"spec.toAdd.count: 2 more would make 5 workers, more than maxReplicas (4; now "
		"2, 3 when unfinished scalers are done): add at most 1",
		422);
	assert_scaler(job, (struct scaler_set){ .v = &in1, .n = 1 }, "ScaleIn",
		      "\"toDelete\":{\"count\":1}",
		      "spec.toDelete.count: 1 less would make 0 workers, less than minReplicas (1; "
		      "now 2, 1 when unfinished scalers are done): remove at most 0",
		      422);
	assert_scaler(job, (struct scaler_set){ .v = &in1, .n = 1 }, "ScaleOut",
		      "\"toAdd\":{\"count\":3}", "", 422);
	/* Without maxReplicas there is a bound all the same, and sums do not overflow. */
	jobs_set(&job, WORKER "/maxReplicas", NULL);
	assert_scaler(
		job, (struct scaler_set){ .v = huge, .n = 2 }, "ScaleOut",
		"\"toAdd\":{\"count\":2147483647}",
		"spec.toAdd.count: 2147483647 more would make 6442450943 workers, more than "
		"maxReplicas (2147483647; now 2, 4294967296 when unfinished scalers are done): "
		"add at most 0",
		422);
	/* One that is being done is in the target already. */
	out1.phase = SCALER_SCALING;
	jobs_set(&job, WORKER "/maxReplicas", "4");
	assert_scaler(job, (struct scaler_set){ .v = &out1, .n = 1 }, "ScaleOut",
		      "\"toAdd\":{\"count\":2}", "", 422);
}

static void workers_that_are_named(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *leaving = unit_json("[\"et-worker-1\"]");
	struct scaler in1 = { .out = false, .count = -1, .uid = "", .name = "i" };
	struct scaler_set none = { 0 };

	in1.pod_names = leaving;
	assert_scaler(job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-1\"]}", "",
		      422);
	assert_scaler(
		job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-7\"]}",
		"spec.toDelete.podNames[0]: \"et-worker-7\" is no worker of job \"et\": see its "
		"status for the names",
		422);
	assert_scaler(
		job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-launcher\"]}",
		"spec.toDelete.podNames[0]: \"et-launcher\" is no worker of job \"et\": see its "
		"status for the names",
		422);
	/* A target that is not Ready yet may be named. */
	jobs_set(&job, "/status/currentWorkers", "[]");
	assert_scaler(job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-1\"]}", "",
		      422);
	jobs_set(&job, WORKER "/maxReplicas", "9");
	jobs_set(&job, "/status/targetWorkers",
		 "[\"et-worker-0\",\"et-worker-1\",\"et-worker-2\"]");
	assert_scaler(
		job, (struct scaler_set){ .v = &in1, .n = 1 }, "ScaleIn",
		"\"toDelete\":{\"podNames\":[\"et-worker-1\"]}",
		"spec.toDelete.podNames[0]: \"et-worker-1\" is being removed by ScaleIn \"i\": "
		"leave it out",
		422);
	/* Without a status, the names that the first workers get. */
	jobs_set(&job, "/status", NULL);
	assert_scaler(job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-1\"]}", "",
		      422);
	assert_scaler(
		job, none, "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-2\"]}",
		"spec.toDelete.podNames[0]: \"et-worker-2\" is no worker of job \"et\": see its "
		"status for the names",
		422);
}

static void a_scaler_is_not_changed(void **state)
{
	AUTO_JSON cJSON *old = scaler("ScaleIn", "{" SEL ",\"toDelete\":{\"count\":1}}");
	AUTO_JSON cJSON *now = scaler("ScaleIn", "{\"toDelete\":{\"count\":1}," SEL "}");
	AUTO_JSON cJSON *other = scaler("ScaleIn", "{" SEL ",\"toDelete\":{\"count\":2}}");
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;

	jobs_set(&now, "/metadata/labels", "{\"a\":\"b\"}");
	unit_assert_ok(validate_scaler_update(old, now, &faults, &err), &err);
	assert_int_equal(faults.n, 0);
	unit_assert_ok(validate_scaler_update(old, other, &faults, &err), &err);
	assert_message(&faults, "spec: can not be changed: make another ScaleIn", 422);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(updates_of_a_running_job),
		UNIT_CASE(an_apply_that_drops_what_was_injected_is_none),
		UNIT_CASE(a_long_key_is_cut_in_the_path),
		UNIT_CASE(templates_change_while_there_are_no_pods),
		UNIT_CASE(an_old_broken_job_keeps_its_metadata_free),
		UNIT_CASE(a_finished_job_stays_as_it_is),
		UNIT_CASE(bounds_are_judged_by_the_target),
		UNIT_CASE(no_memory_is_no_pass),
		UNIT_CASE(scalers_alone),
		UNIT_CASE(scalers_and_the_state_of_the_job),
		UNIT_CASE(scalers_and_the_bounds_of_the_job),
		UNIT_CASE(workers_that_are_named),
		UNIT_CASE(a_scaler_is_not_changed),
	};

	UNIT_MAIN(tests);
}
