/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/job.h"

#include "wire/quantity.h"
#include "wire/time.h"

static const struct {
	const char *word;
	enum job_phase phase;
} phases[] = {
	{ "Created", JOB_CREATED },
	{ "Running", JOB_RUNNING },
	{ "Scaling", JOB_SCALING },
	{ "Restarting", JOB_RESTARTING },
	{ "Suspended", JOB_SUSPENDED },
	{ "Succeeded", JOB_SUCCEEDED },
	{ "Failed", JOB_FAILED },
	/* et-operator's steps on the way to Running. */
	{ "Pending", JOB_CREATED },
	{ "WorkersCreated", JOB_CREATED },
	{ "WorkersReady", JOB_CREATED },
	{ "LauncherCreated", JOB_CREATED },
};

enum job_phase job_phase_parse(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		if (str_eq(word, phases[i].word))
			return phases[i].phase;
	}
	return JOB_NEW;
}

const char *job_phase_name(enum job_phase p)
{
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		if (phases[i].phase == p)
			return phases[i].word;
	}
	return "";
}

/* A whole number of at least min within int32; anything else reads as absent. */
static bool get_count(const cJSON *v, const char *key, int64_t min, int64_t *out)
{
	int64_t n;

	if (!json_int(json_get(v, key), &n) || n < min || n > INT32_MAX)
		return false;
	*out = n;
	return true;
}

static int64_t count_or(const cJSON *v, const char *key, int64_t min, int64_t fallback)
{
	int64_t n = fallback;

	return get_count(v, key, min, &n) ? n : fallback;
}

bool job_is_gpu_key(const char *key)
{
	size_t len = strlen(key);

	return str_starts(key, "nvidia.com/") || (len > 4 && strcmp(key + len - 4, "/gpu") == 0);
}

static int64_t add_devices(int64_t sum, const cJSON *quantity)
{
	int64_t milli, whole;

	/* A plain number, as nearly all are, takes no memory and so cannot read as none. */
	if (!json_int(quantity, &whole)) {
		if (!quantity_get(quantity, &milli))
			return sum;
		whole = milli / 1000 + (milli % 1000 > 0 ? 1 : 0);
	}
	if (whole <= 0)
		return sum;
	return whole > INT32_MAX - sum ? INT32_MAX : sum + whole;
}

int64_t job_template_gpus(const cJSON *template_)
{
	const cJSON *first = json_index(json_at(template_, "spec", "containers", NULL), 0);
	const cJSON *limits = json_at(first, "resources", "limits", NULL);
	const cJSON *requests = json_at(first, "resources", "requests", NULL);
	const cJSON *item;
	int64_t sum = 0;

	json_each (item, limits) {
		if (item->string && job_is_gpu_key(item->string))
			sum = add_devices(sum, item);
	}
	json_each (item, requests) {
		if (item->string && job_is_gpu_key(item->string) && !json_get(limits, item->string))
			sum = add_devices(sum, item);
	}
	return sum;
}

const cJSON *job_condition(const cJSON *obj, const char *type)
{
	const cJSON *c;

	json_each (c, json_at(obj, "status", "conditions", NULL)) {
		if (str_eq(json_get_str(c, "type", NULL), type))
			return c;
	}
	return NULL;
}

bool job_condition_true(const cJSON *obj, const char *type)
{
	return str_eq(json_get_str(job_condition(obj, type), "status", NULL), "True");
}

static void view_meta(const cJSON *obj, struct job *j)
{
	const cJSON *meta = json_get(obj, "metadata");

	j->ns = json_get_str(meta, "namespace", "");
	j->name = json_get_str(meta, "name", "");
	j->uid = json_get_str(meta, "uid", "");
	j->deleting = json_get(meta, "deletionTimestamp") != NULL;
	j->generation = json_get_int(meta, "generation", 0);
	if (!time_get(json_get_str(meta, "creationTimestamp", NULL), &j->created_ms))
		j->created_ms = 0;
}

static void view_replicas(const cJSON *spec, struct job *j)
{
	const cJSON *specs = json_get(spec, "etReplicaSpecs");
	const cJSON *worker = json_get(specs, "worker");
	const cJSON *launcher_template = json_at(specs, "launcher", "template", NULL);
	const cJSON *worker_template = json_get(worker, "template");

	j->replicas = 1;
	j->replicas_given = get_count(worker, "replicas", 1, &j->replicas);
	j->min = j->replicas;
	j->min_given = get_count(worker, "minReplicas", 1, &j->min);
	j->max = INT32_MAX;
	j->max_given = get_count(worker, "maxReplicas", 1, &j->max);
	j->launcher_template = cJSON_IsObject(launcher_template) ? launcher_template : NULL;
	j->worker_template = cJSON_IsObject(worker_template) ? worker_template : NULL;
	j->gpus = job_template_gpus(j->worker_template);
	j->slots = count_or(spec, "slotsPerWorker", 1, j->gpus > 0 ? j->gpus : 1);
}

static void view_policies(const cJSON *spec, struct job *j)
{
	const char *clean = json_get_str(spec, "cleanPodPolicy", "");
	int64_t n;

	j->attach = str_eq(json_get_str(spec, "launcherAttachMode", ""), "kubexec") ? ATTACH_KUBEXEC
										    : ATTACH_SSH;
	j->clean = str_eq(clean, "All")    ? CLEAN_ALL
		   : str_eq(clean, "None") ? CLEAN_NONE
					   : CLEAN_RUNNING;
	j->restart = str_eq(json_get_str(spec, "restartPolicy", ""), "OnFailure")
			     ? RESTART_ON_FAILURE
			     : RESTART_NEVER;
	j->start = str_eq(json_get_str(spec, "startPolicy", ""), "Minimum") ? START_MINIMUM
									    : START_ALL;
	j->backoff_limit = count_or(spec, "backoffLimit", 0, 6);
	j->suspend = json_get_bool(spec, "suspend", false);
	j->ttl_s = count_or(spec, "ttlSecondsAfterFinished", 0, -1);
	/* int64 in the API: a deadline of more than 68 years is legal, if odd. */
	j->deadline_s = json_int(json_get(spec, "activeDeadlineSeconds"), &n) && n >= 1 ? n : -1;
}

static void view_status(const cJSON *status, struct job *j)
{
	const cJSON *current = json_get(status, "currentWorkers");
	const cJSON *target = json_get(status, "targetWorkers");

	j->phase = job_phase_parse(json_get_str(status, "phase", ""));
	j->current_workers = cJSON_IsArray(current) ? current : NULL;
	j->target_workers = cJSON_IsArray(target) ? target : NULL;
	j->target = json_len(j->target_workers) > 0 ? (int64_t)json_len(j->target_workers)
						    : count_or(status, "replicas", 1, j->replicas);
	j->next_index = count_or(status, "nextWorkerIndex", 0, 0);
	j->restart_count = count_or(status, "restartCount", 0, 0);
}

void job_view_spec(const cJSON *spec, struct job *out)
{
	struct job j = { .ns = "", .name = "", .uid = "" };

	view_replicas(spec, &j);
	view_policies(spec, &j);
	j.target = j.replicas;
	*out = j;
}

void job_view(const cJSON *obj, struct job *out)
{
	struct job j;

	job_view_spec(json_get(obj, "spec"), &j);
	j.obj = obj;
	view_meta(obj, &j);
	view_status(json_get(obj, "status"), &j);
	*out = j;
}

bool job_finished(const struct job *j)
{
	return j->phase == JOB_SUCCEEDED || j->phase == JOB_FAILED;
}
