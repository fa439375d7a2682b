/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: a typed, read-only view of a TrainingJob document. Everything borrows
 * from the tree, which must live as long. A view is tolerant (a broken field
 * reads as its default); validate says what is broken.
 */
#ifndef ETJOB_JOB_H
#define ETJOB_JOB_H
#include "wire/json.h"

enum job_phase {
	JOB_NEW = 0, /* no phase yet */
	JOB_CREATED,
	JOB_RUNNING,
	JOB_SCALING,
	JOB_RESTARTING,
	JOB_SUSPENDED,
	JOB_SUCCEEDED,
	JOB_FAILED,
};
enum job_start { START_ALL, START_MINIMUM };
enum job_clean { CLEAN_RUNNING, CLEAN_ALL, CLEAN_NONE };
enum job_restart { RESTART_NEVER, RESTART_ON_FAILURE };
enum job_attach { ATTACH_SSH, ATTACH_KUBEXEC };

struct job {
	const cJSON *obj;
	const char *ns, *name, *uid; /* "" when absent */
	int64_t created_ms;          /* creationTimestamp, Unix ms; 0 when absent */
	bool deleting;               /* has a deletionTimestamp */
	int64_t generation;

	int64_t replicas; /* declared workers; default 1 */
	bool replicas_given;
	int64_t min, max; /* defaults: replicas; INT32_MAX (unbounded) */
	bool min_given, max_given;
	int64_t slots; /* processes a worker: slotsPerWorker, else GPUs, else 1 */
	int64_t gpus;  /* of the worker's first container */
	const cJSON *launcher_template, *worker_template; /* PodTemplateSpec or NULL */
	enum job_attach attach;
	enum job_clean clean;
	enum job_restart restart;
	int64_t backoff_limit; /* default 6 */
	bool suspend;
	int64_t deadline_s; /* activeDeadlineSeconds; -1: none */
	int64_t ttl_s;      /* ttlSecondsAfterFinished; -1: none */
	enum job_start start;

	/* status */
	enum job_phase phase;
	int64_t target; /* status.replicas/targetWorkers when there is a status, else replicas */
	int64_t next_index; /* status.nextWorkerIndex */
	int64_t restart_count;
	const cJSON *current_workers, *target_workers; /* arrays or NULL */
};

void job_view(const cJSON *obj, struct job *out);
/* As job_view, of a spec alone: what is not in there is absent. */
void job_view_spec(const cJSON *spec, struct job *out);
bool job_finished(const struct job *j);
enum job_phase job_phase_parse(const char *word);
const char *job_phase_name(enum job_phase p); /* "Running"; "" for JOB_NEW */
/* GPUs of a pod template's first container: limits, else requests, all device keys (a "gpu"
 * resource) added. */
int64_t job_template_gpus(const cJSON *template_);
/* A resource name that counts as a GPU: any "<vendor>/gpu", and all of "nvidia.com/". */
bool job_is_gpu_key(const char *key);
/* Condition of that type in status.conditions, or NULL. */
const cJSON *job_condition(const cJSON *obj, const char *type);
bool job_condition_true(const cJSON *obj, const char *type);
#endif
