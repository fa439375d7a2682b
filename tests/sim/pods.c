/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler and kubelet, and what can happen to pods. */
#include "etjob/names.h"
#include "sim.h"
#include "wire/time.h"

#define NODES 3

static cJSON *status_of(cJSON *pod)
{
	cJSON *status = json_need_object(pod, "status", NULL);

	sim_need(status != NULL);
	return status;
}

static void set_str(cJSON *v, const char *key, const char *text)
{
	sim_need(json_set_str(v, key, text, NULL) == 0);
}

static const char *phase_of(const cJSON *pod)
{
	return json_get_str(json_get(pod, "status"), "phase", "Pending");
}

static void set_condition(struct sim *s, cJSON *pod, const char *type, const char *status,
			  const char *reason)
{
	cJSON *list = json_need_array(status_of(pod), "conditions", NULL), *c;
	char now[TIME_TEXT_SIZE];

	sim_need(list != NULL);
	json_each (c, list) {
		if (str_eq(json_get_str(c, "type", ""), type))
			break;
	}
	if (!c) {
		c = cJSON_CreateObject();
		sim_need(c != NULL && json_append(list, c, NULL) == 0);
		set_str(c, "type", type);
	}
	sim_time(s, now);
	set_str(c, "status", status);
	set_str(c, "reason", reason);
	set_str(c, "lastTransitionTime", now);
}

static const cJSON *condition(const cJSON *pod, const char *type)
{
	const cJSON *c;

	json_each (c, json_at(pod, "status", "conditions", NULL)) {
		if (str_eq(json_get_str(c, "type", ""), type))
			return c;
	}
	return NULL;
}

bool pod_dead(const cJSON *pod)
{
	return str_eq(phase_of(pod), "Failed") || str_eq(phase_of(pod), "Succeeded");
}

bool pod_ready(const cJSON *pod)
{
	return str_eq(phase_of(pod), "Running") &&
	       str_eq(json_get_str(condition(pod, "Ready"), "status", ""), "True");
}

struct tracked *pod_track(struct sim *s, const char *uid)
{
	for (size_t i = 0; i < s->ntracked; i++) {
		if (str_eq(s->tracked[i].uid, uid))
			return &s->tracked[i];
	}
	s->tracked = reallocarray(s->tracked, s->ntracked + 1, sizeof(*s->tracked));
	sim_need(s->tracked != NULL);
	s->tracked[s->ntracked] = (struct tracked){ .uid = strdup(uid) };
	sim_need(s->tracked[s->ntracked].uid != NULL);
	return &s->tracked[s->ntracked++];
}

static bool is_launcher(const cJSON *pod)
{
	return str_eq(json_get_str(json_at(pod, "metadata", "labels", NULL), LABEL_ROLE, ""),
		      ROLE_LAUNCHER);
}

void pod_finish(struct sim *s, cJSON *pod, int code, const char *reason)
{
	cJSON *status = status_of(pod), *list, *c, *ended;

	sim_say(s, "pod %s ends with %d %s", obj_str(pod, "name"), code, reason);
	set_str(status, "phase", code ? "Failed" : "Succeeded");
	if (reason[0])
		set_str(status, "reason", reason);
	json_del(status, "containerStatuses");
	list = json_need_array(status, "containerStatuses", NULL);
	c = list ? cJSON_CreateObject() : NULL;
	sim_need(c != NULL && json_append(list, c, NULL) == 0);
	set_str(c, "name", "et");
	ended = json_need_object(c, "state", NULL);
	ended = ended ? json_need_object(ended, "terminated", NULL) : NULL;
	sim_need(ended != NULL && json_set_int(ended, "exitCode", code, NULL) == 0);
	set_condition(s, pod, "Ready", "False", "PodCompleted");
	struct tracked *t = pod_track(s, obj_str(pod, "uid"));

	if (!t->going_ms)
		t->going_ms = s->now_ms;
	if (is_launcher(pod))
		s->launcher_deaths++;
	api_changed(s, SEEN_POD, pod);
}

static bool has_room(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->objs[SEEN_POD].n; i++) {
		const cJSON *p = s->objs[SEEN_POD].v[i];

		n += json_get(json_get(p, "spec"), "nodeName") && !pod_dead(p);
	}
	return n < s->capacity;
}

static void schedule(struct sim *s, cJSON *pod)
{
	cJSON *spec = json_get_mut(pod, "spec");
	char node[8];

	if (!has_room(s)) {
		if (!str_eq(json_get_str(condition(pod, "PodScheduled"), "status", ""), "False")) {
			set_condition(s, pod, "PodScheduled", "False", "Unschedulable");
			api_changed(s, SEEN_POD, pod);
		}
		return;
	}
	(void)snprintf(node, sizeof(node), "n%zu", sim_below(s, NODES));
	for (size_t i = 0; i < s->objs[SEEN_NODE].n; i++) {
		const cJSON *n = s->objs[SEEN_NODE].v[i];

		if (str_eq(obj_str(n, "name"), node) &&
		    json_len(json_at(n, "spec", "taints", NULL)))
			return;
	}
	set_str(spec, "nodeName", node);
	set_condition(s, pod, "PodScheduled", "True", "");
	api_changed(s, SEEN_POD, pod);
}

static void live(struct sim *s, cJSON *pod)
{
	const char *phase = phase_of(pod);

	if (str_eq(phase, "Pending")) {
		set_str(status_of(pod), "phase", "Running");
		set_condition(s, pod, "Ready", "False", "ContainersNotReady");
		api_changed(s, SEEN_POD, pod);
	} else if (!pod_ready(pod)) {
		set_condition(s, pod, "Ready", "True", "");
		api_changed(s, SEEN_POD, pod);
	}
}

static void accident(struct sim *s, cJSON *pod)
{
	if (is_launcher(pod)) {
		if (sim_chance(s, CH_LAUNCHER, 40))
			pod_finish(s, pod, sim_below(s, 3) ? 1 : 0, "");
		return;
	}
	switch (sim_below(s, 4)) {
	case 0:
		if (sim_chance(s, CH_POD, 50))
			pod_finish(s, pod, 137, "");
		break;
	case 1:
		if (sim_chance(s, CH_POD, 50))
			pod_finish(s, pod, 1, "Evicted");
		break;
	case 2:
		if (pod_ready(pod) && sim_chance(s, CH_POD, 50)) {
			sim_say(s, "pod %s turns unready", obj_str(pod, "name"));
			set_condition(s, pod, "Ready", "False", "ContainersNotReady");
			api_changed(s, SEEN_POD, pod);
		}
		break;
	default:
		if (sim_chance(s, CH_POD, 30)) {
			sim_say(s, "pod %s is preempted", obj_str(pod, "name"));
			set_condition(s, pod, "DisruptionTarget", "True", "PreemptionByScheduler");
			struct tracked *t = pod_track(s, obj_str(pod, "uid"));
			if (!t->going_ms)
				t->going_ms = s->now_ms;
			api_changed(s, SEEN_POD, pod);
			api_delete(s, SEEN_POD, pod, 10);
		}
	}
}

static void step(struct sim *s, cJSON *pod)
{
	const cJSON *meta = json_get(pod, "metadata");
	int64_t end = 0;

	if (time_get(json_get_str(meta, "deletionTimestamp", NULL), &end)) {
		if (end - SIM_EPOCH_MS <= s->now_ms || sim_below(s, 4) == 0)
			api_remove(s, SEEN_POD, pod);
		return;
	}
	if (pod_dead(pod))
		return;
	if (!json_get(json_get(pod, "spec"), "nodeName")) {
		schedule(s, pod);
		return;
	}
	if (!s->calm && sim_below(s, 12) == 0)
		accident(s, pod);
	else
		live(s, pod);
}

void pods_step(struct sim *s, bool all)
{
	size_t n = s->objs[SEEN_POD].n;

	if (!n)
		return;
	if (!all) {
		step(s, s->objs[SEEN_POD].v[sim_below(s, n)]);
		return;
	}
	for (size_t i = 0; i < s->objs[SEEN_POD].n;) {
		size_t before = s->objs[SEEN_POD].n;

		step(s, s->objs[SEEN_POD].v[i]);
		if (before == s->objs[SEEN_POD].n)
			i++;
	}
}
