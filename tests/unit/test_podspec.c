/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/hosts.h"
#include "etjob/inject.h"
#include "etjob/names.h"
#include "etjob/podspec.h"
#include "etjob/scripts.h"
#include "fault.h"
#include "jobs.h"
#include "unit.h"
#include "wire/base64.h"

static cJSON *worker(const cJSON *obj)
{
	struct err err = ERR_INIT;
	cJSON *pod = NULL;
	struct job j;

	job_view(obj, &j);
	unit_assert_ok(podspec_worker(&j, 7, &pod, &err), &err);
	return pod;
}

static cJSON *launcher(const cJSON *obj, int64_t ready)
{
	struct err err = ERR_INIT;
	cJSON *pod = NULL;
	struct job j;

	job_view(obj, &j);
	unit_assert_ok(podspec_launcher(&j, ready, "r1", &pod, &err), &err);
	return pod;
}

static const cJSON *first(const cJSON *pod)
{
	return json_index(json_at(pod, "spec", "containers", NULL), 0);
}

/* Ends the test when there is no such word. */
static const char *word(const cJSON *list, size_t i)
{
	const char *text = json_str(json_index(list, i));

	assert_non_null(text);
	return text;
}

static const cJSON *named(const cJSON *list, const char *key, const char *name)
{
	const cJSON *item;

	json_each (item, list) {
		if (str_eq(json_get_str(item, key, NULL), name))
			return item;
	}
	return NULL;
}

static const cJSON *mount(const cJSON *pod, const char *path)
{
	return named(json_get(first(pod), "volumeMounts"), "mountPath", path);
}

static const cJSON *volume(const cJSON *pod, const char *name)
{
	return named(json_at(pod, "spec", "volumes", NULL), "name", name);
}

static const char *env(const cJSON *pod, const char *name)
{
	return json_get_str(named(json_get(first(pod), "env"), "name", name), "value", NULL);
}

static void assert_escaped(const char *got, const char *script)
{
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);

	scripts_escape(script, &text);
	assert_string_equal(got, buf_text(&text));
}

#define OWNERS                                                                                  \
	"[{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\",\"name\":" \
	"\"et\",\"uid\":\"u1\",\"controller\":true,\"blockOwnerDeletion\":true}]"
#define LABELS(role_pairs)                                                                  \
	"{\"group-name\":\"kai.alibabacloud.com\",\"training-job-name\":\"et\"," role_pairs \
	"\"app.kubernetes.io/name\":\"etjob\",\"app.kubernetes.io/instance\":\"et\""
#define MANAGED_LABEL "\"app.kubernetes.io/managed-by\":\"etjob-controller\""
#define MANAGED "\"app.kubernetes.io/managed-by\":\"etjob-controller\"}"

static void a_worker_has_all_that_training_needs(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = worker(job);
	const cJSON *spec = json_get(pod, "spec");
	const cJSON *command = json_get(first(pod), "command");
	const cJSON *probe = json_get(first(pod), "startupProbe");

	unit_assert_json(
		json_get(pod, "metadata"),
		"{\"name\":\"et-worker-7\",\"namespace\":\"ml\",\"labels\":" LABELS(
			"\"training-job-role\":\"worker\",") ",\"app.kubernetes.io/"
							     "component\":\"worker\"," MANAGED_LABEL
							     ",\"replica-index\":\"7\"},\"ownerReferences\":" OWNERS
							     "}");
	assert_string_equal(json_get_str(spec, "hostname", ""), "et-worker-7");
	assert_string_equal(json_get_str(spec, "subdomain", ""), "et-workers");
	assert_string_equal(json_get_str(spec, "restartPolicy", ""), "Never");
	assert_int_equal(json_get_int(spec, "terminationGracePeriodSeconds", 0), 120);
	assert_false(json_get_bool(spec, "automountServiceAccountToken", true));
	assert_false(json_get_bool(spec, "enableServiceLinks", true));
	assert_string_equal(word(command, 0), "/bin/sh");
	assert_escaped(word(command, 2), scripts_worker());
	assert_string_equal(word(command, 4), "auto");
	assert_string_equal(word(command, 5), "/dev/termination-log");
	assert_string_equal(word(json_at(probe, "exec", "command", NULL), 2), scripts_probe());
	assert_int_equal(json_get_int(probe, "periodSeconds", 0), 1);
	assert_null(json_get(first(pod), "readinessProbe"));
	assert_string_equal(
		word(json_at(first(pod), "lifecycle", "preStop", "exec", "command", NULL), 4),
		"ssh");
	unit_assert_json(
		volume(pod, SSH_VOLUME),
		"{\"name\":\"etjob-ssh\",\"secret\":{\"secretName\":\"et-ssh\",\"defaultMode\":"
		"292,\"items\":[{\"key\":\"ssh-privatekey\",\"path\":\"id\"},{\"key\":"
		"\"ssh-publickey\",\"path\":\"id.pub\"}]}}");
	unit_assert_json(
		volume(pod, RUN_VOLUME),
		"{\"name\":\"etjob-run\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":"
		"\"16Mi\"}}");
	assert_non_null(mount(pod, SSH_DIR));
	assert_non_null(mount(pod, RUN_DIR));
	assert_null(mount(pod, CONFIG_DIR));
	assert_null(mount(pod, SSH_HOME_DIR));
	assert_string_equal(env(pod, "workers"), "2");
	assert_string_equal(env(pod, "gpus"), "1");
	/* What the user wrote is as it was. */
	unit_assert_json(json_get(first(pod), "resources"), "{\"limits\":{\"nvidia.com/gpu\":1}}");
}

static void what_a_template_says_comes_first(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;

	jobs_set(&job, WORKER "/template/metadata",
		 "{\"name\":\"x\",\"labels\":{\"team\":\"a\",\"app.kubernetes.io/name\":\"mine\","
		 "\"training-job-name\":\"z\"},\"annotations\":{\"k\":\"v\"}}");
	jobs_set(&job, W "/terminationGracePeriodSeconds", "5");
	jobs_set(&job, W "/automountServiceAccountToken", "true");
	jobs_set(&job, W "/enableServiceLinks", "true");
	jobs_set(&job, W "/restartPolicy", "\"Always\"");
	jobs_set(&job, W "/volumes", "[{\"name\":\"etjob-ssh\",\"emptyDir\":{}}]");
	jobs_set(&job, W "/containers/0/volumeMounts",
		 "[{\"name\":\"etjob-ssh\",\"mountPath\":\"/run/etjob/\"}]");
	jobs_set(&job, W "/containers/0/startupProbe", "{\"x\":1}");
	jobs_set(&job, W "/containers/0/readinessProbe", "{\"y\":1}");
	jobs_set(&job, W "/containers/0/lifecycle", "{\"preStop\":{\"z\":1},\"postStart\":{}}");
	jobs_set(&job, W "/containers/0/terminationMessagePath", "\"/t\"");
	jobs_set(&job, W "/containers/0/terminationMessagePolicy", "\"File\"");
	pod = worker(job);
	unit_assert_json(
		json_at(pod, "metadata", "labels", NULL),
		"{\"team\":\"a\",\"app.kubernetes.io/name\":\"mine\",\"training-job-name\":"
		"\"et\",\"group-name\":\"kai.alibabacloud.com\",\"training-job-role\":\"worker\","
		"\"app.kubernetes.io/instance\":\"et\",\"app.kubernetes.io/component\":"
		"\"worker\"," MANAGED_LABEL ",\"replica-index\":\"7\"}");
	unit_assert_json(json_at(pod, "metadata", "annotations", NULL), "{\"k\":\"v\"}");
	assert_string_equal(json_at(pod, "metadata", "name", NULL)->valuestring, "et-worker-7");
	assert_int_equal(json_get_int(json_get(pod, "spec"), "terminationGracePeriodSeconds", 0),
			 5);
	assert_true(json_get_bool(json_get(pod, "spec"), "automountServiceAccountToken", false));
	assert_true(json_get_bool(json_get(pod, "spec"), "enableServiceLinks", false));
	assert_string_equal(json_get_str(json_get(pod, "spec"), "restartPolicy", ""), "Never");
	assert_non_null(json_get(volume(pod, SSH_VOLUME), "emptyDir"));
	assert_string_equal(json_get_str(mount(pod, "/run/etjob/"), "name", ""), "etjob-ssh");
	assert_null(mount(pod, "/run/etjob"));
	unit_assert_json(json_get(first(pod), "startupProbe"), "{\"x\":1}");
	unit_assert_json(json_get(first(pod), "readinessProbe"), "{\"y\":1}");
	unit_assert_json(json_get(first(pod), "lifecycle"),
			 "{\"preStop\":{\"z\":1},\"postStart\":{}}");
	assert_string_equal(word(json_get(first(pod), "command"), 5), "/t");
	assert_string_equal(json_get_str(first(pod), "terminationMessagePolicy", ""), "File");
}

static void a_worker_with_its_own_command_keeps_it(void **state)
{
	static const char *const keys[] = { "command", "args" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		AUTO_JSON cJSON *job = jobs_running();
		AUTO_JSON cJSON *pod = NULL, *head = NULL;
		AUTO(buf) struct buf at = BUF_INIT(256);

		buf_printf(&at, W "/containers/0/%s", keys[i]);
		jobs_set(&job, buf_text(&at), "[\"/usr/sbin/sshd\",\"-D\"]");
		pod = worker(job);
		unit_assert_json(json_get(first(pod), keys[i]), "[\"/usr/sbin/sshd\",\"-D\"]");
		assert_null(json_get(first(pod), i == 0 ? "args" : "command"));
		assert_null(json_get(first(pod), "startupProbe"));
		assert_non_null(json_at(first(pod), "lifecycle", "preStop", NULL));
		unit_assert_json(
			json_at(volume(pod, SSH_HOME_VOLUME), "secret", "items", NULL),
			"[{\"key\":\"ssh-privatekey\",\"path\":\"id_ecdsa\"},{\"key\":\"ssh-publickey\","
			"\"path\":\"id_ecdsa.pub\",\"mode\":420},{\"key\":\"ssh-publickey\",\"path\":"
			"\"authorized_keys\",\"mode\":420},{\"key\":\"config\",\"path\":\"config\","
			"\"mode\":420}]");
		assert_non_null(mount(pod, SSH_HOME_DIR));
		/* The launcher's ssh leaves the port to others. */
		head = launcher(job, 2);
		assert_string_equal(word(json_get(first(head), "command"), 4), "-");
	}
}

static void the_port_is_told_where_it_is_known(void **state)
{
	static const struct {
		const char *pointer, *value, *port;
	} cases[] = {
		{ W "/securityContext", "{}", "auto" },
		{ W "/securityContext", "{\"runAsUser\":0}", "22" },
		{ W "/securityContext", "{\"runAsUser\":1000}", "2222" },
		{ W "/securityContext", "{\"runAsNonRoot\":true}", "2222" },
		{ W "/securityContext", "{\"runAsNonRoot\":false}", "auto" },
		{ W "/containers/0/securityContext", "{\"runAsUser\":1000}", "2222" },
		{ W "/containers/0/securityContext", "{\"runAsNonRoot\":true}", "2222" },
		{ W "/containers/0/securityContext",
		  "{\"runAsUser\":0,\"capabilities\":{\"drop\":[\"ALL\"]}}", "auto" },
		{ W "/hostNetwork", "true", "2222" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_running();
		AUTO_JSON cJSON *pod = NULL;

		jobs_set(&job, cases[i].pointer, cases[i].value);
		pod = launcher(job, 2);
		assert_string_equal(word(json_get(first(pod), "command"), 4), cases[i].port);
	}
}

static void a_worker_on_the_nodes_network_claims_its_port(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;

	jobs_set(&job, W "/hostNetwork", "true");
	pod = worker(job);
	assert_string_equal(word(json_get(first(pod), "command"), 4), "2222");
	unit_assert_json(json_get(first(pod), "ports"),
			 "[{\"name\":\"etjob-ssh\",\"containerPort\":2222,\"hostPort\":2222}]");
}

static void a_read_only_root_gets_a_place_for_sshd(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;

	jobs_set(&job, W "/containers/0/securityContext", "{\"readOnlyRootFilesystem\":true}");
	pod = worker(job);
	assert_non_null(mount(pod, "/run/sshd"));
	assert_non_null(volume(pod, "etjob-sshd"));
}

static void a_launcher_runs_the_users_words_under_the_wrapper(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;
	const cJSON *command;

	jobs_set(&job, L "/containers/0/args", "[\"$(A)\",\"$$b\"]");
	jobs_set(&job, L "/containers/-", "{\"name\":\"b\",\"image\":\"i\"}");
	pod = launcher(job, 1);
	command = json_get(first(pod), "command");
	assert_string_equal(json_at(pod, "metadata", "name", NULL)->valuestring, "et-launcher");
	assert_string_equal(
		json_str(json_at(pod, "metadata", "annotations", ANNOTATION_HOSTS, NULL)), "r1");
	assert_int_equal(json_len(command), 8);
	assert_escaped(word(command, 2), scripts_launcher());
	assert_string_equal(word(command, 5), "sh");
	assert_string_equal(word(command, 6), "-c");
	assert_true(str_starts(word(command, 7), "horovodrun -np $((${workers}*${gpus}))"));
	unit_assert_json(json_get(first(pod), "args"), "[\"$(A)\",\"$$b\"]");
	assert_false(json_get_bool(json_get(pod, "spec"), "automountServiceAccountToken", true));
	assert_string_equal(json_get_str(json_get(pod, "spec"), "restartPolicy", ""), "Never");
	assert_null(json_get(json_get(pod, "spec"), "terminationGracePeriodSeconds"));
	assert_null(json_get(json_get(pod, "spec"), "hostname"));
	assert_null(json_get(first(pod), "resources"));
	assert_non_null(mount(pod, CONFIG_DIR));
	assert_non_null(volume(pod, CONFIG_VOLUME));
	assert_null(mount(pod, SSH_HOME_DIR));
	assert_string_equal(env(pod, "maxWorkers"), "4");
}

static void workers_is_never_more_than_are_ready(void **state)
{
	static const struct {
		const char *value; /* of the template */
		int64_t ready;
		const char *want;
	} cases[] = {
		{ NULL, 1, "1" },          { NULL, 2, "2" },    { NULL, 9, "2" },
		{ "\"5\"", 3, "3" },       { "\"5\"", 9, "5" }, { "\"1\"", 3, "1" },
		{ "\"many\"", 1, "many" }, { NULL, 0, "2" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *job = jobs_running();
		AUTO_JSON cJSON *pod = NULL;

		if (cases[i].value) {
			jobs_set(&job, L "/containers/0/env", "[{\"name\":\"workers\"}]");
			jobs_set(&job, L "/containers/0/env/0/value", cases[i].value);
		}
		pod = launcher(job, cases[i].ready);
		assert_string_equal(env(pod, "workers"), cases[i].want);
	}
}

static void a_job_that_is_not_to_be_touched_has_its_pods_injected(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;

	jobs_set(&job, "/metadata/annotations", "{\"kai.alibabacloud.com/inject\":\"disabled\"}");
	pod = launcher(job, 2);
	assert_string_equal(env(pod, "workers"), "2");
	assert_non_null(mount(pod, CONFIG_DIR));
}

static void a_launcher_without_a_command_finds_the_key_at_home(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL, *user = NULL, *own = NULL;

	jobs_set(&job, L "/containers/0/command", NULL);
	pod = launcher(job, 2);
	assert_null(json_get(first(pod), "command"));
	assert_non_null(mount(pod, SSH_HOME_DIR));
	jobs_set(&job, L "/securityContext", "{\"runAsUser\":1000}");
	user = launcher(job, 2);
	assert_null(mount(user, SSH_HOME_DIR));
	jobs_set(&job, L "/securityContext", NULL);
	jobs_set(&job, L "/containers/0/volumeMounts",
		 "[{\"name\":\"a\",\"mountPath\":\"/root\"}]");
	own = launcher(job, 2);
	assert_null(mount(own, SSH_HOME_DIR));
}

static void kubexec_needs_no_ssh(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *head = NULL, *pod = NULL, *config = NULL;
	struct err err = ERR_INIT;
	struct job j;

	jobs_set(&job, "/spec/launcherAttachMode", "\"kubexec\"");
	head = launcher(job, 2);
	pod = worker(job);
	assert_string_equal(word(json_get(first(head), "command"), 0), "sh");
	assert_string_equal(env(head, "OMPI_MCA_plm_rsh_agent"), "/etc/mpi/kubexec.sh");
	assert_non_null(mount(head, "/etc/mpi"));
	assert_null(json_get(json_get(head, "spec"), "automountServiceAccountToken"));
	assert_null(mount(head, SSH_DIR));
	assert_null(mount(pod, SSH_DIR));
	assert_escaped(word(json_get(first(pod), "command"), 2), scripts_idle());
	assert_null(json_get(first(pod), "startupProbe"));
	assert_string_equal(
		word(json_at(first(pod), "lifecycle", "preStop", "exec", "command", NULL), 4),
		"kubexec");
	job_view(job, &j);
	unit_assert_ok(podspec_config(&j, "", &config, &err), &err);
	assert_string_equal(json_get_str(json_get(config, "data"), "kubexec.sh", ""),
			    scripts_kubexec());
}

static void the_launcher_is_in_no_gang(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *head = NULL, *pod = NULL, *group = NULL;
	struct err err = ERR_INIT;
	struct job j;
	static const char meta[] = "{\"labels\":{\"pod-group.scheduling.sigs.k8s.io/name\":\"et\","
				   "\"pod-group.scheduling.sigs.k8s.io/min-available\":\"9\"},"
				   "\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"q\"}}";

	jobs_set(&job, LAUNCHER "/template/metadata", meta);
	jobs_set(&job, WORKER "/template/metadata", meta);
	jobs_set(&job, W "/schedulerName", "\"volcano\"");
	head = launcher(job, 2);
	pod = worker(job);
	assert_null(json_at(head, "metadata", "labels", GANG_COSCHEDULING_NAME, NULL));
	assert_null(json_at(head, "metadata", "labels", GANG_COSCHEDULING_MIN, NULL));
	assert_string_equal(
		json_str(json_at(pod, "metadata", "labels", GANG_COSCHEDULING_MIN, NULL)), "1");
	assert_string_equal(json_str(json_at(pod, "metadata", "annotations", GANG_VOLCANO, NULL)),
			    "et");
	job_view(job, &j);
	unit_assert_ok(podspec_pod_group(&j, &group, &err), &err);
	unit_assert_json(json_get(group, "spec"), "{\"minMember\":1,\"queue\":\"q\"}");
	cJSON_Delete(group);
	jobs_set(&job, W "/schedulerName", NULL);
	job_view(job, &j);
	group = job;
	unit_assert_ok(podspec_pod_group(&j, &group, &err), &err);
	assert_null(group);
}

static void the_other_children(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *service = NULL, *config = NULL, *secret = NULL;
	AUTO(buf) struct buf text = BUF_INIT(1u << 16);
	struct err err = ERR_INIT;
	const char *coded;
	struct job j;

	job_view(job, &j);
	unit_assert_ok(podspec_service(&j, &service, &err), &err);
	unit_assert_json(
		service,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"et-workers\","
		"\"namespace\":\"ml\",\"labels\":" LABELS(
			"") "," MANAGED ",\"ownerReferences\":" OWNERS
			    "},\"spec\":{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":true,\"selector\":{"
			    "\"group-name\":\"kai.alibabacloud.com\",\"training-job-name\":\"et\","
			    "\"training-job-role\":\"worker\"},\"ports\":[{\"name\":\"tcp-ssh\",\"port\":22}]}}");
	unit_assert_ok(podspec_config(&j, "a:1\n", &config, &err), &err);
	assert_string_equal(json_str(json_at(config, "metadata", "name", NULL)), "et-config");
	assert_string_equal(json_get_str(json_get(config, "data"), "hostfile", ""), "a:1\n");
	assert_string_equal(json_get_str(json_get(config, "data"), "discover_hosts.sh", ""),
			    hosts_script());
	assert_int_equal(json_len(json_get(config, "data")), 2);
	unit_assert_ok(podspec_secret(&j, "PRIVATE", "PUBLIC", &secret, &err), &err);
	assert_string_equal(json_str(json_at(secret, "metadata", "name", NULL)), "et-ssh");
	assert_string_equal(json_get_str(secret, "type", ""), "kubernetes.io/ssh-auth");
	coded = json_get_str(json_get(secret, "data"), SECRET_PRIVATE, "");
	unit_assert_ok(base64_decode(coded, strlen(coded), &text, &err), &err);
	assert_string_equal(buf_text(&text), "PRIVATE");
}

static void a_secret_of_the_user_is_used(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO_JSON cJSON *pod = NULL;
	struct job j;

	job_view(job, &j);
	assert_false(podspec_own_secret(&j));
	jobs_set(&job, "/metadata/annotations", "{\"arena.kubeflow.org/ssh-secret\":\"keys\"}");
	job_view(job, &j);
	assert_true(podspec_own_secret(&j));
	pod = worker(job);
	assert_string_equal(
		json_str(json_at(volume(pod, SSH_VOLUME), "secret", "secretName", NULL)), "keys");
}

static void ours_is_what_this_very_job_controls(void **state)
{
	static const struct {
		const char *owners;
		bool ours;
	} cases[] = {
		{ OWNERS, true },
		{ "[{\"uid\":\"u1\",\"controller\":false}]", false },
		{ "[{\"uid\":\"u1\"}]", false },
		{ "[{\"uid\":\"u2\",\"controller\":true}]", false },
		{ "[{\"uid\":\"x\"},{\"uid\":\"u1\",\"controller\":true}]", true },
		{ "[]", false },
		{ "null", false },
	};
	AUTO_JSON cJSON *job = jobs_running();
	struct job j, nobody;

	job_view(job, &j);
	job_view(NULL, &nobody);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *obj = unit_json("{\"metadata\":{}}");

		jobs_set(&obj, "/metadata/ownerReferences", cases[i].owners);
		assert_int_equal(podspec_is_ours(&j, obj), cases[i].ours);
		assert_false(podspec_is_ours(&nobody, obj));
	}
}

static void a_template_without_a_container_is_an_error(void **state)
{
	static const char *const broken[] = { "null", "[]", "[7]", "{}" };

	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		AUTO_JSON cJSON *job = jobs_running();
		AUTO_JSON cJSON *pod = NULL;
		struct err err = ERR_INIT;
		struct job j;

		jobs_set(&job, W "/containers", broken[i]);
		job_view(job, &j);
		unit_assert_fails(podspec_worker(&j, 0, &pod, &err), &err, FAIL_INPUT,
				  "the worker has no container in its template");
		assert_null(pod);
	}
}

static void random_jobs_make_pods(void **state)
{
	uint64_t seed = 7;

	for (int i = 0; i < 300; i++) {
		AUTO_JSON cJSON *job = jobs_random_valid(&seed);
		AUTO_JSON cJSON *head = launcher(job, 1);
		AUTO_JSON cJSON *pod = worker(job);

		assert_string_equal(env(head, "workers") ? "set" : "", "set");
		assert_non_null(env(pod, "gpus"));
	}
}

/* Fails each allocation in turn; a pod that comes out is the whole one. */
static void sweep(const cJSON *obj, bool head)
{
	AUTO_JSON cJSON *whole = head ? launcher(obj, 1) : worker(obj);
	struct job j;

	job_view(obj, &j);
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO_JSON cJSON *pod = NULL;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = head ? podspec_launcher(&j, 1, "r1", &pod, &err)
			  : podspec_worker(&j, 7, &pod, &err);
		fired = fault_disarm();
		assert_int_equal(rc, pod ? 0 : -1);
		assert_true(rc == 0 || (fired && err.fail == FAIL_NOMEM));
		if (pod)
			assert_true(json_equal(pod, whole));
	}
}

static void a_failed_allocation_makes_no_half_pod(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();

	sweep(job, true);
	sweep(job, false);
	jobs_set(&job, L "/containers/0/command", NULL);
	jobs_set(&job, W "/hostNetwork", "true");
	jobs_set(&job, W "/schedulerName", "\"volcano\"");
	jobs_set(&job, W "/containers/0/securityContext", "{\"readOnlyRootFilesystem\":true}");
	sweep(job, true);
	sweep(job, false);
	jobs_set(&job, W "/containers/0/args", "[\"x\"]");
	sweep(job, false);
	jobs_set(&job, "/spec/launcherAttachMode", "\"kubexec\"");
	sweep(job, true);
	sweep(job, false);
}

static void a_failed_allocation_makes_no_half_object(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	struct job j;

	jobs_set(&job, W "/schedulerName", "\"volcano\"");
	job_view(job, &j);
	for (int what = 0; what < 4; what++) {
		for (unsigned n = 1, fired = 1; fired; n++) {
			AUTO_JSON cJSON *obj = NULL;
			struct err err = ERR_INIT;
			int rc;

			fault_arm(FAULT_ALLOC, n);
			rc = what == 0   ? podspec_service(&j, &obj, &err)
			     : what == 1 ? podspec_config(&j, "a:1\n", &obj, &err)
			     : what == 2 ? podspec_secret(&j, "k", "p", &obj, &err)
					 : podspec_pod_group(&j, &obj, &err);
			fired = fault_disarm();
			assert_int_equal(rc, obj ? 0 : -1);
			assert_int_equal(rc, fired ? -1 : 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_worker_has_all_that_training_needs),
		UNIT_CASE(what_a_template_says_comes_first),
		UNIT_CASE(a_worker_with_its_own_command_keeps_it),
		UNIT_CASE(the_port_is_told_where_it_is_known),
		UNIT_CASE(a_worker_on_the_nodes_network_claims_its_port),
		UNIT_CASE(a_read_only_root_gets_a_place_for_sshd),
		UNIT_CASE(a_launcher_runs_the_users_words_under_the_wrapper),
		UNIT_CASE(workers_is_never_more_than_are_ready),
		UNIT_CASE(a_job_that_is_not_to_be_touched_has_its_pods_injected),
		UNIT_CASE(a_launcher_without_a_command_finds_the_key_at_home),
		UNIT_CASE(kubexec_needs_no_ssh),
		UNIT_CASE(the_launcher_is_in_no_gang),
		UNIT_CASE(the_other_children),
		UNIT_CASE(a_secret_of_the_user_is_used),
		UNIT_CASE(ours_is_what_this_very_job_controls),
		UNIT_CASE(a_template_without_a_container_is_an_error),
		UNIT_CASE(random_jobs_make_pods),
		UNIT_CASE(a_failed_allocation_makes_no_half_pod),
		UNIT_CASE(a_failed_allocation_makes_no_half_object),
	};

	UNIT_MAIN(tests);
}
