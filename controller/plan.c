/* SPDX-License-Identifier: Apache-2.0 */
/* The top of plan: a job's life from its creation to its end. */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/hosts.h"
#include "etjob/podspec.h"
#include "wire/time.h"

void world_release(struct world *w)
{
	free(w->workers);
	free(w->scalers);
	free(w->blocked);
	*w = WORLD_INIT;
}

static void action_release(struct action *a)
{
	free(a->name);
	free(a->uid);
	free(a->message);
	cJSON_Delete(a->body);
}

void actions_release(struct actions *a)
{
	for (size_t i = 0; i < a->n; i++)
		action_release(&a->v[i]);
	free(a->v);
	*a = ACTIONS_INIT;
}

void plan_fail(struct plan *p)
{
	if (!p->failed && p->err && p->err->fail == FAIL_NONE)
		(void)err_nomem(p->err); /* the caller of plan_job gets it */
	p->failed = true;
}

bool plan_ok(struct plan *p, int rc)
{
	if (rc < 0)
		plan_fail(p);
	return !p->failed;
}

const char *plan_text(struct plan *p, const struct buf *b)
{
	if (b->fail == FAIL_NOMEM)
		plan_fail(p);
	return buf_text(b);
}

void plan_wake(struct plan *p, int64_t at_ms)
{
	if (at_ms <= p->now)
		at_ms = p->now + 1000;
	if (p->out->wake_ms == 0 || at_ms < p->out->wake_ms)
		p->out->wake_ms = at_ms;
}

struct action *plan_act(struct plan *p, enum act_kind kind, enum act_stage stage,
			const struct kube_res *res, const char *name, cJSON *body)
{
	struct actions *a = p->out;
	struct action act = {
		.kind = kind, .stage = stage, .res = res, .body = body, .grace_s = -1
	};

	if (name && !p->failed)
		(void)plan_ok(p, str_copy(name, &act.name, p->err));
	struct action *v = p->failed ? NULL : reallocarray(a->v, a->n + 1, sizeof(*a->v));
	if (!v) {
		plan_fail(p);
		action_release(&act);
		return NULL;
	}
	a->v = v;
	a->v[a->n] = act;
	return &a->v[a->n++];
}

void plan_event(struct plan *p, const cJSON *about, bool warning, const char *reason,
		const char *fmt, ...)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	/* Told only when all before it has been done: a plan that is tried again says it once. */
	struct action *a = plan_act(p, ACT_EVENT, STAGE_TELL, &kube_events, NULL, NULL);
	if (!a)
		return;
	a->warning = warning;
	a->reason = reason;
	a->about = about;
	if (buf_finish(&text, &a->message, p->err) < 0)
		plan_fail(p);
}

void plan_delete_pod(struct plan *p, const struct pod *pod, int64_t grace_s)
{
	struct action *a = plan_act(p, ACT_DELETE, STAGE_PODS, &kube_pods, pod->name, NULL);

	if (!a)
		return;
	a->grace_s = grace_s;
	(void)plan_ok(p, str_copy(pod->uid, &a->uid, p->err));
}

static void read_names(struct plan *p, const cJSON *array, struct strs *out)
{
	const cJSON *v;

	json_each (v, array) {
		if (json_str(v) && !strs_has(out, json_str(v)))
			(void)plan_ok(p, strs_add(out, json_str(v), p->err));
	}
}

static void read_hosts(struct plan *p)
{
	const char *text = json_get_str(json_get(p->w->config, "data"), CONFIG_HOSTFILE, "");
	AUTO_JSON cJSON *names = NULL;

	if (!p->w->config) {
		read_names(p, p->job->current_workers, &p->listed);
		return;
	}
	struct err err = ERR_INIT;

	/* A list that someone broke by hand reads as empty and is written anew. */
	if (hosts_read(text, &names, &err) == 0)
		read_names(p, names, &p->listed);
	else if (err.fail == FAIL_NOMEM)
		plan_fail(p);
}

static int64_t bounded(const struct job *j, int64_t n)
{
	if (n > j->max)
		n = j->max;
	return n < j->min ? j->min : n;
}

/* No name that was ever handed out is below next_index, whatever the status says. */
static void read_next_index(struct plan *p)
{
	const struct world *w = p->w;
	const cJSON *v;

	p->next_index = p->job->next_index > 0 ? p->job->next_index : 0;
	for (size_t i = 0; i < w->nworkers; i++) {
		if (w->workers[i].index >= p->next_index)
			p->next_index = w->workers[i].index + 1;
	}
	for (size_t i = 0; i < p->target.n; i++) {
		int64_t index = name_worker_index(p->job->name, p->target.v[i]);

		if (index >= p->next_index)
			p->next_index = index + 1;
	}
	for (size_t i = 0; i < w->nscalers; i++) {
		if (!w->scalers[i].out)
			continue;
		json_each (v, w->scalers[i].pods) {
			int64_t index =
				name_worker_index(p->job->name, json_str(v) ? json_str(v) : "");

			if (index >= p->next_index)
				p->next_index = index + 1;
		}
	}
}

static bool is_new(const struct job *j)
{
	const cJSON *status = json_get(j->obj, "status");

	return j->phase == JOB_NEW && !json_get(status, "targetWorkers") &&
	       !json_get(status, "nextWorkerIndex");
}

static void begin(struct plan *p)
{
	const struct job *j = p->job;

	status_begin(p);
	read_names(p, j->target_workers, &p->target);
	read_hosts(p);
	p->desired = is_new(j) ? bounded(j, j->replicas) : j->target;
	p->base = p->desired;
	read_next_index(p);
}

/* The sizes in the status follow what was decided. */
static void settle(struct plan *p)
{
	status_names(p, "targetWorkers", &p->target);
	status_int(p, "replicas", p->desired);
	status_int(p, "nextWorkerIndex", p->next_index);
	status_int(p, "observedGeneration", p->job->generation);
}

static void start_new(struct plan *p)
{
	AUTO(buf) struct buf selector = BUF_INIT(LIMIT_TEXT);

	buf_printf(&selector,
		   LABEL_GROUP "=" ETJOB_GROUP "," LABEL_JOB "=%s," LABEL_ROLE "=" ROLE_WORKER,
		   p->job->name);
	status_phase(p, JOB_CREATED);
	status_str(p, "selector", plan_text(p, &selector));
	status_int(p, "observedReplicas", p->job->replicas);
	status_int(p, "restartCount", 0);
	status_time(p, "startTime", p->now);
	status_condition(p, p->status, "Created", true, "TrainingJobCreated",
			 "the job was accepted with %" PRId64 " worker%s", p->desired,
			 plural(p->desired));
}

void plan_finish(struct plan *p, bool ok, const char *reason, const char *message)
{
	status_phase(p, ok ? JOB_SUCCEEDED : JOB_FAILED);
	status_time(p, "completionTime", p->now);
	status_clear(p, "Running", reason);
	status_clear(p, "BelowMinimum", reason);
	status_condition(p, p->status, ok ? "Succeeded" : "Failed", true, reason, "%s", message);
	plan_event(p, p->job->obj, !ok, ok ? "Succeeded" : reason, "%s", message);
}

static void finished(struct plan *p)
{
	const struct job *j = p->job;
	int64_t end = 0;

	scale_fail_all(p, "JobFinished", "the job has finished");
	if (j->clean != CLEAN_NONE)
		workers_delete_all(p, j->clean == CLEAN_RUNNING, 5);
	if (p->w->launcher.obj && !p->w->launcher.deletion_ms &&
	    (j->clean == CLEAN_ALL || !p->w->launcher.done))
		plan_delete_pod(p, &p->w->launcher, 10);
	scale_prune(p);
	if (j->ttl_s < 0 || !time_get(json_get_str(p->status, "completionTime", NULL), &end))
		return;
	if (p->now < end + j->ttl_s * 1000) {
		plan_wake(p, end + j->ttl_s * 1000);
		return;
	}
	struct action *a = plan_act(p, ACT_DELETE, STAGE_LAUNCH, &kube_trainingjobs, j->name, NULL);
	if (a)
		(void)plan_ok(p, str_copy(j->uid, &a->uid, p->err));
}

static void suspended(struct plan *p)
{
	static const char why[] = "the job is suspended: set spec.suspend to false to go on";

	scale_fail_all(p, "JobSuspended", why);
	while (p->target.n)
		target_remove(&p->target, p->target.v[0]);
	AUTO(strs) struct strs none = STRS_INIT;
	status_names(p, "currentWorkers", &none);
	status_clear(p, "Running", "Suspended");
	status_clear(p, "LauncherCreated", "Suspended");
	status_clear(p, "WorkersReady", "Suspended");
	status_clear(p, "BelowMinimum", "Suspended");
	if (!status_is(p->status, "Suspended"))
		plan_event(p, p->job->obj, false, "Suspended",
			   "the job was suspended, its pods go");
	status_condition(p, p->status, "Suspended", true, "Suspended", "%s", why);
	status_phase(p, JOB_SUSPENDED);
	settle(p);
	if (p->w->launcher.obj && !p->w->launcher.deletion_ms)
		plan_delete_pod(p, &p->w->launcher, 30);
	workers_delete_all(p, false, 30);
}

/* Starts again with the present spec; the deadline does not count the time between. */
static void resume(struct plan *p)
{
	int64_t since = status_since(p->status, "Suspended"), start = 0;

	if (time_get(json_get_str(p->status, "startTime", NULL), &start) && since >= start &&
	    p->now > since)
		status_time(p, "startTime", start + (p->now - since));
	p->desired = bounded(p->job, p->job->replicas);
	p->base = p->desired;
	status_int(p, "observedReplicas", p->job->replicas);
	status_clear(p, "Suspended", "Resumed");
	status_phase(p, JOB_CREATED);
	plan_event(p, p->job->obj, false, "Resumed", "the job goes on with %" PRId64 " worker%s",
		   p->desired, plural(p->desired));
}

static bool past_deadline(struct plan *p)
{
	int64_t start = 0;

	if (p->job->deadline_s < 0 || !time_get(json_get_str(p->status, "startTime", NULL), &start))
		return false;
	if (p->now < start + p->job->deadline_s * 1000) {
		plan_wake(p, start + p->job->deadline_s * 1000);
		return false;
	}
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_printf(&text, "the job ran for longer than activeDeadlineSeconds (%" PRId64 ")",
		   p->job->deadline_s);
	plan_finish(p, false, "DeadlineExceeded", plan_text(p, &text));
	return true;
}

static bool conflict(struct plan *p)
{
	enum job_phase phase = status_phase_now(p);

	if (!p->w->rival || (phase != JOB_CREATED && phase != JOB_NEW) || p->w->launcher.obj)
		return false;
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_printf(&text,
		   "namespace %s has an older job of this name: delete one of them, or submit "
		   "this one under another name",
		   p->w->rival);
	status_condition(p, p->status, "NameConflict", true, "NameConflict", "%s",
			 plan_text(p, &text));
	plan_finish(p, false, "NameConflict", plan_text(p, &text));
	return true;
}

/* An object of somebody else has one of our names. */
static void blocked_conditions(struct plan *p)
{
	const struct world *w = p->w;

	if (!w->nblocked) {
		status_clear(p, "NameTaken", "NameFree");
		return;
	}
	const struct blocked *b = &w->blocked[0];
	if (b->deleting)
		status_condition(p, p->status, "NameTaken", true, "Terminating",
				 "%s %s of an earlier job still terminates: waiting for it to go",
				 b->kind, b->name);
	else
		status_condition(p, p->status, "NameTaken", true, "ForeignObject",
				 "%s %s exists and is not this job's: delete it, or submit the job "
				 "under another name",
				 b->kind, b->name);
	plan_wake(p, p->now + 10000);
}

static void children(struct plan *p)
{
	const struct world *w = p->w;
	cJSON *doc = NULL;
	bool slow = false;

	if (!w->service && !name_blocked(p, "Service", NULL, NULL) &&
	    plan_ok(p, podspec_service(p->job, &doc, p->err)))
		(void)plan_act(p, ACT_CREATE, STAGE_OBJECTS, &kube_services, NULL, doc);
	/* Before the pods, which Volcano does not schedule without it. */
	doc = NULL;
	if (!w->group && !name_blocked(p, "PodGroup", NULL, NULL) &&
	    plan_ok(p, podspec_pod_group(p->job, &doc, p->err)) && doc)
		(void)plan_act(p, ACT_CREATE, STAGE_OBJECTS, &kube_podgroups, NULL, doc);
	/* A worker that waits for long may wait for a Secret that somebody deleted. */
	for (size_t i = 0; i < w->nworkers; i++)
		slow = slow || (w->workers[i].pending && w->workers[i].node[0] &&
				p->now - w->workers[i].created_ms > 20000);
	if (slow && w->secret)
		plan_wake(p, p->now + 30000);
	if (podspec_own_secret(p->job))
		return; /* the user brings it, under a name of its own */
	if ((!w->secret || (slow && !w->secret_recent)) && !name_blocked(p, "Secret", NULL, NULL))
		(void)plan_act(p, ACT_SECRET, STAGE_OBJECTS, &kube_secrets, NULL, NULL);
}

/* A job that lives: everything between its creation and its end. */
static void alive(struct plan *p)
{
	if (past_deadline(p) || conflict(p) || launcher_plan(p))
		return;
	scale_plan(p);
	workers_replace(p);
	hosts_compute(p);
	blocked_conditions(p);
	launcher_conditions(p);
	settle(p);
	children(p);
	workers_act(p);
	hosts_act(p);
	launcher_start(p);
	scale_prune(p);
}

static void plan_run(struct plan *p)
{
	const struct job *j = p->job;

	if (!j->obj) {
		scale_orphans(p);
		return;
	}
	if (j->deleting)
		return;
	scale_adopt(p);
	begin(p);
	if (job_finished(j)) {
		finished(p);
		status_finish(p);
		return;
	}
	if (is_new(j))
		start_new(p);
	if (j->suspend) {
		suspended(p);
	} else {
		if (j->phase == JOB_SUSPENDED)
			resume(p);
		alive(p);
	}
	status_finish(p);
}

static int by_stage(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	return (x->stage > y->stage) - (x->stage < y->stage);
}

/* Stable: within a stage the order of planning is kept. */
static void sort_stages(struct actions *a)
{
	for (size_t i = 1; i < a->n; i++) {
		struct action act = a->v[i];
		size_t k = i;

		for (; k > 0 && by_stage(&a->v[k - 1], &act) > 0; k--)
			a->v[k] = a->v[k - 1];
		a->v[k] = act;
	}
}

int plan_job(const struct world *w, int64_t now_ms, struct actions *out, struct err *err)
{
	struct err local = ERR_INIT;
	struct plan p = { .w = w, .job = &w->job, .now = now_ms, .out = out, .err = &local };

	plan_run(&p);
	cJSON_Delete(p.status);
	strs_release(&p.target);
	strs_release(&p.reserved);
	strs_release(&p.listed);
	strs_release(&p.hosts);
	if (p.failed) {
		actions_release(out);
		if (err)
			*err = local;
		return -1;
	}
	sort_stages(out);
	return 0;
}
