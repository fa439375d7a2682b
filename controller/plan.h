/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what to do about one job. A pure function: the same world and the
 * same time give the same actions; no network, no clock, no memory.
 *
 * The state of a job is in the API alone (status of the job and of its
 * scalers, the hostfile, the pods), so that a crash between any two actions
 * leaves nothing wrong. What the caller remembers between plans (struct
 * world: fresh, blocked, create_after_ms...) may be lost at any time: it only
 * saves work.
 *
 * Actions come in stages: those of one stage may run at once, the next stage
 * starts when all of the one before have succeeded, and after the first
 * failure the rest is dropped and the world is looked at again.
 */
#ifndef CONTROLLER_PLAN_H
#define CONTROLLER_PLAN_H
#include "base/strs.h"
#include "controller/pod.h"
#include "etjob/job.h"
#include "etjob/scaler.h"
#include "kube/client.h"

/* A name that a job needs and that an object of somebody else has. */
struct blocked {
	const char *kind, *name; /* "Pod", "et-worker-0"; borrowed */
	bool deleting;           /* it is on its way out: we wait */
	bool retry;              /* it may be free by now: try */
};

enum script_state { SCRIPT_RUNS, SCRIPT_DONE, SCRIPT_FAILED };

struct world {
	struct job job;        /* obj NULL: there is no such job (any more) */
	const char *ns, *name; /* of the job, also when it is gone */
	struct pod *workers;   /* ours, by index; owned by the world */
	size_t nworkers;
	struct pod launcher;    /* ours; obj NULL: none */
	struct scaler *scalers; /* that name the job, oldest first; owned by the world */
	size_t nscalers;
	const cJSON *service, *config; /* ours, or NULL */
	bool group;                    /* the PodGroup is known to be there, or needless */
	bool secret;                   /* known to be there */
	bool secret_recent;            /* and looked at less than a minute ago */
	struct blocked *blocked;       /* owned by the world */
	size_t nblocked;
	const char *rival; /* namespace of an older job of this name, or NULL */
	const struct strs
		*fresh;          /* worker names reserved by us and certainly never made; or NULL */
	int64_t create_after_ms; /* no workers are made before (back-off); 0: any time */
	const char *refused;     /* why the API refused the last pod, or NULL */
	bool launcher_gone;      /* the API server itself said that there is no launcher */
	bool log_known;          /* the log of the launcher that failed was asked for */
	const char *log;         /* its last lines, or NULL */
	bool allow_scripts;
	/* The script that ran last, or runs. */
	const char *script_uid; /* of its scaler, or NULL */
	enum script_state script;
	int64_t script_tries;
	const char *script_message; /* what it said when it failed, or NULL */
};
#define WORLD_INIT ((struct world){ .launcher = { .obj = NULL } })
void world_release(struct world *w);

enum act_kind {
	ACT_CREATE,       /* body */
	ACT_DELETE,       /* name, uid, grace_s */
	ACT_PATCH,        /* body: merge patch of the object */
	ACT_PATCH_STATUS, /* body: merge patch of status, with resourceVersion */
	ACT_SECRET,       /* makes the key and its Secret */
	ACT_EVENT,        /* regarding the job or a scaler; not waited for */
	ACT_GET_LAUNCHER, /* is it really gone? fills launcher_gone */
	ACT_GET_LOG,      /* last lines of the launcher; fills log */
	ACT_SCRIPT,       /* body: {uid, script, env, container, timeout}; not waited for */
};

/* Order of stages within a plan. */
enum act_stage {
	STAGE_SCALER,  /* what a scaler does is written first */
	STAGE_STATUS,  /* then the job's status: names are reserved before pods are made */
	STAGE_OBJECTS, /* Service, Secret, the host list */
	STAGE_PODS,    /* workers made and deleted, the launcher told of new hosts */
	STAGE_LAUNCH,  /* the launcher made */
	STAGE_TELL,    /* events: only about what has been done */
	STAGE_COUNT,
};

struct action {
	enum act_kind kind;
	enum act_stage stage;
	const struct kube_res *res;
	char *name, *uid;   /* owned; uid: precondition of a delete, or NULL */
	cJSON *body;        /* owned */
	int64_t grace_s;    /* delete: -1: the pod's own */
	bool warning;       /* event */
	const char *reason; /* event: static */
	char *message;      /* event: owned */
	const cJSON *about; /* event: the object, borrowed from the world */
};

struct actions {
	struct action *v; /* owned */
	size_t n;
	int64_t wake_ms;  /* plan again at this Unix time; 0: no need */
	int64_t failures; /* workers seen dead within a minute of their creation */
	/* Figures for metrics. */
	bool scale_done, scale_ok, scale_out;
	int64_t scale_ms; /* how long it took */
	int64_t lost;     /* workers that went without being asked */
	int64_t hosts;    /* lines of the host list; -1: not known */
};
#define ACTIONS_INIT ((struct actions){ .hosts = -1 })
void actions_release(struct actions *a);

/* Fills out (ACTIONS_INIT). FAIL_NOMEM or FAIL_LIMIT. */
MUST_USE int plan_job(const struct world *w, int64_t now_ms, struct actions *out, struct err *err);
#endif
