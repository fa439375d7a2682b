/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: worlds in short words, and the actions that they must lead to.
 * Long because each rule has a world of its own, and all share the words.
 */
#include "controller/plan.h"

#include "base/limits.h"
#include "etjob/hosts.h"
#include "etjob/names.h"
#include "etjob/podspec.h"
#include "fault.h"
#include "unit.h"
#include "wire/patch.h"
#include "wire/time.h"

#define NOW 1700000000000 /* 2023-11-14T22:13:20Z */

/* A world and all that it borrows. */
struct scene {
	struct world w;
	cJSON *job, *service, *config;
	cJSON *pods[16], *scalers[8];
	size_t npods, nscalers;
	struct strs fresh;
	struct actions actions;
};

static cJSON *job_of(const char *spec, const char *status)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_printf(
		&text,
		"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\","
		"\"metadata\":{\"name\":\"et\",\"namespace\":\"a\",\"uid\":\"u1\",\"generation\":1,"
		"\"resourceVersion\":\"7\",\"creationTimestamp\":\"2023-11-14T22:00:00Z\"},"
		"\"spec\":{\"etReplicaSpecs\":{\"launcher\":{\"template\":{\"spec\":{\"containers\":"
		"[{\"name\":\"et\",\"image\":\"i\",\"command\":[\"x\"]}]}}},\"worker\":{%s"
		"\"template\":{\"spec\":{\"containers\":[{\"name\":\"et\",\"image\":\"i\"}]}}}}}"
		"%s%s}",
		spec, status[0] ? ",\"status\":" : "", status);
	return unit_json(buf_text(&text));
}

/* A running job of three workers, at least two, at most five. */
#define SPEC "\"replicas\":3,\"minReplicas\":2,\"maxReplicas\":5,"
#define CONDITIONS                                                           \
	"\"conditions\":[{\"type\":\"LauncherCreated\",\"status\":\"True\"," \
	"\"lastTransitionTime\":\"2023-11-14T22:01:00Z\"}]"
#define RUNNING                                                                               \
	"{\"phase\":\"Running\",\"replicas\":3,\"observedReplicas\":3,\"nextWorkerIndex\":3," \
	"\"restartCount\":0,\"startTime\":\"2023-11-14T22:00:00Z\",\"targetWorkers\":"        \
	"[\"et-worker-0\",\"et-worker-1\",\"et-worker-2\"]," CONDITIONS "}"

static void scene_begin(struct scene *s, const char *spec, const char *status)
{
	*s = (struct scene){ .w = WORLD_INIT, .actions = ACTIONS_INIT };
	s->job = job_of(spec, status);
	job_view(s->job, &s->w.job);
	s->w.ns = "a";
	s->w.name = "et";
	s->w.workers = calloc(16, sizeof(*s->w.workers));
	s->w.scalers = calloc(8, sizeof(*s->w.scalers));
	s->w.blocked = calloc(8, sizeof(*s->w.blocked));
	s->w.secret = true;
	s->w.fresh = &s->fresh;
	assert_non_null(s->w.workers);
	s->service = unit_json("{\"metadata\":{\"name\":\"et-workers\"}}");
	s->w.service = s->service;
}

static void scene_end(struct scene *s)
{
	actions_release(&s->actions);
	world_release(&s->w);
	strs_release(&s->fresh);
	cJSON_Delete(s->job);
	cJSON_Delete(s->service);
	cJSON_Delete(s->config);
	for (size_t i = 0; i < s->npods; i++)
		cJSON_Delete(s->pods[i]);
	for (size_t i = 0; i < s->nscalers; i++)
		cJSON_Delete(s->scalers[i]);
}

/* state: ready, pending, failed, unready, or going:SECONDS (of grace that is left of 60). */
static void pod(struct scene *s, const char *name, const char *state)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	char when[TIME_TEXT_SIZE] = "";
	const char *phase = strcmp(state, "pending") == 0  ? "Pending"
			    : strcmp(state, "failed") == 0 ? "Failed"
							   : "Running";
	bool going = str_starts(state, "going:");
	bool ready = going || strcmp(state, "ready") == 0;

	if (going)
		time_format(NOW + 1000 * strtoll(state + 6, NULL, 10), when);
	buf_printf(
		&text,
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%s\",\"creationTimestamp\":"
		"\"2023-11-14T22:00:00Z\",\"annotations\":{\"kai.alibabacloud.com/attempt\":\"0\"},"
		"\"ownerReferences\":[{\"controller\":true,\"uid\":\"u1\"}]%s%s%s},\"spec\":"
		"{\"nodeName\":\"n\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"et\"}]},"
		"\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
		"\"lastTransitionTime\":\"2023-11-14T22:10:00Z\"}]%s}}",
		name, name,
		going ? ",\"deletionGracePeriodSeconds\":60,\"deletionTimestamp\":\"" : "", when,
		going ? "\"" : "", phase, ready ? "True" : "False",
		strcmp(state, "failed") == 0
			? ",\"containerStatuses\":[{\"name\":\"et\",\"state\":{\"terminated\":"
			  "{\"exitCode\":3,\"reason\":\"Error\"}}}]"
			: "");
	cJSON *obj = unit_json(buf_text(&text));
	struct pod view;

	s->pods[s->npods++] = obj;
	pod_view(obj, NULL, "et", "u1", &view);
	if (view.index < 0)
		s->w.launcher = view;
	else
		s->w.workers[s->w.nworkers++] = view;
}

static void hosts(struct scene *s, const char *const *names, size_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	hosts_file("et", names, n, 1, &text);
	s->config = unit_json("{\"metadata\":{\"name\":\"et-config\",\"resourceVersion\":\"5\","
			      "\"uid\":\"c\"},\"data\":{}}");
	cJSON *data = json_get_mut(s->config, "data");

	assert_int_equal(json_set_str(data, CONFIG_HOSTFILE, buf_text(&text), NULL), 0);
	assert_int_equal(json_set_str(data, CONFIG_SCRIPT, hosts_script(), NULL), 0);
	s->w.config = s->config;
}

static void three_run(struct scene *s)
{
	static const char *const names[] = { "et-worker-0", "et-worker-1", "et-worker-2" };

	hosts(s, names, 3);
	pod(s, "et-launcher", "ready");
}

static void scaler(struct scene *s, const char *kind, const char *name, const char *amount,
		   const char *status)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_printf(
		&text,
		"{\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\",\"uid\":\"%s\","
		"\"creationTimestamp\":\"2023-11-14T22:12:00Z\",\"ownerReferences\":"
		"[{\"kind\":\"TrainingJob\",\"uid\":\"u1\"}]},\"spec\":{\"selector\":"
		"{\"name\":\"et\"},\"timeout\":60,%s}%s%s}",
		kind, name, name, amount, status[0] ? ",\"status\":" : "", status);
	s->scalers[s->nscalers] = unit_json(buf_text(&text));
	scaler_view(s->scalers[s->nscalers++], &s->w.scalers[s->w.nscalers]);
	s->w.nscalers++;
}

static void plan(struct scene *s)
{
	struct err err = ERR_INIT;

	actions_release(&s->actions);
	unit_assert_ok(plan_job(&s->w, NOW, &s->actions, &err), &err);
	for (size_t i = 1; i < s->actions.n; i++)
		assert_true(s->actions.v[i - 1].stage <= s->actions.v[i].stage);
}

static const struct action *find(const struct scene *s, enum act_kind kind,
				 const struct kube_res *res, const char *name)
{
	for (size_t i = 0; i < s->actions.n; i++) {
		const struct action *a = &s->actions.v[i];
		const char *called =
			a->name ? a->name : json_get_str(json_get(a->body, "metadata"), "name", "");

		if (a->kind == kind && a->res == res && (!name || str_eq(called, name)))
			return a;
	}
	return NULL;
}

static const cJSON *status(const struct scene *s)
{
	const struct action *a = find(s, ACT_PATCH_STATUS, &kube_trainingjobs, NULL);

	return a ? json_get(a->body, "status") : NULL;
}

static const char *hostfile(const struct scene *s)
{
	const struct action *a = find(s, ACT_PATCH, &kube_configmaps, "et-config");

	if (!a)
		a = find(s, ACT_CREATE, &kube_configmaps, "et-config");
	return a ? json_get_str(json_get(a->body, "data"), CONFIG_HOSTFILE, "") : "unchanged";
}

static bool told(const struct scene *s, const char *reason)
{
	for (size_t i = 0; i < s->actions.n; i++) {
		if (s->actions.v[i].kind == ACT_EVENT && str_eq(s->actions.v[i].reason, reason))
			return true;
	}
	return false;
}

static const char *condition(const cJSON *v, const char *type, const char *key)
{
	const cJSON *c;

	json_each (c, json_get(v, "conditions")) {
		if (str_eq(json_get_str(c, "type", ""), type))
			return json_get_str(c, key, "");
	}
	return "absent";
}

/* --- starting ---------------------------------------------------------------- */

static void names_are_in_the_status_before_pods_are_made(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, "");
	s.w.secret = false;
	s.w.service = NULL;
	plan(&s);
	unit_assert_json(json_get(status(&s), "targetWorkers"),
			 "[\"et-worker-0\",\"et-worker-1\",\"et-worker-2\"]");
	assert_int_equal(json_get_int(status(&s), "nextWorkerIndex", 0), 3);
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Created");
	assert_int_equal(s.actions.v[0].kind, ACT_PATCH_STATUS);
	assert_non_null(find(&s, ACT_CREATE, &kube_services, "et-workers"));
	assert_non_null(find(&s, ACT_SECRET, &kube_secrets, NULL));
	for (int i = 0; i < 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "et-worker-%d", i);
		assert_non_null(find(&s, ACT_CREATE, &kube_pods, name));
	}
	assert_null(find(&s, ACT_CREATE, &kube_pods, "et-launcher"));
	scene_end(&s);
}

#define CREATED                                                                               \
	"{\"phase\":\"Created\",\"replicas\":3,\"observedReplicas\":3,\"nextWorkerIndex\":3," \
	"\"targetWorkers\":[\"et-worker-0\",\"et-worker-1\",\"et-worker-2\"]}"

static void a_name_that_may_have_been_used_is_not_used_again(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, CREATED);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	unit_assert_json(json_get(status(&s), "targetWorkers"),
			 "[\"et-worker-0\",\"et-worker-2\",\"et-worker-3\"]");
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	assert_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-1"));
	/* Just reserved by us, and certainly never made: that one may. */
	assert_int_equal(strs_add(&s.fresh, "et-worker-1", NULL), 0);
	plan(&s);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-1"));
	assert_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	scene_end(&s);
}

static void the_launcher_starts_when_all_are_ready(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, CREATED);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "pending");
	plan(&s);
	assert_null(find(&s, ACT_CREATE, &kube_pods, "et-launcher"));
	scene_end(&s);

	scene_begin(&s, SPEC, CREATED);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	const struct action *list = find(&s, ACT_CREATE, &kube_configmaps, "et-config");
	const struct action *pod = find(&s, ACT_CREATE, &kube_pods, "et-launcher");

	assert_non_null(list);
	assert_non_null(pod);
	assert_true(list->stage < pod->stage);
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-1.et-workers:1\n"
					  "et-worker-2.et-workers:1\n");
	scene_end(&s);
}

static void startPolicy_minimum_starts_with_what_there_is(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, CREATED);
	s.w.job.start = START_MINIMUM;
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "pending");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-launcher"));
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n");
	scene_end(&s);
}

static void of_two_jobs_of_a_name_the_younger_fails(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, "");
	s.w.rival = "other";
	plan(&s);
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Failed");
	assert_string_equal(condition(status(&s), "Failed", "reason"), "NameConflict");
	assert_null(find(&s, ACT_CREATE, &kube_pods, NULL));
	scene_end(&s);
}

static void an_object_of_somebody_else_is_left_alone(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, CREATED);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-2", "ready");
	assert_int_equal(strs_add(&s.fresh, "et-worker-1", NULL), 0);
	s.w.blocked[s.w.nblocked++] = (struct blocked){ .kind = "Pod", .name = "et-worker-1" };
	plan(&s);
	assert_null(find(&s, ACT_CREATE, &kube_pods, NULL));
	assert_string_equal(condition(status(&s), "NameTaken", "reason"), "ForeignObject");
	assert_non_null(strstr(condition(status(&s), "NameTaken", "message"), "Pod et-worker-1"));
	assert_true(s.actions.wake_ms > NOW);
	scene_end(&s);
}

/* --- workers that leave ------------------------------------------------------ */

#define SWAPPED                                                                                              \
	"{\"phase\":\"Running\",\"replicas\":3,\"observedReplicas\":3,\"nextWorkerIndex\":4,"                \
	"\"restartCount\":0,\"targetWorkers\":[\"et-worker-0\",\"et-worker-2\",\"et-worker-3\"]," CONDITIONS \
	"}"

static void a_lost_worker_is_replaced_under_a_new_name(void **state)
{
	static const char *const three[] = { "et-worker-0", "et-worker-1", "et-worker-2" };
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	assert_string_equal(hostfile(&s), "unchanged");
	assert_true(told(&s, "WorkerLost"));
	scene_end(&s);

	/* Both changes in one update. */
	scene_begin(&s, SPEC, SWAPPED);
	hosts(&s, three, 3);
	pod(&s, "et-launcher", "ready");
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-2", "ready");
	pod(&s, "et-worker-3", "ready");
	plan(&s);
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n"
					  "et-worker-3.et-workers:1\n");
	assert_non_null(find(&s, ACT_PATCH, &kube_pods, "et-launcher"));
	scene_end(&s);
}

static void a_leaving_worker_keeps_its_line_until_the_replacement_is_ready(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "going:55");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	assert_string_equal(hostfile(&s), "unchanged");
	/* 10 s before the end of its grace it is looked at again. */
	assert_int_equal(s.actions.wake_ms, NOW + 45000);
	scene_end(&s);
}

static void both_changes_of_a_swap_are_one_update(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, SWAPPED);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "going:55");
	pod(&s, "et-worker-2", "ready");
	pod(&s, "et-worker-3", "ready");
	plan(&s);
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n"
					  "et-worker-3.et-workers:1\n");
	scene_end(&s);
}

static void a_line_goes_when_the_grace_is_nearly_over(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, SWAPPED);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "going:9");
	pod(&s, "et-worker-2", "ready");
	pod(&s, "et-worker-3", "pending");
	plan(&s);
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n");
	scene_end(&s);
}

static void at_the_minimum_the_line_stays_until_the_replacement_is_ready(void **state)
{
	static const char *const two[] = { "et-worker-0", "et-worker-1" };
	struct scene s;

	scene_begin(&s, SPEC, SWAPPED);
	hosts(&s, two, 2);
	pod(&s, "et-launcher", "ready");
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "going:9");
	pod(&s, "et-worker-2", "pending");
	pod(&s, "et-worker-3", "pending");
	plan(&s);
	assert_string_equal(hostfile(&s), "unchanged");
	scene_end(&s);

	scene_begin(&s, SPEC, SWAPPED);
	hosts(&s, two, 2);
	pod(&s, "et-launcher", "ready");
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "failed");
	pod(&s, "et-worker-2", "pending");
	pod(&s, "et-worker-3", "pending");
	plan(&s);
	assert_string_equal(hostfile(&s), "unchanged");
	assert_string_equal(condition(status(&s), "BelowMinimum", "status"), "True");
	assert_true(told(&s, "BelowMinimum"));
	scene_end(&s);
}

static void a_worker_that_is_unready_for_long_loses_its_line(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "unready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n");
	assert_null(find(&s, ACT_CREATE, &kube_pods, NULL));
	scene_end(&s);
}

/* --- scaling ----------------------------------------------------------------- */

static void a_scaleout_is_written_to_both_before_its_pods_are_made(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	scaler(&s, "ScaleOut", "so", "\"toAdd\":{\"count\":2}", "");
	plan(&s);
	const struct action *so = find(&s, ACT_PATCH_STATUS, &kube_scaleouts, "so");

	assert_non_null(so);
	unit_assert_json(json_at(so->body, "status", "addPods", NULL),
			 "[\"et-worker-3\",\"et-worker-4\"]");
	assert_string_equal(json_get_str(status(&s), "currentScaler", ""), "a/so");
	assert_int_equal(json_get_int(status(&s), "replicas", 0), 5);
	assert_int_equal(json_get_int(status(&s), "nextWorkerIndex", 0), 5);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-4"));
	assert_int_equal(so->stage, STAGE_SCALER);
	scene_end(&s);
}

#define GROWING                                                                               \
	"{\"phase\":\"Scaling\",\"replicas\":5,\"observedReplicas\":3,\"nextWorkerIndex\":5," \
	"\"currentScaler\":\"a/so\",\"restartCount\":0,\"targetWorkers\":[\"et-worker-0\","   \
	"\"et-worker-1\",\"et-worker-2\",\"et-worker-3\",\"et-worker-4\"]," CONDITIONS "}"
#define SCALING(at)                                  \
	"{\"phase\":\"Scaling\",\"startTime\":\"" at \
	"\",\"addPods\":[\"et-worker-3\",\"et-worker-4\"]}"

static void growing(struct scene *s, const char *last, const char *since)
{
	scene_begin(s, SPEC, GROWING);
	three_run(s);
	pod(s, "et-worker-0", "ready");
	pod(s, "et-worker-1", "ready");
	pod(s, "et-worker-2", "ready");
	pod(s, "et-worker-3", "ready");
	pod(s, "et-worker-4", last);
	scaler(s, "ScaleOut", "so", "\"toAdd\":{\"count\":2}", since);
}

static void new_workers_are_listed_all_at_once(void **state)
{
	struct scene s;

	growing(&s, "pending", SCALING("2023-11-14T22:13:00Z"));
	plan(&s);
	assert_string_equal(hostfile(&s), "unchanged");
	assert_true(s.actions.wake_ms > NOW && s.actions.wake_ms <= NOW + 40000);
	scene_end(&s);

	growing(&s, "ready", SCALING("2023-11-14T22:13:00Z"));
	plan(&s);
	assert_non_null(strstr(hostfile(&s), "et-worker-3"));
	assert_non_null(strstr(hostfile(&s), "et-worker-4"));
	assert_null(find(&s, ACT_PATCH_STATUS, &kube_scaleouts, "so"));
	scene_end(&s);
}

static void a_scaleout_that_times_out_is_rolled_back(void **state)
{
	struct scene s;

	growing(&s, "pending", SCALING("2023-11-14T22:12:00Z"));
	plan(&s);
	const struct action *so = find(&s, ACT_PATCH_STATUS, &kube_scaleouts, "so");

	assert_non_null(so);
	assert_string_equal(json_get_str(json_get(so->body, "status"), "phase", ""), "ScaleFailed");
	assert_int_equal(json_get_int(status(&s), "replicas", 0), 3);
	unit_assert_json(json_get(status(&s), "targetWorkers"),
			 "[\"et-worker-0\",\"et-worker-1\",\"et-worker-2\"]");
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Running");
	assert_non_null(find(&s, ACT_DELETE, &kube_pods, "et-worker-3"));
	assert_non_null(find(&s, ACT_DELETE, &kube_pods, "et-worker-4"));
	assert_string_equal(hostfile(&s), "unchanged");
	scene_end(&s);
}

static void bounds_are_kept_whatever_was_let_through(void **state)
{
	static const struct {
		const char *kind, *amount, *part;
	} cases[] = {
		{ "ScaleOut", "\"toAdd\":{\"count\":3}", "more than maxReplicas (5)" },
		{ "ScaleIn", "\"toDelete\":{\"count\":2}", "fewer than minReplicas (2)" },
		{ "ScaleIn", "\"toDelete\":{\"podNames\":[\"et-worker-9\"]}",
		  "et-worker-9 is no worker of this job" },
		{ "ScaleIn", "\"toDelete\":{}", "exactly one of count" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scene s;
		bool out = strcmp(cases[i].kind, "ScaleOut") == 0;

		scene_begin(&s, SPEC, RUNNING);
		three_run(&s);
		pod(&s, "et-worker-0", "ready");
		pod(&s, "et-worker-1", "ready");
		pod(&s, "et-worker-2", "ready");
		scaler(&s, cases[i].kind, "x", cases[i].amount, "");
		plan(&s);
		const struct action *a =
			find(&s, ACT_PATCH_STATUS, out ? &kube_scaleouts : &kube_scaleins, "x");

		assert_non_null(a);
		assert_non_null(
			strstr(condition(json_get(a->body, "status"), "ScaleFailed", "message"),
			       cases[i].part));
		assert_null(json_get(status(&s), "replicas"));
		assert_null(find(&s, ACT_DELETE, &kube_pods, NULL));
		scene_end(&s);
	}
}

static void a_scalein_takes_the_line_first_and_then_the_pod(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	scaler(&s, "ScaleIn", "si", "\"toDelete\":{\"podNames\":[\"et-worker-1\"]}", "");
	plan(&s);
	const struct action *list = find(&s, ACT_PATCH, &kube_configmaps, "et-config");
	const struct action *gone = find(&s, ACT_DELETE, &kube_pods, "et-worker-1");

	assert_string_equal(hostfile(&s), "et-worker-0.et-workers:1\net-worker-2.et-workers:1\n");
	assert_non_null(list);
	assert_non_null(gone);
	assert_true(list->stage < gone->stage);
	assert_string_equal(gone->uid, "uid-et-worker-1");
	scene_end(&s);
}

static void a_changed_replicas_sets_the_size_anew(void **state)
{
	struct scene s;

	scene_begin(&s, "\"replicas\":4,\"minReplicas\":2,\"maxReplicas\":5,", RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_int_equal(json_get_int(status(&s), "replicas", 0), 4);
	assert_int_equal(json_get_int(status(&s), "observedReplicas", 0), 4);
	assert_non_null(find(&s, ACT_CREATE, &kube_pods, "et-worker-3"));
	scene_end(&s);
}

static void a_scaler_of_no_job_fails(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	s.w.job = (struct job){ .obj = NULL };
	scaler(&s, "ScaleOut", "so", "\"toAdd\":{\"count\":1}", "");
	plan(&s);
	const struct action *a = find(&s, ACT_PATCH_STATUS, &kube_scaleouts, "so");

	assert_non_null(a);
	assert_string_equal(condition(json_get(a->body, "status"), "ScaleFailed", "reason"),
			    "JobGone");
	scene_end(&s);
}

/* --- the end ----------------------------------------------------------------- */

static void ended(struct scene *s, const char *spec, const char *how)
{
	scene_begin(s, spec, RUNNING);
	three_run(s);
	s->npods--;
	cJSON_Delete(s->pods[s->npods]);
	pod(s, "et-launcher", how);
	pod(s, "et-worker-0", "ready");
	pod(s, "et-worker-1", "ready");
	pod(s, "et-worker-2", "ready");
}

static void a_failed_launcher_says_why_with_its_last_lines(void **state)
{
	struct scene s;

	ended(&s, SPEC, "failed");
	plan(&s);
	assert_non_null(find(&s, ACT_GET_LOG, &kube_pods, "et-launcher"));
	assert_null(json_get(status(&s), "phase"));
	s.w.log_known = true;
	s.w.log = "boom";
	plan(&s);
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Failed");
	assert_string_equal(condition(status(&s), "Failed", "message"),
			    "the launcher failed: Error: exit code 3; its last lines: boom");
	scene_end(&s);
}

static void a_launcher_is_tried_again_and_the_workers_stay(void **state)
{
	struct scene s;

	ended(&s, SPEC, "failed");
	s.w.job.restart = RESTART_ON_FAILURE;
	plan(&s);
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Restarting");
	assert_int_equal(json_get_int(status(&s), "restartCount", 0), 1);
	assert_non_null(find(&s, ACT_DELETE, &kube_pods, "et-launcher"));
	assert_null(find(&s, ACT_DELETE, &kube_pods, "et-worker-0"));
	scene_end(&s);
}

static void a_launcher_that_is_not_seen_is_asked_for_before_it_counts(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s);
	assert_non_null(find(&s, ACT_GET_LAUNCHER, &kube_pods, "et-launcher"));
	s.w.launcher_gone = true;
	plan(&s);
	assert_int_equal(json_get_int(status(&s), "restartCount", 0), 1);
	s.w.job.backoff_limit = 0;
	plan(&s);
	assert_string_equal(condition(status(&s), "Failed", "reason"), "LauncherLost");
	scene_end(&s);
}

static void a_deadline_ends_the_job(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	s.w.job.deadline_s = 100;
	plan(&s);
	assert_string_equal(condition(status(&s), "Failed", "reason"), "DeadlineExceeded");
	scene_end(&s);
}

static void pods_of_a_finished_job_go_by_its_policy(void **state)
{
	static const struct {
		enum job_clean clean;
		bool worker, dead;
	} cases[] = { { CLEAN_RUNNING, true, false },
		      { CLEAN_ALL, true, true },
		      { CLEAN_NONE, false, false } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scene s;

		scene_begin(&s, SPEC,
			    "{\"phase\":\"Succeeded\",\"replicas\":2,\"nextWorkerIndex\":2,"
			    "\"completionTime\":\"2023-11-14T22:13:00Z\",\"targetWorkers\":[]}");
		s.w.job.clean = cases[i].clean;
		s.w.job.ttl_s = 20;
		pod(&s, "et-worker-0", "ready");
		pod(&s, "et-worker-1", "failed");
		plan(&s);
		assert_int_equal(find(&s, ACT_DELETE, &kube_pods, "et-worker-0") != NULL,
				 cases[i].worker);
		assert_int_equal(find(&s, ACT_DELETE, &kube_pods, "et-worker-1") != NULL,
				 cases[i].dead);
		assert_non_null(find(&s, ACT_DELETE, &kube_trainingjobs, "et"));
		scene_end(&s);
	}
}

static void a_suspended_job_has_no_pods_and_fails_its_scalers(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	s.w.job.suspend = true;
	pod(&s, "et-worker-0", "ready");
	scaler(&s, "ScaleOut", "so", "\"toAdd\":{\"count\":1}", "");
	plan(&s);
	assert_string_equal(json_get_str(status(&s), "phase", ""), "Suspended");
	assert_non_null(find(&s, ACT_DELETE, &kube_pods, "et-launcher"));
	assert_non_null(find(&s, ACT_DELETE, &kube_pods, "et-worker-0"));
	assert_non_null(find(&s, ACT_PATCH_STATUS, &kube_scaleouts, "so"));
	scene_end(&s);
}

static void a_job_at_rest_asks_for_nothing(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, RUNNING);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	plan(&s); /* what the short status of this test lacks is written... */
	const struct action *a = find(&s, ACT_PATCH_STATUS, &kube_trainingjobs, NULL);
	const struct action *tell = find(&s, ACT_PATCH, &kube_pods, "et-launcher");
	struct err err = ERR_INIT;

	assert_non_null(a);
	assert_non_null(tell);
	unit_assert_ok(patch_merge(&s.job, a->body, &err), &err);
	unit_assert_ok(patch_merge(&s.pods[0], tell->body, &err), &err);
	job_view(s.job, &s.w.job);
	pod_view(s.pods[0], NULL, "et", "u1", &s.w.launcher);
	plan(&s); /* ...once */
	assert_int_equal(s.actions.n, 0);
	scene_end(&s);
}

/* Each allocation fails once: the plan is refused whole, or it is whole. */
static void sweep(struct scene *s)
{
	plan(s);
	size_t whole = s->actions.n;

	for (unsigned n = 1, fired = 1; fired; n++) {
		struct err err = ERR_INIT;

		actions_release(&s->actions);
		fault_arm(FAULT_ALLOC, n);
		int rc = plan_job(&s->w, NOW, &s->actions, &err);
		fired = fault_disarm();
		if (rc == 0) {
			assert_int_equal(s->actions.n, whole);
			continue;
		}
		assert_true(fired);
		assert_int_equal(err.fail, FAIL_NOMEM);
		assert_int_equal(s->actions.n, 0);
	}
	scene_end(s);
}

static void without_memory_a_plan_is_refused_whole(void **state)
{
	struct scene s;

	scene_begin(&s, SPEC, "");
	s.w.secret = false;
	s.w.service = NULL;
	sweep(&s);

	scene_begin(&s, SPEC, CREATED);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "ready");
	pod(&s, "et-worker-2", "ready");
	sweep(&s);

	scene_begin(&s, SPEC, SWAPPED);
	three_run(&s);
	pod(&s, "et-worker-0", "ready");
	pod(&s, "et-worker-1", "going:55");
	pod(&s, "et-worker-2", "failed");
	pod(&s, "et-worker-3", "ready");
	scaler(&s, "ScaleIn", "si", "\"toDelete\":{\"count\":1}", "");
	sweep(&s);

	growing(&s, "pending", SCALING("2023-11-14T22:12:00Z"));
	sweep(&s);

	ended(&s, SPEC, "failed");
	s.w.log_known = true;
	s.w.log = "boom";
	sweep(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(names_are_in_the_status_before_pods_are_made),
		UNIT_CASE(a_name_that_may_have_been_used_is_not_used_again),
		UNIT_CASE(the_launcher_starts_when_all_are_ready),
		UNIT_CASE(startPolicy_minimum_starts_with_what_there_is),
		UNIT_CASE(of_two_jobs_of_a_name_the_younger_fails),
		UNIT_CASE(an_object_of_somebody_else_is_left_alone),
		UNIT_CASE(a_lost_worker_is_replaced_under_a_new_name),
		UNIT_CASE(a_leaving_worker_keeps_its_line_until_the_replacement_is_ready),
		UNIT_CASE(both_changes_of_a_swap_are_one_update),
		UNIT_CASE(a_line_goes_when_the_grace_is_nearly_over),
		UNIT_CASE(at_the_minimum_the_line_stays_until_the_replacement_is_ready),
		UNIT_CASE(a_worker_that_is_unready_for_long_loses_its_line),
		UNIT_CASE(a_scaleout_is_written_to_both_before_its_pods_are_made),
		UNIT_CASE(new_workers_are_listed_all_at_once),
		UNIT_CASE(a_scaleout_that_times_out_is_rolled_back),
		UNIT_CASE(bounds_are_kept_whatever_was_let_through),
		UNIT_CASE(a_scalein_takes_the_line_first_and_then_the_pod),
		UNIT_CASE(a_changed_replicas_sets_the_size_anew),
		UNIT_CASE(a_scaler_of_no_job_fails),
		UNIT_CASE(a_failed_launcher_says_why_with_its_last_lines),
		UNIT_CASE(a_launcher_is_tried_again_and_the_workers_stay),
		UNIT_CASE(a_launcher_that_is_not_seen_is_asked_for_before_it_counts),
		UNIT_CASE(a_deadline_ends_the_job),
		UNIT_CASE(pods_of_a_finished_job_go_by_its_policy),
		UNIT_CASE(a_suspended_job_has_no_pods_and_fails_its_scalers),
		UNIT_CASE(a_job_at_rest_asks_for_nothing),
		UNIT_CASE(without_memory_a_plan_is_refused_whole),
	};
	UNIT_MAIN(tests);
}
