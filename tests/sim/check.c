/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants: what must never happen, and what must have happened in the end. */
#include "etjob/hosts.h"
#include "etjob/names.h"
#include "sim.h"

static const char *owner_of(const cJSON *obj)
{
	const cJSON *o;

	json_each (o, json_at(obj, "metadata", "ownerReferences", NULL)) {
		return json_get_str(o, "uid", "");
	}
	return "";
}

static const char *label(const cJSON *obj, const char *key)
{
	return json_get_str(json_at(obj, "metadata", "labels", NULL), key, "");
}

static void use(struct sim *s, const char *name, const char *job_uid, const char *pod_uid)
{
	s->used = reallocarray(s->used, s->nused + 1, sizeof(*s->used));
	sim_need(s->used != NULL);
	struct used *u = &s->used[s->nused++];

	*u = (struct used){ .name = strdup(name),
			    .job_uid = strdup(job_uid),
			    .pod_uid = strdup(pod_uid) };
	sim_need(u->name && u->job_uid && u->pod_uid);
}

/* No worker name is used twice in a job's life. */
void check_created(struct sim *s, int kind, const cJSON *obj)
{
	const char *owner = owner_of(obj), *name = obj_str(obj, "name");

	if (kind != SEEN_POD || !owner[0] || !str_eq(label(obj, LABEL_ROLE), ROLE_WORKER))
		return;
	for (size_t i = 0; i < s->nused; i++) {
		if (str_eq(s->used[i].name, name) && str_eq(s->used[i].job_uid, owner))
			sim_broken(s, "worker name %s was used twice", name);
	}
	use(s, name, owner, obj_str(obj, "uid"));
}

static cJSON *names_of(const char *hostfile)
{
	cJSON *names = NULL;

	if (hosts_read(hostfile, &names, NULL) < 0 || !names)
		names = cJSON_CreateArray();
	sim_need(names != NULL);
	return names;
}

static bool has(const cJSON *names, const char *name)
{
	const cJSON *v;

	json_each (v, names) {
		if (str_eq(json_str(v), name))
			return true;
	}
	return false;
}

static const struct used *who(const struct sim *s, const char *name, const char *job)
{
	for (size_t i = 0; i < s->nused; i++) {
		if (str_eq(s->used[i].name, name) && str_eq(s->used[i].job_uid, job))
			return &s->used[i];
	}
	return NULL;
}

static bool training(struct sim *s, const cJSON *config)
{
	const cJSON *l = api_find(s, SEEN_POD, obj_str(config, "namespace"), "et-launcher");

	return l && !pod_dead(l) && str_eq(owner_of(l), owner_of(config)) &&
	       !json_get(json_get(l, "metadata"), "deletionTimestamp");
}

void check_config(struct sim *s, const char *before, const cJSON *config)
{
	const char *job_uid = owner_of(config), *ns = obj_str(config, "namespace");
	AUTO_JSON cJSON *old = names_of(before);
	AUTO_JSON cJSON *now =
		names_of(json_get_str(json_get(config, "data"), CONFIG_HOSTFILE, ""));
	const cJSON *job = api_find(s, SEEN_JOB, ns, "et"), *v;
	int64_t min = json_get_int(json_at(job, "spec", "etReplicaSpecs", "worker", NULL),
				   "minReplicas", 1);

	json_each (v, now) {
		const struct used *u = who(s, json_str(v), job_uid);
		struct tracked *t = u ? pod_track(s, u->pod_uid) : NULL;

		if (has(old, json_str(v)))
			continue;
		sim_say(s, "line %s added", json_str(v));
		if (!t || !t->ready_ever)
			sim_broken(s, "line of %s, which was never ready", json_str(v));
		else if (t->going_ms && s->now_ms - t->going_ms > SIM_LAG_MS)
			sim_broken(s, "line of %s, which has been leaving for long", json_str(v));
	}
	json_each (v, old) {
		const cJSON *pod = api_find(s, SEEN_POD, ns, json_str(v));
		const struct used *u = who(s, json_str(v), job_uid);

		if (has(now, json_str(v)))
			continue;
		if (pod && u && !str_eq(u->pod_uid, obj_str(pod, "uid")))
			pod = NULL; /* another pod has its name now */
		sim_say(s, "line %s removed, %zu left", json_str(v), json_len(now));
		if (!job || !str_eq(obj_str(job, "uid"), job_uid) || !pod || pod_dead(pod) ||
		    !training(s, config))
			continue;
		if ((int64_t)json_len(now) < min)
			sim_broken(s, "line of living %s removed, %zu left, minimum %" PRId64,
				   json_str(v), json_len(now), min);
	}
}

/* A scaler changes the size once. */
static void check_applied(struct sim *s, const cJSON *old, const cJSON *new)
{
	const char *was = json_get_str(old, "currentScaler", "");
	const char *now = json_get_str(new, "currentScaler", "");

	if (!now[0] || str_eq(was, now))
		return;
	for (size_t i = 0; i < s->nused; i++) {
		if (str_eq(s->used[i].name, now) && str_eq(s->used[i].job_uid, "scaler"))
			sim_broken(s, "scaler %s was applied twice", now);
	}
	use(s, now, "scaler", "");
}

void check_status(struct sim *s, int kind, const cJSON *before, const cJSON *now)
{
	const cJSON *old = json_get(before, "status"), *new = json_get(now, "status");
	const char *phase = json_get_str(old, "phase", "");

	if (kind == SEEN_SCALEOUT || kind == SEEN_SCALEIN) {
		bool finished = str_eq(phase, "ScaleSucceeded") || str_eq(phase, "ScaleFailed");

		if (!json_equal(old, new))
			sim_say(s, "scaler %s: %s", obj_str(now, "name"),
				json_get_str(new, "phase", ""));
		if (finished && !json_equal(old, new))
			sim_broken(s, "finished scaler %s was changed", obj_str(now, "name"));
	}
	if (kind != SEEN_JOB)
		return;
	struct job job;

	check_applied(s, old, new);
	job_view(now, &job);
	if (!str_eq(phase, json_get_str(new, "phase", "")) ||
	    json_get_int(old, "replicas", 0) != job.target)
		sim_say(s, "job %s/%s: %s, %" PRId64 " workers", job.ns, job.name,
			json_get_str(new, "phase", ""), job.target);
	if (job.target < job.min || job.target > job.max)
		sim_broken(s, "target %" PRId64 " is outside of %" PRId64 " to %" PRId64,
			   job.target, job.min, job.max);
	if (job.restart_count > job.backoff_limit)
		sim_broken(s, "restarted %" PRId64 " times, backoffLimit %" PRId64,
			   job.restart_count, job.backoff_limit);
	if (job.restart_count > s->launcher_deaths)
		sim_broken(s, "restartCount %" PRId64 ", but only %" PRId64 " launchers ended",
			   job.restart_count, s->launcher_deaths);
	if (job.next_index < json_get_int(old, "nextWorkerIndex", 0))
		sim_broken(s, "nextWorkerIndex went back");
	if ((str_eq(phase, "Succeeded") || str_eq(phase, "Failed")) &&
	    !str_eq(phase, json_get_str(new, "phase", "")))
		sim_broken(s, "a finished job turned %s", json_get_str(new, "phase", ""));
}

static size_t pods_of(struct sim *s, const struct job *job, const char *role, bool live_only)
{
	size_t n = 0;

	for (size_t i = 0; i < s->objs[SEEN_POD].n; i++) {
		const cJSON *p = s->objs[SEEN_POD].v[i];

		n += str_eq(owner_of(p), job->uid) && str_eq(label(p, LABEL_ROLE), role) &&
		     !(live_only && pod_dead(p));
	}
	return n;
}

static bool blocked(const struct job *job)
{
	return job_condition_true(job->obj, "NameTaken");
}

static void check_running(struct sim *s, const struct job *job)
{
	const cJSON *config = api_find(s, SEEN_CONFIG, job->ns, "et-config"), *v;
	AUTO_JSON cJSON *lines =
		names_of(json_get_str(json_get(config, "data"), CONFIG_HOSTFILE, ""));
	const char *phase = json_get_str(json_get(job->obj, "status"), "phase", "");

	if (!str_eq(phase, "Running"))
		sim_broken(s, "in the end the job is %s, not Running", phase);
	if (pods_of(s, job, ROLE_LAUNCHER, true) != 1)
		sim_broken(s, "in the end there is no launcher");
	if (pods_of(s, job, ROLE_WORKER, false) != (size_t)job->target)
		sim_broken(s, "in the end there are %zu worker pods for %" PRId64,
			   pods_of(s, job, ROLE_WORKER, false), job->target);
	if (json_len(lines) != (size_t)job->target)
		sim_broken(s, "in the end there are %zu lines for %" PRId64 " workers",
			   json_len(lines), job->target);
	json_each (v, lines) {
		const cJSON *pod = api_find(s, SEEN_POD, job->ns, json_str(v));

		if (!pod || !pod_ready(pod))
			sim_broken(s, "in the end %s is listed and not ready", json_str(v));
	}
	if (json_len(job->current_workers) != (size_t)job->target)
		sim_broken(s, "in the end currentWorkers has %zu of %" PRId64,
			   json_len(job->current_workers), job->target);
}

static void check_job(struct sim *s, const struct job *job)
{
	static const char *const foreign[] = { "et-worker-0", "et-worker-3", "et-launcher" };

	if (job->phase == JOB_SUCCEEDED || job->phase == JOB_FAILED) {
		size_t live =
			pods_of(s, job, ROLE_WORKER, true) + pods_of(s, job, ROLE_LAUNCHER, true);

		if (job->clean != CLEAN_NONE && live)
			sim_broken(s, "in the end a finished job has %zu pods that run", live);
		return;
	}
	if (job->suspend) {
		if (pods_of(s, job, ROLE_WORKER, false) + pods_of(s, job, ROLE_LAUNCHER, false))
			sim_broken(s, "in the end a suspended job has pods");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		const cJSON *pod = api_find(s, SEEN_POD, job->ns, foreign[i]);

		if (pod && !str_eq(owner_of(pod), job->uid) && blocked(job))
			return; /* it waits, and says so */
	}
	check_running(s, job);
}

static bool job_phase_done(const cJSON *obj)
{
	struct job job;

	job_view(obj, &job);
	return job_finished(&job);
}

void check_end(struct sim *s)
{
	for (size_t i = 0; i < s->objs[SEEN_JOB].n; i++) {
		struct job job;

		job_view(s->objs[SEEN_JOB].v[i], &job);
		if (json_get(json_get(job.obj, "status"), "currentScaler"))
			sim_broken(s, "in the end a scaler is still current");
		check_job(s, &job);
	}
	for (int kind = SEEN_SCALEOUT; kind <= SEEN_SCALEIN; kind++) {
		for (size_t i = 0; i < s->objs[kind].n; i++) {
			const cJSON *o = s->objs[kind].v[i];
			const char *phase = json_get_str(json_get(o, "status"), "phase", "");
			const cJSON *job = api_find(s, SEEN_JOB, obj_str(o, "namespace"), "et");

			if (job && job_condition_true(job, "NameTaken") && !job_phase_done(job))
				continue; /* the job waits, and its scalers with it */
			if (!str_eq(phase, "ScaleSucceeded") && !str_eq(phase, "ScaleFailed"))
				sim_broken(s, "in the end scaler %s is %s", obj_str(o, "name"),
					   phase);
			if (!owner_of(o)[0] && s->objs[SEEN_JOB].n &&
			    api_find(s, SEEN_JOB, obj_str(o, "namespace"), "et") &&
			    !str_eq(phase, "ScaleFailed"))
				sim_broken(s, "in the end scaler %s has no owner",
					   obj_str(o, "name"));
		}
	}
}
