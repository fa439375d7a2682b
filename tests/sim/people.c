/* SPDX-License-Identifier: Apache-2.0 */
/* What users and administrators do, at random. */
#include "etjob/names.h"
#include "sim.h"
#include "wire/time.h"

static cJSON *parse(const char *text)
{
	cJSON *v = NULL;
	struct err err = ERR_INIT;

	sim_need(json_parse(text, strlen(text), &v, &err) == 0);
	return v;
}

static void set_int(cJSON *v, const char *key, int64_t n)
{
	sim_need(v && json_set_int(v, key, n, NULL) == 0);
}

static void set_str(cJSON *v, const char *key, const char *text)
{
	sim_need(v && json_set_str(v, key, text, NULL) == 0);
}

static cJSON *make_job(struct sim *s, const char *ns)
{
	static const char *const cleans[] = { "Running", "All", "None" };
	cJSON *job = parse(
		"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\","
		"\"metadata\":{\"name\":\"et\",\"generation\":1},\"spec\":{\"etReplicaSpecs\":{"
		"\"launcher\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"et\",\"image\":\"i\","
		"\"command\":[\"l\"]}]}}},"
		"\"worker\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"et\",\"image\":\"i\","
		"\"command\":[\"w\"]}]}}}}}}");
	cJSON *spec = json_get_mut(job, "spec");
	cJSON *worker = json_at_mut(spec, "etReplicaSpecs", "worker", NULL);
	int64_t min = 1 + (int64_t)sim_below(s, 2), replicas = min + (int64_t)sim_below(s, 3);

	set_str(json_get_mut(job, "metadata"), "namespace", ns);
	set_int(worker, "minReplicas", min);
	set_int(worker, "replicas", replicas);
	set_int(worker, "maxReplicas", replicas + (int64_t)sim_below(s, 3));
	set_int(spec, "backoffLimit", (int64_t)sim_below(s, 4));
	set_str(spec, "cleanPodPolicy", cleans[sim_below(s, 3)]);
	if (sim_below(s, 2))
		set_str(spec, "restartPolicy", "OnFailure");
	if (sim_below(s, 3) == 0)
		set_str(spec, "startPolicy", "Minimum");
	if (sim_below(s, 8) == 0)
		set_int(spec, "activeDeadlineSeconds", 200);
	if (sim_below(s, 8) == 0)
		set_int(spec, "ttlSecondsAfterFinished", 100);
	return job;
}

void people_start(struct sim *s)
{
	char name[8];

	for (int i = 0; i < 3; i++) {
		cJSON *node = parse(
			"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{},\"spec\":{}}");

		(void)snprintf(name, sizeof(name), "n%d", i);
		set_str(json_get_mut(node, "metadata"), "name", name);
		sim_need(api_create(s, SEEN_NODE, node) != NULL);
	}
	sim_need(api_create(s, SEEN_JOB, make_job(s, "a")) != NULL);
}

static void bump(struct sim *s, cJSON *job)
{
	cJSON *meta = json_get_mut(job, "metadata");

	set_int(meta, "generation", json_get_int(meta, "generation", 1) + 1);
	api_changed(s, SEEN_JOB, job);
}

static void make_scaler(struct sim *s, const cJSON *job)
{
	bool out = sim_below(s, 2);
	cJSON *obj = parse("{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"metadata\":{},"
			   "\"spec\":{\"selector\":{\"name\":\"et\"}}}");
	cJSON *spec = json_get_mut(obj, "spec");
	cJSON *amount = json_need_object(spec, out ? "toAdd" : "toDelete", NULL);
	const cJSON *target = json_at(job, "status", "targetWorkers", NULL);
	char name[24];

	(void)snprintf(name, sizeof(name), "s%" PRId64, s->uid);
	set_str(obj, "kind", out ? KIND_SCALEOUT : KIND_SCALEIN);
	set_str(json_get_mut(obj, "metadata"), "name", name);
	set_str(json_get_mut(obj, "metadata"), "namespace", obj_str(job, "namespace"));
	set_int(spec, "timeout", 5 + (int64_t)sim_below(s, 60));
	if (!out && json_len(target) && sim_below(s, 2)) {
		cJSON *names = json_need_array(amount, "podNames", NULL);

		sim_need(names && json_append_str(names,
						  json_str(json_index(
							  target, sim_below(s, json_len(target)))),
						  NULL) == 0);
	} else {
		set_int(amount, "count", 1 + (int64_t)sim_below(s, 2));
	}
	sim_say(s, "people: %s %s", out ? KIND_SCALEOUT : KIND_SCALEIN, name);
	sim_need(api_create(s, out ? SEEN_SCALEOUT : SEEN_SCALEIN, obj) != NULL);
}

static cJSON *any(struct sim *s, int kind)
{
	return s->objs[kind].n ? s->objs[kind].v[sim_below(s, s->objs[kind].n)] : NULL;
}

static void delete_something(struct sim *s)
{
	static const int kinds[] = { SEEN_POD,    SEEN_POD,     SEEN_POD,   SEEN_POD,
				     SEEN_CONFIG, SEEN_SERVICE, KIND_SECRET };
	int kind = kinds[sim_below(s, ARRAY_LEN(kinds))];
	cJSON *obj = any(s, kind);

	if (!obj)
		return;
	int64_t grace = kind == SEEN_POD && sim_below(s, 3) ? 5 + (int64_t)sim_below(s, 60) : 0;

	sim_say(s, "people: delete %s, grace %" PRId64, obj_str(obj, "name"), grace);
	api_delete(s, kind, obj, grace);
}

void people_untaint(struct sim *s, cJSON *node)
{
	cJSON *spec = json_get_mut(node, "spec");

	if (!json_get(spec, "taints"))
		return;
	json_del(spec, "taints");
	api_changed(s, SEEN_NODE, node);
	for (size_t i = 0; i < s->objs[SEEN_POD].n; i++) {
		const cJSON *pod = s->objs[SEEN_POD].v[i];
		struct tracked *t = pod_track(s, obj_str(pod, "uid"));

		if (str_eq(json_get_str(json_get(pod, "spec"), "nodeName", ""),
			   obj_str(node, "name")) &&
		    !pod_dead(pod) && !obj_str(pod, "deletionTimestamp")[0])
			t->going_ms = 0;
	}
}

static void taint(struct sim *s)
{
	cJSON *node = any(s, SEEN_NODE), *spec = json_get_mut(node, "spec");

	if (json_get(spec, "taints")) {
		people_untaint(s, node);
		return;
	}
	cJSON *taints = parse("[{\"key\":\"gone\",\"effect\":\"NoExecute\"}]");

	sim_say(s, "people: taint %s", obj_str(node, "name"));
	sim_need(json_set(spec, "taints", taints, NULL) == 0);
	api_changed(s, SEEN_NODE, node);
	for (size_t i = 0; i < s->objs[SEEN_POD].n; i++) {
		const cJSON *pod = s->objs[SEEN_POD].v[i];
		struct tracked *t = pod_track(s, obj_str(pod, "uid"));

		if (str_eq(json_get_str(json_get(pod, "spec"), "nodeName", ""),
			   obj_str(node, "name")) &&
		    !t->going_ms)
			t->going_ms = s->now_ms;
	}
}

static void change_replicas(struct sim *s, cJSON *job)
{
	cJSON *worker = json_at_mut(job, "spec", "etReplicaSpecs", "worker", NULL);
	int64_t min = json_get_int(worker, "minReplicas", 1),
		max = json_get_int(worker, "maxReplicas", 1);
	int64_t n = min + (int64_t)sim_below(s, (size_t)(max - min + 1));

	sim_say(s, "people: replicas %" PRId64, n);
	set_int(worker, "replicas", n);
	bump(s, job);
}

static void foreign(struct sim *s)
{
	static const char *const names[] = { "et-worker-0", "et-worker-3", "et-launcher" };
	cJSON *pod =
		parse("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"a\"},"
		      "\"spec\":{\"containers\":[{\"name\":\"x\"}]}}");

	set_str(json_get_mut(pod, "metadata"), "name", names[sim_below(s, ARRAY_LEN(names))]);
	sim_say(s, "people: a foreign pod %s", obj_str(pod, "name"));
	(void)api_create(s, SEEN_POD, pod);
}

static void rival(struct sim *s)
{
	cJSON *job = api_find(s, SEEN_JOB, "a", "et");

	if (sim_below(s, 2)) {
		sim_say(s, "people: a job of that name in another namespace");
		(void)api_create(s, SEEN_JOB, make_job(s, "b"));
	} else if (job && sim_below(s, 2)) {
		sim_say(s, "people: delete the job");
		api_delete(s, SEEN_JOB, job, 0);
	} else {
		(void)api_create(s, SEEN_JOB, make_job(s, "a"));
	}
}

void people_step(struct sim *s)
{
	cJSON *job = api_find(s, SEEN_JOB, "a", "et");

	if (job && sim_chance(s, CH_SCALER, 30))
		make_scaler(s, job);
	else if (sim_chance(s, CH_SCALER, 4) && s->objs[SEEN_SCALEOUT].n)
		api_delete(s, SEEN_SCALEOUT, any(s, SEEN_SCALEOUT), 0);
	else if (sim_chance(s, CH_DELETE, 25))
		delete_something(s);
	else if (sim_chance(s, CH_TAINT, 15))
		taint(s);
	else if (job && sim_chance(s, CH_REPLICAS, 15))
		change_replicas(s, job);
	else if (job && sim_chance(s, CH_SUSPEND, 10)) {
		bool now = json_get_bool(json_get(job, "spec"), "suspend", false);

		sim_say(s, "people: suspend %d", !now);
		sim_need(json_set_bool(json_get_mut(job, "spec"), "suspend", !now, NULL) == 0);
		bump(s, job);
	} else if (sim_chance(s, CH_FOREIGN, 5)) {
		foreign(s);
	} else if (sim_chance(s, CH_RIVAL, 8)) {
		rival(s);
	} else if (sim_chance(s, CH_CAPACITY, 15)) {
		s->capacity = 2 + sim_below(s, 6);
		sim_say(s, "people: room for %zu pods", s->capacity);
	}
}
