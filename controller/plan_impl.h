/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_impl: what the files of plan share. Not for others.
 *
 * A failure (memory) latches in struct plan: helpers then do nothing and
 * plan_job() reports it, so that the rules read without error handling.
 */
#ifndef CONTROLLER_PLAN_IMPL_H
#define CONTROLLER_PLAN_IMPL_H
#include "controller/plan.h"
#include "etjob/names.h"

#define HISTORY_MAX 20   /* entries of scaleHistory, and finished scalers kept */
#define UNREADY_MS 10000 /* a listed worker may be unready for so long */
#define YOUNG_MS 60000   /* a worker that dies younger counts as a failed start */
#define MARGIN_MS 10000  /* a line goes so long before the grace is over */

enum worker_fate { FATE_STAYS, FATE_LEAVES };

struct plan {
	const struct world *w;
	const struct job *job;
	int64_t now;
	struct actions *out;
	struct err *err;
	bool failed;
	cJSON *status;        /* the next status, owned */
	struct strs target;   /* names of the workers to have */
	struct strs reserved; /* names that this plan hands out */
	struct strs listed;   /* lines of the hostfile now */
	struct strs hosts;    /* lines that it should have */
	bool hosts_known;     /* hosts was computed */
	int64_t desired;      /* size to have */
	int64_t next_index;
	const struct scaler *active; /* the scaler under way, or NULL */
	bool scaled;                 /* the active scaler ended in this plan */
	int64_t base;                /* lines until a ScaleOut is complete; else desired */
	bool touched;                /* something went wrong that needs no more than a new look */
};

/* "s" unless n is 1. */
static inline const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Latch. */
void plan_fail(struct plan *p);
/* rc of a helper: latches when it is negative; true when all is well. */
bool plan_ok(struct plan *p, int rc);
/* buf_text(), and a failure of its memory is latched. What is too long was cut. */
const char *plan_text(struct plan *p, const struct buf *b);
void plan_wake(struct plan *p, int64_t at_ms);

/* Actions: NULL when memory is out (latched). body's ownership is taken. */
struct action *plan_act(struct plan *p, enum act_kind kind, enum act_stage stage,
			const struct kube_res *res, const char *name, cJSON *body);
PRINTF(5, 6)
void plan_event(struct plan *p, const cJSON *about, bool warning, const char *reason,
		const char *fmt, ...);
void plan_delete_pod(struct plan *p, const struct pod *pod, int64_t grace_s);

/* Ends the job: its status says so from the next write on. */
void plan_finish(struct plan *p, bool ok, const char *reason, const char *message);

/* Status of the job (plan_status.c). */
void status_begin(struct plan *p);
void status_phase(struct plan *p, enum job_phase phase);
enum job_phase status_phase_now(const struct plan *p);
void status_int(struct plan *p, const char *key, int64_t n);
void status_str(struct plan *p, const char *key, const char *text); /* NULL: removed */
void status_time(struct plan *p, const char *key, int64_t ms);
void status_names(struct plan *p, const char *key, const struct strs *names);
/* Sets a condition on a status tree; times change only when something else does. */
PRINTF(6, 7)
void status_condition(struct plan *p, cJSON *status, const char *type, bool yes, const char *reason,
		      const char *fmt, ...);
/* Turns a condition off where it is there and on. */
void status_clear(struct plan *p, const char *type, const char *reason);
bool status_is(const cJSON *status, const char *type);
/* Unix ms of the last change of a condition; 0 when absent. */
int64_t status_since(const cJSON *status, const char *type);
void status_history(struct plan *p, int64_t from, int64_t to, const char *cause,
		    const char *result);
/* {metadata: {resourceVersion, uid}, status: diff} of obj; takes diff. NULL on no memory. */
cJSON *status_patch(struct plan *p, const cJSON *obj, cJSON *diff);
/* Emits the patch if the status changed. */
void status_finish(struct plan *p);

/* Workers (plan_workers.c). */
const struct pod *worker_find(const struct plan *p, const char *name);
/* In the target, ready, and not about to leave. */
bool worker_good(const struct plan *p, const struct pod *pod);
size_t workers_good(const struct plan *p);
/* Names n new workers and appends them to the target. */
void workers_reserve(struct plan *p, int64_t n);
/* Takes n workers off the target: those that do no work first, then the highest index; their
 * names go to victims. */
void workers_choose(struct plan *p, int64_t n, struct strs *victims);
void target_remove(struct strs *target, const char *name);
/* Drops the lost, reserves for the missing. */
void workers_replace(struct plan *p);
/* Makes pods of the target, deletes those that left. */
void workers_act(struct plan *p);
void workers_delete_all(struct plan *p, bool running_only, int64_t grace_s);
/* First reason why workers of the target are not ready: "et-worker-1: ..."; false: none given. */
bool workers_reason(struct plan *p, struct buf *out, const char **reason);
bool name_blocked(const struct plan *p, const char *kind, const char *name,
		  const struct blocked **out);

/* Host list (plan_hosts.c). */
void hosts_compute(struct plan *p);
/* Writes the list if it differs, and tells the launcher. */
void hosts_act(struct plan *p);
/* Patches the ConfigMap, which is there, where it differs. */
void hosts_write(struct plan *p, const char *text);
/* Text of the list and its revision for the launcher's annotation. */
void hosts_text(const struct plan *p, const struct strs *names, struct buf *out);
void hosts_revision(const char *text, char out[17]);

/* One scaler (plan_scaler.c). */
int64_t scaler_size(const struct scaler *s); /* workers that it adds or removes; 0: not said */
const char *scaler_kind(const struct scaler *s);
int64_t scaler_started_ms(const struct plan *p, const struct scaler *s);
/* Writes its status: it begins with these pods, or it ends; pods NULL: as they were. */
void scaler_begin(struct plan *p, const struct scaler *s, const struct strs *pods);
void scaler_end(struct plan *p, const struct scaler *s, bool ok, const char *reason,
		const char *message, const struct strs *pods);
/* "namespace/name", and whether the job's status says so. */
void scaler_current_name(const struct scaler *s, struct buf *out);
bool scaler_is_current(const struct plan *p, const struct scaler *s);
bool scaler_owned(const struct scaler *s); /* by some job */
enum scaler_gate { GATE_OPEN, GATE_WAITS, GATE_FAILED };
enum scaler_gate scaler_gate(struct plan *p, const struct scaler *s);
void scaler_script_failed(struct plan *p, const struct scaler *s);

/* Scaling (plan_scale.c). */
void scale_plan(struct plan *p);
void scale_fail_all(struct plan *p, const char *reason, const char *message);
void scale_prune(struct plan *p);
void scale_adopt(struct plan *p);
void scale_orphans(struct plan *p);

/* Launcher (plan_launcher.c). Returns true when the job has finished or must wait for it. */
bool launcher_plan(struct plan *p);
void launcher_start(struct plan *p);
void launcher_conditions(struct plan *p);
#endif
