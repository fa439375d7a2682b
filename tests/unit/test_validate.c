/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules on a TrainingJob on create. A case is one change to a good job and
 * what is said about it; the words are part of the product, so they are
 * compared whole. Long because every rule has its row.
 */
#include "base/limits.h"
#include "etjob/validate.h"
#include "fault.h"
#include "jobs.h"
#include "unit.h"

#define SPEC "spec.etReplicaSpecs."
#define LAUNCHER_SPEC SPEC "launcher.template.spec."
#define WORKER_SPEC SPEC "worker.template.spec."

struct change {
	const char *pointer;
	const char *value; /* JSON; NULL removes */
	const char *said;  /* all faults; "" for none */
	const char *rule;  /* of the first */
};

static void assert_said(const cJSON *job, const struct change *c)
{
	AUTO(faults) struct faults faults = FAULTS_INIT;
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
	struct err err = ERR_INIT;

	unit_assert_ok(validate_job(job, &faults, &err), &err);
	faults_message(&faults, &message);
	assert_string_equal(buf_text(&message), c->said);
	assert_int_equal(faults_code(&faults), *c->said ? 422 : 0);
	if (c->rule)
		assert_string_equal(faults.v[0].rule, c->rule);
}

static void run(const struct change *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO_JSON cJSON *job = jobs_good();

		jobs_set(&job, cases[i].pointer, cases[i].value);
		assert_said(job, &cases[i]);
	}
}

static void a_good_job_has_no_faults_and_no_warnings(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(validate_job(job, &faults, &err), &err);
	assert_int_equal(faults.n, 0);
	assert_int_equal(faults.warnings.n, 0);
}

static void names(void **state)
{
	static const struct change cases[] = {
		{ "/metadata/name", "\"a\"", "", NULL },
		{ "/metadata/name", "\"a23456789-123456789-123456789-123456789-1234567890\"", "",
		  NULL },
		{ "/metadata/name", "\"a23456789-123456789-123456789-123456789-12345678901\"",
		  "metadata.name: \"a23456789-123456789-123456789-123456789-12345678901\" has 51 "
		  "characters: use at most 50, as pod names add \"-worker-<n>\"",
		  "name-too-long" },
		{ "/metadata/name", "\"a.b\"",
		  "metadata.name: \"a.b\" is no DNS label: use lower case letters, digits and \"-\", "
		  "with a letter first and no \"-\" at the end",
		  "name-invalid" },
		{ "/metadata/name", "\"1a\"",
		  "metadata.name: \"1a\" is no DNS label: use lower case letters, digits and \"-\", "
		  "with a letter first and no \"-\" at the end",
		  "name-invalid" },
		{ "/metadata/name", "\"a\\u001b\\n\"",
		  "metadata.name: \"a\\x1b\\x0a\" is no DNS label: use lower case letters, digits and "
		  "\"-\", with a letter first and no \"-\" at the end",
		  "name-invalid" },
		{ "/metadata/name", "null", "metadata.name: is missing: give the job a name",
		  "name-missing" },
		{ "/metadata", NULL, "metadata.name: is missing: give the job a name",
		  "name-missing" },
		{ "/metadata", "{\"generateName\":\"et-\"}", "", NULL },
		{ "/metadata",
		  "{\"generateName\":\"a23456789-123456789-123456789-123456789-1234-\"}", "",
		  NULL },
		{ "/metadata",
		  "{\"generateName\":\"a23456789-123456789-123456789-123456789-12345-\"}",
		  "metadata.generateName: \"a23456789-123456789-123456789-123456789-12345-\" has 46 "
		  "characters: use at most 45, as the server adds 5 and pod names add "
		  "\"-worker-<n>\"",
		  "name-too-long" },
		{ "/metadata", "{\"generateName\":\"ET-\"}",
		  "metadata.generateName: \"ET-\" does not begin a DNS label: use lower case letters, "
		  "digits and \"-\", with a letter first",
		  "name-invalid" },
	};

	run(cases, ARRAY_LEN(cases));
}

static void parts_that_must_be_there(void **state)
{
#define NO_POD "is missing: give a pod template with at least one container"
	static const struct change cases[] = {
		{ "/spec", NULL,
		  "spec: is missing: give etReplicaSpecs with a launcher and a worker",
		  "spec-missing" },
		{ "/spec", "[]",
		  "spec: a list is no object: give etReplicaSpecs with a launcher and a worker",
		  "wrong-type" },
		{ "/spec/etReplicaSpecs", "null",
		  "spec.etReplicaSpecs: is missing: give a launcher and a worker",
		  "replica-specs-missing" },
		{ LAUNCHER, NULL,
		  SPEC "launcher: is missing: give the pod template that runs horovodrun",
		  "launcher-missing" },
		{ WORKER, NULL, SPEC "worker: is missing: give the pod template that trains",
		  "worker-missing" },
		{ WORKER, "\"x\"",
		  SPEC "worker: \"x\" is no object: give the pod template that trains",
		  "wrong-type" },
		{ LAUNCHER "/template", NULL, SPEC "launcher.template: " NO_POD,
		  "containers-missing" },
		{ WORKER "/template", "{}", SPEC "worker.template.spec: " NO_POD,
		  "containers-missing" },
		{ WORKER "/template/spec", "7",
		  SPEC "worker.template.spec: 7 is no object: give a pod template", "wrong-type" },
		{ W "/containers", NULL,
		  WORKER_SPEC "containers: is missing: give at least one container",
		  "containers-missing" },
		{ W "/containers", "null",
		  WORKER_SPEC "containers: is missing: give at least one container",
		  "containers-missing" },
		{ W "/containers", "[]",
		  WORKER_SPEC "containers: is empty: give at least one container",
		  "containers-missing" },
		{ W "/containers", "{}",
		  WORKER_SPEC "containers: an object is no list: give a list", "wrong-type" },
		{ W "/containers", "[null]",
		  WORKER_SPEC "containers[0]: null is no object: give a container with a name",
		  "wrong-type" },
		{ L "/containers/0/name", NULL,
		  LAUNCHER_SPEC "containers[0].name: is missing: give one",
		  "container-name-missing" },
		{ L "/containers/0/name", "\"\"",
		  LAUNCHER_SPEC "containers[0].name: is empty: give one",
		  "container-name-missing" },
		{ L "/containers/0/name", "7",
		  LAUNCHER_SPEC "containers[0].name: 7 is no text: put it in quotes",
		  "wrong-type" },
		{ W "/containers/0/image", NULL,
		  WORKER_SPEC "containers[0].image: is missing: give the image to run",
		  "image-missing" },
		{ W "/containers/0/image", "\"\"",
		  WORKER_SPEC "containers[0].image: is empty: give the image to run",
		  "image-missing" },
		{ W "/containers/0/image", "1.5",
		  WORKER_SPEC "containers[0].image: 1.5 is no text: give the name of an image",
		  "wrong-type" },
		{ W "/initContainers", "[{\"name\":\"init\"}]",
		  WORKER_SPEC "initContainers[0].image: is missing: give the image to run",
		  "image-missing" },
		{ LAUNCHER "/replicas", "2",
		  SPEC
		  "launcher.replicas: 2 is not 1: a job has exactly one launcher, more processes "
		  "come from workers",
		  "launcher-replicas" },
		{ LAUNCHER "/replicas", "0",
		  SPEC
		  "launcher.replicas: 0 is not 1: a job has exactly one launcher, more processes "
		  "come from workers",
		  "launcher-replicas" },
		{ LAUNCHER "/replicas", "\"1\"",
		  SPEC
		  "launcher.replicas: \"1\" is text, not a whole number: write it without quotes",
		  "not-a-whole-number" },
		{ LAUNCHER "/replicas", "1.0",
		  SPEC "launcher.replicas: 1.0 is not written as a whole number: write 1",
		  "not-a-whole-number" },
		{ LAUNCHER "/replicas", NULL, "", NULL },
	};

	run(cases, ARRAY_LEN(cases));
}

static void names_in_templates_are_unique(void **state)
{
	static const struct change cases[] = {
		{ W "/containers/-", "{\"name\":\"et\",\"image\":\"i\"}",
		  WORKER_SPEC
		  "containers[1].name: \"et\" is the name of another container already: use "
		  "another",
		  "container-duplicate" },
		{ W "/initContainers", "[{\"name\":\"et\",\"image\":\"i\"}]",
		  WORKER_SPEC
		  "containers[0].name: \"et\" is the name of another container already: use "
		  "another",
		  "container-duplicate" },
		{ L "/volumes", "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]",
		  LAUNCHER_SPEC "volumes[2].name: \"a\" is the name of another volume already: use "
				"another",
		  "volume-duplicate" },
		{ L "/volumes", "[{}]", LAUNCHER_SPEC "volumes[0].name: is missing: give one",
		  "volume-name-missing" },
		{ W "/containers/0/ports",
		  "[{\"name\":\"p\",\"containerPort\":1},{\"containerPort\":2},{\"containerPort\":3},{"
		  "\"name\":\"p\",\"containerPort\":4}]",
		  WORKER_SPEC
		  "containers[0].ports[3].name: \"p\" is the name of another port already: "
		  "use another",
		  "port-duplicate" },
		{ W "/containers/0/env", "[{\"name\":\"A\"},{\"name\":\"A\",\"value\":\"2\"}]",
		  WORKER_SPEC "containers[0].env[1].name: \"A\" is the name of another variable "
			      "already: use another",
		  "env-duplicate" },
		{ W "/containers/0/env", "[{\"value\":\"2\"}]",
		  WORKER_SPEC "containers[0].env[0].name: is missing: give one",
		  "env-name-missing" },
		{ W "/initContainers",
		  "[{\"name\":\"i\",\"image\":\"i\",\"env\":[{\"name\":\"A\"},{\"name\":\"A\"}]}]",
		  WORKER_SPEC
		  "initContainers[0].env[1].name: \"A\" is the name of another variable "
		  "already: use another",
		  "env-duplicate" },
		{ W "/containers/0/volumeMounts",
		  "[{\"name\":\"a\",\"mountPath\":\"/a\"},{\"name\":\"b\",\"mountPath\":\"/a/\"}]",
		  WORKER_SPEC
		  "containers[0].volumeMounts[1].mountPath: \"/a/\" is the name of another "
		  "mount path already: use another",
		  "mount-duplicate" },
		{ W "/containers/0/volumeMounts", "[{\"name\":\"a\"}]",
		  WORKER_SPEC "containers[0].volumeMounts[0].mountPath: is missing: give one",
		  "mount-path-missing" },
		{ W "/containers/0/env", "{}",
		  WORKER_SPEC "containers[0].env: an object is no list: give a list",
		  "wrong-type" },
		{ W "/containers/0/env", "null", "", NULL },
		{ W "/containers/0/env", "[{\"name\":\"A\",\"value\":3}]",
		  WORKER_SPEC "containers[0].env[0].value: 3 is no text: put it in quotes",
		  "env-not-text" },
		/* the same name in two containers, or as a container and a volume, is fine */
		{ W "/containers/-",
		  "{\"name\":\"b\",\"image\":\"i\",\"ports\":[{\"name\":\"p\"}],\"env\":[{\"name\":"
		  "\"A\"}]}",
		  "", NULL },
	};

	run(cases, ARRAY_LEN(cases));
}

static void whole_numbers(void **state)
{
	static const struct change cases[] = {
		{ WORKER "/minReplicas", "1", "", NULL },
		{ WORKER "/minReplicas", "0",
		  SPEC "worker.minReplicas: 0 is less than 1: give at least 1",
		  "number-too-small" },
		{ WORKER "/minReplicas", "-1",
		  SPEC "worker.minReplicas: -1 is less than 1: give at least 1",
		  "number-too-small" },
		{ WORKER "/maxReplicas", "2147483647", "", NULL },
		{ WORKER "/maxReplicas", "2147483648",
		  SPEC
		  "worker.maxReplicas: 2147483648 is more than 2147483647: give at most 2147483647",
		  "number-too-large" },
		{ WORKER "/maxReplicas", "4294967297",
		  SPEC
		  "worker.maxReplicas: 4294967297 is more than 2147483647: give at most 2147483647",
		  "number-too-large" },
		{ WORKER "/maxReplicas", "99999999999999999999",
		  SPEC
		  "worker.maxReplicas: 99999999999999999999 is out of range: give 1 to 2147483647",
		  "number-too-large" },
		{ WORKER "/maxReplicas", "3.0",
		  SPEC "worker.maxReplicas: 3.0 is not written as a whole number: write 3",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "1e1",
		  SPEC "worker.maxReplicas: 1e1 is not written as a whole number: write 10",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "3.5",
		  SPEC "worker.maxReplicas: 3.5 is no whole number: give 1 or more",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "\"3\"",
		  SPEC
		  "worker.maxReplicas: \"3\" is text, not a whole number: write it without quotes",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "{}",
		  SPEC "worker.maxReplicas: an object is no whole number: give 1 or more",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "true",
		  SPEC "worker.maxReplicas: true is no whole number: give 1 or more",
		  "not-a-whole-number" },
		{ WORKER "/maxReplicas", "null", "", NULL },
		{ WORKER "/replicas", "\"2\"",
		  SPEC
		  "worker.replicas: \"2\" is text, not a whole number: write it without quotes",
		  "not-a-whole-number" },
		{ "/spec/slotsPerWorker", "0",
		  "spec.slotsPerWorker: 0 is less than 1: give at least 1", "number-too-small" },
		{ "/spec/slotsPerWorker", "1", "", NULL },
		{ "/spec/backoffLimit", "0", "", NULL },
		{ "/spec/backoffLimit", "-1",
		  "spec.backoffLimit: -1 is less than 0: give at least 0", "number-too-small" },
		{ "/spec/ttlSecondsAfterFinished", "0", "", NULL },
		{ "/spec/ttlSecondsAfterFinished", "-1",
		  "spec.ttlSecondsAfterFinished: -1 is less than 0: give at least 0",
		  "number-too-small" },
		{ "/spec/activeDeadlineSeconds", "0",
		  "spec.activeDeadlineSeconds: 0 is less than 1: give at least 1",
		  "number-too-small" },
		{ "/spec/activeDeadlineSeconds", "1", "", NULL },
	};

	run(cases, ARRAY_LEN(cases));
}

static void bounds(void **state)
{
	static const struct change cases[] = {
		{ WORKER "/minReplicas", "2", "", NULL },
		{ WORKER "/minReplicas", "3",
		  SPEC
		  "worker.minReplicas: 3 is more than replicas (2): lower it or start with more "
		  "workers",
		  "min-above-replicas" },
		{ WORKER "/maxReplicas", "2", "", NULL },
		{ WORKER "/maxReplicas", "1",
		  SPEC
		  "worker.maxReplicas: 1 is less than replicas (2): raise it or start with fewer "
		  "workers",
		  "max-below-replicas" },
		{ WORKER "/replicas", "5",
		  SPEC
		  "worker.maxReplicas: 4 is less than replicas (5): raise it or start with fewer "
		  "workers",
		  "max-below-replicas" },
		{ WORKER "/replicas", "4", "", NULL },
		/* replicas is 1 when not given */
		{ WORKER "/replicas", NULL, "", NULL },
		/* one that is no number is not compared */
		{ WORKER "/replicas", "0",
		  SPEC "worker.replicas: 0 is less than 1: give at least 1", "number-too-small" },
	};
	AUTO_JSON cJSON *job = jobs_good();

	run(cases, ARRAY_LEN(cases));
	jobs_set(&job, WORKER "/replicas", NULL);
	jobs_set(&job, WORKER "/minReplicas", "2");
	assert_said(job,
		    &(struct change){ .said = SPEC
				      "worker.minReplicas: 2 is more than replicas, which is 1 "
				      "when not given (1): lower it or start with more workers",
				      .rule = "min-above-replicas" });
	jobs_set(&job, WORKER "/replicas", "\"x\"");
	jobs_set(&job, WORKER "/minReplicas", "9");
	assert_said(job,
		    &(struct change){ .said = SPEC
				      "worker.replicas: \"x\" is text, not a whole number: write "
				      "it without quotes; " SPEC
				      "worker.minReplicas: 9 is more than maxReplicas (4): lower "
				      "it or raise maxReplicas" });
}

static void words(void **state)
{
	static const struct change cases[] = {
		{ "/spec/launcherAttachMode", "\"rsh\"",
		  "spec.launcherAttachMode: \"rsh\" is not allowed: use ssh or kubexec",
		  "not-one-of" },
		{ "/spec/launcherAttachMode", "\"kubexec\"", "", NULL },
		{ "/spec/launcherAttachMode", "\"\"",
		  "spec.launcherAttachMode: \"\" is not allowed: use ssh or kubexec",
		  "not-one-of" },
		{ "/spec/launcherAttachMode", "\"ssh|kubexec\"",
		  "spec.launcherAttachMode: \"ssh|kubexec\" is not allowed: use ssh or kubexec",
		  "not-one-of" },
		{ "/spec/cleanPodPolicy", "\"running\"",
		  "spec.cleanPodPolicy: \"running\" is not allowed: use Running, All or None",
		  "not-one-of" },
		{ "/spec/cleanPodPolicy", "null", "", NULL },
		{ "/spec/restartPolicy", "\"Always\"",
		  "spec.restartPolicy: \"Always\" is not allowed: use Never or OnFailure",
		  "not-one-of" },
		{ "/spec/startPolicy", "7",
		  "spec.startPolicy: 7 is not allowed: use All or Minimum", "not-one-of" },
		{ "/spec/startPolicy", "\"Minimum\"", "", NULL },
		{ WORKER "/restartPolicy", "\"Sometimes\"",
		  SPEC "worker.restartPolicy: \"Sometimes\" is not allowed: use Never, OnFailure, "
		       "Always or ExitCode",
		  "not-one-of" },
		{ LAUNCHER "/restartPolicy", "\"ExitCode\"", "", NULL },
		{ "/spec/suspend", "\"true\"",
		  "spec.suspend: \"true\" is not allowed: use true or false", "not-a-boolean" },
		{ "/spec/suspend", "true", "", NULL },
	};

	run(cases, ARRAY_LEN(cases));
}

static void counts_in_variables(void **state)
{
	static const struct change cases[] = {
		{ L "/containers/0/env", "[{\"name\":\"workers\",\"value\":\"3\"}]", "", NULL },
		{ L "/containers/0/env", "[{\"name\":\"gpus\",\"value\":\"0\"}]", "", NULL },
		{ L "/containers/0/env", "[{\"name\":\"workers\",\"valueFrom\":{\"x\":1}}]", "",
		  NULL },
		{ L "/containers/0/env", "[{\"name\":\"workers\",\"value\":\"three\"}]",
		  LAUNCHER_SPEC
		  "containers[0].env[0].value: \"three\" is no whole number: give one, or "
		  "leave workers out to have it set",
		  "env-not-a-number" },
		{ W "/containers/0/env",
		  "[{\"name\":\"A\"},{\"name\":\"maxWorkers\",\"value\":\"3.0\"}]",
		  WORKER_SPEC
		  "containers[0].env[1].value: \"3.0\" is no whole number: give one, or "
		  "leave maxWorkers out to have it set",
		  "env-not-a-number" },
		{ W "/containers/0/env", "[{\"name\":\"minWorkers\",\"value\":\" 3\"}]",
		  WORKER_SPEC "containers[0].env[0].value: \" 3\" is no whole number: give one, or "
			      "leave minWorkers out to have it set",
		  "env-not-a-number" },
		{ W "/containers/0/env", "[{\"name\":\"gpus\",\"value\":\"\"}]",
		  WORKER_SPEC
		  "containers[0].env[0].value: is empty: give a whole number, or leave gpus "
		  "out to have it set",
		  "env-not-a-number" },
		{ W "/containers/0/env", "[{\"name\":\"gpus\"}]",
		  WORKER_SPEC
		  "containers[0].env[0].value: is missing: give a whole number, or leave "
		  "gpus out to have it set",
		  "env-not-a-number" },
		{ W "/containers/0/env", "[{\"name\":\"gpus\",\"value\":3}]",
		  WORKER_SPEC "containers[0].env[0].value: 3 is no text: put it in quotes",
		  "env-not-text" },
		{ W "/containers/0/env", "[{\"name\":\"Workers\",\"value\":\"three\"}]", "", NULL },
		{ W "/initContainers",
		  "[{\"name\":\"i\",\"image\":\"i\",\"env\":[{\"name\":\"workers\",\"value\":\"x\"}]}]",
		  "", NULL },
	};

	run(cases, ARRAY_LEN(cases));
}

static void all_faults_are_said_at_once(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();

	jobs_set(&job, "/metadata/name", "\"a.b\"");
	jobs_set(&job, WORKER "/minReplicas", "3");
	jobs_set(&job, "/spec/backoffLimit", "-1");
	jobs_set(&job, W "/containers/0/image", NULL);
	assert_said(
		job,
		&(struct change){
			.said = "metadata.name: \"a.b\" is no DNS label: use lower case "
				"letters, digits and \"-\", with a letter first and no \"-\" at "
				"the end; "
				"spec.backoffLimit: -1 is less than 0: give at least 0; " SPEC
				"worker.minReplicas: 3 is more than replicas (2): lower it or "
				"start with more workers; " WORKER_SPEC
				"containers[0].image: is missing: give the image to run" });
}

static void a_fault_has_its_place_as_a_pointer(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;

	jobs_set(&job, W "/containers/0/image", NULL);
	unit_assert_ok(validate_job(job, &faults, &err), &err);
	assert_int_equal(faults.n, 1);
	assert_string_equal(faults.v[0].pointer, W "/containers/0/image");
	unit_assert_ok(faults_add(&faults, &err, 409, "name-taken", "metadata.name", "\"%s\" %s",
				  "et", "is taken"),
		       &err);
	assert_string_equal(faults.v[1].pointer, "/metadata/name");
	assert_string_equal(faults.v[1].message, "\"et\" is taken");
	assert_int_equal(faults_code(&faults), 422);
}

static void the_code_is_that_of_the_worst(void **state)
{
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;
	static const int codes[] = { 403, 409, 403, 422, 409 };
	static const int want[] = { 403, 409, 409, 422, 422 };

	assert_int_equal(faults_code(&faults), 0);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		unit_assert_ok(faults_add(&faults, &err, codes[i], "r", "spec", "m"), &err);
		assert_int_equal(faults_code(&faults), want[i]);
	}
}

static void a_message_has_an_end(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO(faults) struct faults faults = FAULTS_INIT;
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
	struct err err = ERR_INIT;

	AUTO(buf) struct buf list = BUF_INIT(1u << 20);

	buf_char(&list, '[');
	for (int i = 0; i < 5000; i++)
		buf_printf(&list, "%s{\"name\":\"et\",\"image\":\"i\"}", i ? "," : "");
	buf_char(&list, ']');
	jobs_set(&job, W "/containers", buf_text(&list));
	unit_assert_ok(validate_job(job, &faults, &err), &err);
	assert_int_equal(faults.n, 1000);
	faults_message(&faults, &message);
	unit_assert_ok(buf_check(&message, &err), &err);
	assert_true(message.len <= LIMIT_MESSAGE);
	assert_non_null(strstr(buf_text(&message), "; and "));
	assert_non_null(strstr(buf_text(&message), " more"));
}

static void long_and_odd_values_are_shown_safely(void **state)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO_JSON cJSON *text = NULL;
	AUTO(buf) struct buf value = BUF_INIT(1u << 20);
	AUTO(faults) struct faults faults = FAULTS_INIT;
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
	struct err err = ERR_INIT;

	buf_str(&value, "\"x\\u001b[31m\\u009b");
	for (int i = 0; i < 100000; i++)
		buf_str(&value, "\xc3\xa9");
	buf_char(&value, '"');
	jobs_set(&job, "/spec/startPolicy", buf_text(&value));
	unit_assert_ok(validate_job(job, &faults, &err), &err);
	faults_message(&faults, &message);
	assert_true(message.len < 400);
	assert_null(strchr(buf_text(&message), '\x1b'));
	assert_null(strstr(buf_text(&message), "\xc2\x9b"));
	/* Still whole characters. */
	AUTO(buf) struct buf quoted = BUF_INIT(4096);
	buf_json(&quoted, buf_text(&message), message.len);
	unit_assert_ok(json_parse(buf_text(&quoted), quoted.len, &text, &err), &err);
}

static void warnings(void **state)
{
#define COMMAND(text) "[\"sh\",\"-c\",\"" text "\"]"
#define AT LAUNCHER_SPEC "containers[0]: "
#define NO_SCRIPT                                                                           \
	AT "horovodrun without --host-discovery-script /etc/edl/discover_hosts.sh sees no " \
	   "change of the workers\n"
	static const struct change cases[] = {
		{ L "/containers/0/command", COMMAND("horovodrun -np 2 python t.py"), NO_SCRIPT,
		  NULL },
		{ L "/containers/0/command", "[\"horovodrun\",\"-np\",\"2\"]", NO_SCRIPT, NULL },
		{ L "/containers/0/command", COMMAND("python t.py"), "", NULL },
		{ L "/containers/0/command", "null", "", NULL },
		{ L "/containers/0/command",
		  COMMAND("horovodrun --host-discovery-script=/etc/edl/discover_hosts.sh"), "",
		  NULL },
		{ L "/containers/0/command",
		  COMMAND("horovodrun --host-discovery-script \\\"/etc/edl/discover_hosts.sh\\\""),
		  "", NULL },
		{ L "/containers/0/command",
		  COMMAND("horovodrun --host-discovery-script /usr/local/bin/discover_hosts.sh x"),
		  AT "/usr/local/bin/discover_hosts.sh is not where the host list is: use "
		     "--host-discovery-script /etc/edl/discover_hosts.sh\n",
		  NULL },
		{ L "/containers/0/command",
		  COMMAND("horovodrun --host-discovery-script ./hosts.sh x"),
		  AT
		  "horovodrun asks another script than /etc/edl/discover_hosts.sh, which has this "
		  "job's workers\n",
		  NULL },
		{ "/spec/slotsPerWorker", "2",
		  "spec.slotsPerWorker: 2 processes share the 1 GPUs of a worker\n", NULL },
		{ "/spec/slotsPerWorker", "1", "", NULL },
		{ W "/containers/0/resources", NULL,
		  AT
		  "the command multiplies by ${gpus}, which is 0 as the workers ask for none: -np "
		  "becomes 0\n",
		  NULL },
		{ WORKER "/maxReplicas", "2", "", NULL },
		{ WORKER "/minReplicas", NULL, "", NULL },
		{ WORKER "/maxReplicas", "50", "", NULL },
		{ WORKER "/maxReplicas", "51",
		  AT "51 workers may take longer to join than Gloo's 30 s: set "
		     "HOROVOD_GLOO_TIMEOUT_SECONDS\n",
		  NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_good();
		AUTO(faults) struct faults faults = FAULTS_INIT;
		AUTO(buf) struct buf text = BUF_INIT(4096);
		struct err err = ERR_INIT;

		jobs_set(&job, cases[i].pointer, cases[i].value);
		unit_assert_ok(validate_job(job, &faults, &err), &err);
		for (size_t k = 0; k < faults.warnings.n; k++) {
			buf_printf(&text, "%s\n", faults.warnings.v[k]);
			assert_true(strlen(faults.warnings.v[k]) <= 256);
		}
		assert_string_equal(buf_text(&text), cases[i].said);
	}
}

/* One more change on top of another, and whether a warning with this text comes. */
static void assert_warns(const char *p1, const char *v1, const char *p2, const char *v2,
			 const char *part, bool want)
{
	AUTO_JSON cJSON *job = jobs_good();
	AUTO(faults) struct faults faults = FAULTS_INIT;
	struct err err = ERR_INIT;
	bool seen = false;

	jobs_set(&job, p1, v1);
	jobs_set(&job, p2, v2);
	unit_assert_ok(validate_job(job, &faults, &err), &err);
	for (size_t k = 0; k < faults.warnings.n; k++)
		seen = seen || strstr(faults.warnings.v[k], part);
	assert_int_equal(seen, want);
}

static void warnings_of_two_fields(void **state)
{
	const char *env = L "/containers/0/env";
	const char *gpus = W "/containers/0/resources";
	const char *command = L "/containers/0/command";

	assert_warns(WORKER "/minReplicas", "2", WORKER "/maxReplicas", "2",
		     "is the same as minReplicas (2): the job is not elastic", true);
	assert_warns(WORKER "/minReplicas", NULL, WORKER "/maxReplicas", "2", "not elastic", true);
	assert_warns(WORKER "/minReplicas", "2", WORKER "/maxReplicas", NULL, "not elastic", false);
	assert_warns(WORKER "/replicas", "51", WORKER "/maxReplicas", NULL, "51 workers", true);
	assert_warns(WORKER "/maxReplicas", "90", env,
		     "[{\"name\":\"HOROVOD_GLOO_TIMEOUT_SECONDS\",\"value\":\"60\"}]", "Gloo",
		     false);
	assert_warns(gpus, NULL, env, "[{\"name\":\"gpus\",\"value\":\"2\"}]", "multiplies", false);
	assert_warns(gpus, NULL, env, "[{\"name\":\"gpus\",\"value\":\"0\"}]", "multiplies", true);
	assert_warns(gpus, NULL, command, COMMAND("x $((gpus * workers))"), "multiplies", true);
	assert_warns(gpus, NULL, command, COMMAND("x $(($workers * $gpus))"), "multiplies", true);
	assert_warns(gpus, NULL, command, COMMAND("x ${gpus} and *"), "multiplies", false);
	assert_warns(gpus, NULL, command, COMMAND("x -np ${workers}"), "multiplies", false);
}

static void unknown_fields(void **state)
{
	static const struct {
		const char *pointer, *value, *said, *at;
	} cases[] = {
		{ "/spec/etReplicaSpec", "{}",
		  "spec.etReplicaSpec: is not a field of the API: did you mean \"etReplicaSpecs\"?",
		  "/spec/etReplicaSpec" },
		{ WORKER "/minReplica", "1",
		  SPEC
		  "worker.minReplica: is not a field of the API: did you mean \"minReplicas\"?",
		  WORKER "/minReplica" },
		{ W "/containers/0/imge", "\"x\"",
		  WORKER_SPEC
		  "containers[0].imge: is not a field of the API: did you mean \"image\"?",
		  W "/containers/0/imge" },
		{ W "/containers/0/env", "[{\"name\":\"A\",\"vlaue\":\"1\"}]",
		  WORKER_SPEC "containers[0].env[0].vlaue: is not a field of the API: did you mean "
			      "\"value\"?",
		  W "/containers/0/env/0/vlaue" },
		{ "/spec/a.b~1c", "1", "spec[\"a.b/c\"]: is not a field of the API: remove it",
		  "/spec/a.b~1c" },
		{ LAUNCHER "/minReplicas", "1",
		  SPEC "launcher.minReplicas: is not a field of the API: remove it",
		  LAUNCHER "/minReplicas" },
		{ "/status", "{\"anything\":1}", "", NULL },
		{ W "/affinity", "{\"anything\":1}", "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_good();
		AUTO(faults) struct faults faults = FAULTS_INIT;
		AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE);
		struct err err = ERR_INIT;

		jobs_set(&job, cases[i].pointer, cases[i].value);
		unit_assert_ok(validate_unknown(job, &faults, &err), &err);
		faults_message(&faults, &message);
		assert_string_equal(buf_text(&message), cases[i].said);
		if (cases[i].at) {
			assert_string_equal(faults.v[0].pointer, cases[i].at);
			assert_string_equal(faults.v[0].rule, "unknown-field");
		}
	}
}

static void no_memory_is_an_error_and_no_pass(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO_JSON cJSON *job = jobs_good();
		AUTO(faults) struct faults faults = FAULTS_INIT;
		struct err err = ERR_INIT;
		int rc;

		jobs_set(&job, WORKER "/minReplicas", "3");
		jobs_set(&job, W "/containers/-", "{\"name\":\"et\"}");
		fault_arm(FAULT_ALLOC, n);
		rc = validate_job(job, &faults, &err);
		fired = fault_disarm();
		assert_true(rc == 0 || fired);
		assert_int_equal(err.fail, rc == 0 ? FAIL_NONE : FAIL_NOMEM);
		if (rc == 0)
			assert_int_equal(faults.n, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_good_job_has_no_faults_and_no_warnings),
		UNIT_CASE(names),
		UNIT_CASE(parts_that_must_be_there),
		UNIT_CASE(names_in_templates_are_unique),
		UNIT_CASE(whole_numbers),
		UNIT_CASE(bounds),
		UNIT_CASE(words),
		UNIT_CASE(counts_in_variables),
		UNIT_CASE(all_faults_are_said_at_once),
		UNIT_CASE(a_fault_has_its_place_as_a_pointer),
		UNIT_CASE(the_code_is_that_of_the_worst),
		UNIT_CASE(a_message_has_an_end),
		UNIT_CASE(long_and_odd_values_are_shown_safely),
		UNIT_CASE(warnings),
		UNIT_CASE(warnings_of_two_fields),
		UNIT_CASE(unknown_fields),
		UNIT_CASE(no_memory_is_an_error_and_no_pass),
	};

	UNIT_MAIN(tests);
}
