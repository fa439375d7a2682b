/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher: when it starts, how it ended, and whether it is tried again. */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/podspec.h"

#define RETRY_FIRST_S 5
#define RETRY_MOST_S 300
#define SETTLE_MS 5000 /* a launcher that is pending for less is not worth a status */

static int64_t restarts(const struct plan *p)
{
	return json_get_int(p->status, "restartCount", 0);
}

static void why_ended(struct plan *p, bool gone, struct buf *out)
{
	const struct pod *l = &p->w->launcher;

	if (gone)
		buf_str(out, "the launcher pod is gone");
	else if (!l->obj)
		buf_str(out, "the launcher ended");
	else {
		AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);

		if (!pod_reason(l, &why, NULL))
			buf_printf(&why, "exit code %" PRId64, l->exit_code);
		buf_printf(out, "the launcher failed: %s", plan_text(p, &why));
	}
}

static void retry(struct plan *p, const char *why, bool loss)
{
	int64_t n = restarts(p) + 1;

	status_int(p, "restartCount", n);
	status_phase(p, JOB_RESTARTING);
	status_condition(p, p->status, "LauncherCreated", false,
			 loss ? "LauncherLost" : "LauncherFailed", "%s", why);
	status_clear(p, "Running", "Restarting");
	plan_event(p, p->job->obj, true, "LauncherRestarted",
		   "%s; start %" PRId64 " of %" PRId64 " more, the workers stay", why, n,
		   p->job->backoff_limit);
	if (p->w->launcher.obj && !p->w->launcher.deletion_ms)
		plan_delete_pod(p, &p->w->launcher, -1);
}

/* Returns true when the job ends here, or waits for the log. */
static bool failure(struct plan *p, bool gone)
{
	const struct pod *l = &p->w->launcher;
	bool loss = gone || l->evicted || l->deletion_ms;
	bool left = restarts(p) < p->job->backoff_limit;
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_MESSAGE);

	why_ended(p, gone, &why);
	if (left && (loss || p->job->restart == RESTART_ON_FAILURE)) {
		retry(p, plan_text(p, &why), loss);
		return false;
	}
	if (!gone && !p->w->log_known) {
		(void)plan_act(p, ACT_GET_LOG, STAGE_OBJECTS, &kube_pods, l->name, NULL);
		return true;
	}
	if (p->w->log && p->w->log[0])
		buf_printf(&why, "; its last lines: %s", p->w->log);
	if (p->job->restart == RESTART_ON_FAILURE || loss)
		buf_printf(&why, " (started again %" PRId64 " times, backoffLimit %" PRId64 ")",
			   restarts(p), p->job->backoff_limit);
	plan_finish(p, false,
		    loss                                    ? "LauncherLost"
		    : p->job->restart == RESTART_ON_FAILURE ? "BackoffLimitExceeded"
							    : "LauncherFailed",
		    plan_text(p, &why));
	return true;
}

bool launcher_plan(struct plan *p)
{
	const struct pod *l = &p->w->launcher;

	if (!l->obj) {
		if (!status_is(p->status, "LauncherCreated"))
			return false;
		if (p->w->launcher_gone)
			return failure(p, true);
		AUTO(buf) struct buf name = BUF_INIT(256);

		name_launcher(p->job->name, &name);
		(void)plan_act(p, ACT_GET_LAUNCHER, STAGE_OBJECTS, &kube_pods, plan_text(p, &name),
			       NULL);
		return false;
	}
	if (l->attempt < restarts(p)) { /* was counted already */
		if (!l->deletion_ms)
			plan_delete_pod(p, l, -1);
		return false;
	}
	if (l->done && l->exit_code == 0 && !l->evicted) {
		plan_finish(p, true, "LauncherSucceeded", "the launcher ended with exit code 0");
		return true;
	}
	return l->done && failure(p, false);
}

static int64_t workers_needed(const struct plan *p)
{
	if (restarts(p) > 0 || p->job->start == START_MINIMUM)
		return p->job->min < p->desired ? p->job->min : p->desired;
	return p->desired;
}

/* The list that the launcher will read first, written before it is made. */
static void write_list(struct plan *p, const char *text)
{
	cJSON *doc = NULL;

	if (p->w->config)
		hosts_write(p, text);
	else if (plan_ok(p, podspec_config(p->job, text, &doc, p->err)))
		(void)plan_act(p, ACT_CREATE, STAGE_OBJECTS, &kube_configmaps, NULL, doc);
}

static void launch(struct plan *p)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	AUTO(buf) struct buf number = BUF_INIT(32);
	cJSON *doc = NULL;
	char revision[17];

	hosts_text(p, &p->hosts, &text);
	buf_printf(&number, "%" PRId64, restarts(p));
	if (!plan_ok(p, buf_check(&text, p->err)))
		return;
	write_list(p, plan_text(p, &text));
	hosts_revision(plan_text(p, &text), revision);
	if (!plan_ok(p, podspec_launcher(p->job, (int64_t)p->hosts.n, revision, &doc, p->err)))
		return;
	cJSON *meta = json_need_object(doc, "metadata", p->err);
	cJSON *notes = meta ? json_need_object(meta, "annotations", p->err) : NULL;

	if (!notes || json_set_str(notes, ANNOTATION_ATTEMPT, plan_text(p, &number), p->err) < 0) {
		cJSON_Delete(doc);
		plan_fail(p);
		return;
	}
	(void)plan_act(p, ACT_CREATE, STAGE_LAUNCH, &kube_pods, NULL, doc);
	plan_event(p, p->job->obj, false, "LauncherCreated", "the launcher starts with %zu workers",
		   p->hosts.n);
}

void launcher_start(struct plan *p)
{
	int64_t n = restarts(p);
	AUTO(buf) struct buf name = BUF_INIT(256);

	name_launcher(p->job->name, &name);
	if (p->failed || p->w->launcher.obj || status_is(p->status, "LauncherCreated") ||
	    name_blocked(p, "Pod", plan_text(p, &name), NULL) ||
	    name_blocked(p, "ConfigMap", NULL, NULL) || name_blocked(p, "Service", NULL, NULL) ||
	    name_blocked(p, "Secret", NULL, NULL))
		return;
	if (n > 0) {
		int64_t wait_s = n > 7 ? RETRY_MOST_S : RETRY_FIRST_S << (n - 1);
		int64_t at = status_since(p->status, "LauncherCreated") + wait_s * 1000;

		if (p->now < at) {
			plan_wake(p, at);
			return;
		}
	}
	if ((int64_t)p->hosts.n < workers_needed(p) || p->hosts.n == 0)
		return;
	launch(p);
}

static void worker_conditions(struct plan *p)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_MESSAGE);
	size_t good = workers_good(p), made = 0;
	const char *reason = NULL;

	for (size_t i = 0; i < p->target.n; i++)
		made += worker_find(p, p->target.v[i]) != NULL;
	if (made == p->target.n)
		status_condition(p, p->status, "WorkersCreated", true, "WorkersCreated",
				 "the worker pods have been made");
	if (good == p->target.n)
		status_condition(p, p->status, "WorkersReady", true, "WorkersReady",
				 "all workers are ready");
	else if (workers_reason(p, &why, &reason))
		status_condition(p, p->status, "WorkersReady", false, reason,
				 "%zu of %zu ready; %s", good, p->target.n, plan_text(p, &why));
	else
		status_condition(p, p->status, "WorkersReady", false, "WorkersStarting",
				 "%zu of %zu ready", good, p->target.n);
}

static void minimum_condition(struct plan *p)
{
	size_t lines = 0;

	for (size_t i = 0; i < p->hosts.n; i++) {
		const struct pod *pod = worker_find(p, p->hosts.v[i]);

		lines += pod && pod->ready;
	}
	if ((int64_t)lines >= p->job->min) {
		status_clear(p, "BelowMinimum", "EnoughWorkers");
		return;
	}
	if (!status_is(p->status, "BelowMinimum"))
		plan_event(p, p->job->obj, true, "BelowMinimum",
			   "%zu workers are ready, minReplicas is %" PRId64 ": training waits",
			   lines, p->job->min);
	status_condition(p, p->status, "BelowMinimum", true, "BelowMinimum",
			 "%zu workers are ready, minReplicas is %" PRId64
			 ": training waits until there are more",
			 lines, p->job->min);
}

static void current_workers(struct plan *p)
{
	AUTO(strs) struct strs now = STRS_INIT;

	for (size_t i = 0; i < p->listed.n; i++) {
		const struct pod *pod = worker_find(p, p->listed.v[i]);

		if (pod && pod->ready)
			(void)plan_ok(p, strs_add(&now, p->listed.v[i], p->err));
	}
	status_names(p, "currentWorkers", &now);
}

static void launcher_condition(struct plan *p, const struct pod *l)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	const char *reason = "LauncherStarting";

	status_condition(p, p->status, "LauncherCreated", true, "LauncherCreated",
			 "launcher pod %s was made", l->name);
	if (l->running && !l->done) {
		if (!status_is(p->status, "Running"))
			plan_event(p, p->job->obj, false, "Running", "the launcher runs");
		status_condition(p, p->status, "Running", true, "LauncherRunning",
				 "the launcher runs");
		status_phase(p, p->active && !p->scaled ? JOB_SCALING : JOB_RUNNING);
	} else if (pod_reason(l, &why, &reason)) {
		status_condition(p, p->status, "Running", false, reason, "the launcher waits: %s",
				 plan_text(p, &why));
	}
}

void launcher_conditions(struct plan *p)
{
	const struct pod *l = &p->w->launcher;
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	const char *reason = NULL;
	bool mine = l->obj && l->attempt >= restarts(p) && !l->done;
	bool settled = mine && (!l->pending || p->now - l->created_ms >= SETTLE_MS);

	if (mine && !settled)
		plan_wake(p, l->created_ms + SETTLE_MS);
	if (settled) {
		launcher_condition(p, l);
		current_workers(p);
		minimum_condition(p);
	}
	/* A job that just starts says so once, when there is something to tell. */
	if (settled || status_phase_now(p) != JOB_CREATED || workers_reason(p, &why, &reason))
		worker_conditions(p);
}
