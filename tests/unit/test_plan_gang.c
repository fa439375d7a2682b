/* SPDX-License-Identifier: Apache-2.0 */
/* A job that Volcano schedules: its PodGroup comes before its pods. */
#include "controller/plan.h"
#include "jobs.h"
#include "unit.h"

static const struct action *find(const struct actions *a, const struct kube_res *res)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].kind == ACT_CREATE && a->v[i].res == res)
			return &a->v[i];
	}
	return NULL;
}

static void plan(const cJSON *obj, bool group, struct actions *out)
{
	struct world w = WORLD_INIT;
	struct err err = ERR_INIT;

	w.ns = "ml";
	w.name = "et";
	w.group = group;
	job_view(obj, &w.job);
	unit_assert_ok(plan_job(&w, INT64_C(1767323046000), out, &err), &err);
	world_release(&w);
}

static void the_group_comes_before_the_pods(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO(actions) struct actions first = ACTIONS_INIT, again = ACTIONS_INIT;
	const struct action *group;

	jobs_set(&job, W "/schedulerName", "\"volcano\"");
	jobs_set(&job, "/status", NULL);
	plan(job, false, &first);
	group = find(&first, &kube_podgroups);
	assert_non_null(group);
	assert_int_equal(group->stage, STAGE_OBJECTS);
	unit_assert_json(json_get(group->body, "spec"), "{\"minMember\":1}");
	assert_non_null(find(&first, &kube_pods));
	assert_true(group < find(&first, &kube_pods));
	plan(job, true, &again);
	assert_null(find(&again, &kube_podgroups));
}

static void other_jobs_have_none(void **state)
{
	AUTO_JSON cJSON *job = jobs_running();
	AUTO(actions) struct actions actions = ACTIONS_INIT;

	jobs_set(&job, "/status", NULL);
	plan(job, false, &actions);
	assert_non_null(find(&actions, &kube_pods));
	assert_null(find(&actions, &kube_podgroups));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(the_group_comes_before_the_pods),
		UNIT_CASE(other_jobs_have_none),
	};

	UNIT_MAIN(tests);
}
