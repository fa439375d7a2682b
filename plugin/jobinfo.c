/* SPDX-License-Identifier: Apache-2.0 */
/* jobinfo: the words for the state of pods and jobs. */
#include "jobinfo.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "wire/time.h"

static void set_status(struct podinfo *p, const char *prefix, const char *text)
{
	(void)snprintf(p->status, sizeof(p->status), "%s%s", prefix,
		       text); /* a cut word still tells */
}

/* The word of a container that does not run, or NULL: kubectl's printPod in short. */
static const char *container_word(const cJSON *status)
{
	const cJSON *state = json_get(status, "state");
	const cJSON *waiting = json_get(state, "waiting"), *ended = json_get(state, "terminated");

	if (waiting)
		return json_get_str(waiting, "reason", NULL);
	if (ended) {
		const char *reason = json_get_str(ended, "reason", NULL);

		return reason && *reason ? reason : "Error";
	}
	return NULL;
}

static void status_of_containers(struct podinfo *p, const cJSON *status)
{
	const cJSON *c;
	size_t n = 0, total = json_len(json_at(p->obj, "spec", "initContainers", NULL));

	json_each (c, json_get(status, "initContainerStatuses")) {
		const cJSON *ended = json_at(c, "state", "terminated", NULL);

		n++;
		if (ended && json_get_int(ended, "exitCode", 1) == 0)
			continue;
		const char *word = container_word(c);
		if (word && !str_eq(word, "PodInitializing")) {
			set_status(p, "Init:", word);
		} else {
			char at[32];

			(void)snprintf(at, sizeof(at), "%zu/%zu", n - 1, total);
			set_status(p, "Init:", at);
		}
		return;
	}
	json_each (c, json_get(status, "containerStatuses")) {
		const char *word = container_word(c);

		p->restarts += json_get_int(c, "restartCount", 0);
		if (word)
			set_status(p, "", word);
	}
}

static bool condition_true(const cJSON *obj, const char *type)
{
	const cJSON *c;

	json_each (c, json_at(obj, "status", "conditions", NULL))
		if (str_eq(json_get_str(c, "type", ""), type))
			return str_eq(json_get_str(c, "status", ""), "True");
	return false;
}

void podinfo_view(const cJSON *obj, struct podinfo *out)
{
	const cJSON *meta = json_get(obj, "metadata"), *spec = json_get(obj, "spec");
	const cJSON *status = json_get(obj, "status"), *labels = json_get(meta, "labels");
	struct podinfo p = {
		.obj = obj,
		.name = json_get_str(meta, "name", ""),
		.job = json_get_str(labels, LABEL_JOB, ""),
		.role = json_get_str(labels, LABEL_ROLE, ""),
		.node = json_get_str(spec, "nodeName", ""),
		.phase = json_get_str(status, "phase", "Pending"),
		.gpus = job_template_gpus(obj),
	};
	const char *reason = json_get_str(status, "reason", "");

	(void)time_get(json_get_str(meta, "creationTimestamp", NULL), &p.start_ms);
	set_status(&p, "", *reason ? reason : p.phase);
	status_of_containers(&p, status);
	p.deleting = json_get(meta, "deletionTimestamp") != NULL;
	p.pending = str_eq(p.phase, "Pending");
	p.failed = str_eq(p.phase, "Failed");
	p.ready = condition_true(obj, "Ready") && !p.deleting;
	if (p.deleting)
		set_status(&p, "", "Terminating");
	*out = p;
}

/* "reason: message", cut to its first sentence-like part so that it fits a line. */
static void say(struct buf *out, const char *reason, const char *message)
{
	buf_str(out, reason);
	if (message && *message) {
		size_t n = strcspn(message, "\n");

		buf_str(out, *reason ? ": " : "");
		buf_visible(out, message, n > 300 ? 300 : n);
	}
}

static bool reason_unscheduled(const struct podinfo *p, struct buf *out)
{
	const cJSON *c;

	json_each (c, json_at(p->obj, "status", "conditions", NULL)) {
		if (str_eq(json_get_str(c, "type", ""), "PodScheduled") &&
		    str_eq(json_get_str(c, "status", ""), "False")) {
			say(out, json_get_str(c, "reason", "Unschedulable"),
			    json_get_str(c, "message", NULL));
			return true;
		}
	}
	return false;
}

static bool reason_container(const cJSON *status, struct buf *out)
{
	const cJSON *waiting = json_at(status, "state", "waiting", NULL);
	const cJSON *ended = json_at(status, "state", "terminated", NULL);
	const cJSON *last = json_at(status, "lastState", "terminated", NULL);
	const char *word = json_get_str(waiting, "reason", "");

	if (waiting && !str_eq(word, "ContainerCreating") && !str_eq(word, "PodInitializing")) {
		say(out, word, json_get_str(waiting, "message", NULL));
		if (last)
			buf_printf(out, " (last exit code %" PRId64 "%s%s)",
				   json_get_int(last, "exitCode", 0), ", ",
				   json_get_str(last, "reason", "Error"));
		return true;
	}
	if (ended && json_get_int(ended, "exitCode", 0) != 0) {
		buf_printf(out, "%s: exit code %" PRId64, json_get_str(ended, "reason", "Error"),
			   json_get_int(ended, "exitCode", 0));
		return true;
	}
	return false;
}

bool podinfo_reason(const struct podinfo *p, struct buf *out)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	const cJSON *status = json_get(p->obj, "status"), *c;
	const char *reason = json_get_str(status, "reason", "");

	if (*reason) { /* Evicted, NodeLost, UnexpectedAdmissionError... */
		say(out, reason, json_get_str(status, "message", NULL));
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_each (c, json_get(status, lists[i]))
			if (reason_container(c, out))
				return true;
	return p->pending && reason_unscheduled(p, out);
}

const char *podinfo_container(const cJSON *pod)
{
	const char *name = json_get_str(json_at(pod, "metadata", "annotations", NULL),
					"kubectl.kubernetes.io/default-container", NULL);
	const cJSON *first = json_index(json_at(pod, "spec", "containers", NULL), 0);

	return name ? name : json_get_str(first, "name", NULL);
}

void pods_release(struct pods *p)
{
	for (size_t i = 0; i < p->n; i++)
		cJSON_Delete((cJSON *)(uintptr_t)p->v[i].obj); /* owned here, const to readers */
	free(p->v);
	*p = (struct pods){ 0 };
}

int pods_add(struct pods *p, cJSON *obj, struct err *err)
{
	if (p->n == p->size) {
		size_t size = p->size ? p->size * 2 : 16;
		struct podinfo *v = reallocarray(p->v, size, sizeof(*v));

		if (!v) {
			cJSON_Delete(obj);
			return err_nomem(err);
		}
		p->v = v;
		p->size = size;
	}
	podinfo_view(obj, &p->v[p->n++]);
	return 0;
}

static const char *pod_ns(const struct podinfo *p)
{
	return json_get_str(json_get(p->obj, "metadata"), "namespace", "");
}

static int pod_order(const void *a, const void *b)
{
	const struct podinfo *x = a, *y = b;
	int c = strcmp(pod_ns(x), pod_ns(y));

	if (c == 0)
		c = strcmp(x->job, y->job);
	if (c == 0)
		c = (int)str_eq(y->role, ROLE_LAUNCHER) - (int)str_eq(x->role, ROLE_LAUNCHER);
	if (c == 0) {
		int64_t i = name_worker_index(x->job, x->name),
			k = name_worker_index(y->job, y->name);

		c = (i > k) - (i < k);
	}
	return c ? c : strcmp(x->name, y->name);
}

void pods_sort(struct pods *p)
{
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), pod_order);
}

static const char *status_word(const struct jobinfo *j, const struct podinfo *launcher)
{
	switch (j->job.phase) {
	case JOB_SUCCEEDED:
		return "SUCCEEDED";
	case JOB_FAILED:
		return "FAILED";
	case JOB_SUSPENDED:
		return "SUSPENDED";
	case JOB_RESTARTING:
		return "RESTARTING";
	case JOB_SCALING:
		return "SCALING";
	default:
		break;
	}
	if (j->job.suspend)
		return "SUSPENDED";
	return !launcher || launcher->pending ? "PENDING" : "RUNNING";
}

/* When a job ended, Unix ms, or 0. */
static int64_t end_ms(const struct job *job)
{
	static const char *const ends[] = { "Succeeded", "Failed" };
	int64_t at = 0;

	if (!job_finished(job))
		return 0;
	if (time_get(json_get_str(json_get(job->obj, "status"), "completionTime", NULL), &at))
		return at;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		const cJSON *c = job_condition(job->obj, ends[i]);

		if (c && time_get(json_get_str(c, "lastTransitionTime", NULL), &at))
			return at;
	}
	return 0;
}

void jobinfo_view(const cJSON *obj, const struct podinfo *pods, size_t npods, int64_t now_ms,
		  struct jobinfo *out)
{
	struct jobinfo j = { .pods = pods, .npods = npods, .node = "N/A", .priority = "N/A" };
	const struct podinfo *launcher = NULL;
	int64_t start, end;

	job_view(obj, &j.job);
	for (size_t i = 0; i < npods; i++) {
		const struct podinfo *p = &pods[i];

		j.gpus_allocated += str_eq(p->phase, "Running") && !p->deleting ? p->gpus : 0;
		if (str_eq(p->role, ROLE_LAUNCHER)) {
			launcher = p;
		} else {
			j.ready += p->ready;
			j.pending += p->pending && !p->deleting;
		}
	}
	j.gpus_requested = job_finished(&j.job) ? 0 : j.job.target * j.job.gpus;
	if (launcher && *launcher->node)
		j.node = launcher->node;
	j.priority =
		json_get_str(json_get(j.job.launcher_template, "spec"), "priorityClassName", "N/A");
	j.status = status_word(&j, launcher);
	if (!time_get(json_get_str(json_get(obj, "status"), "startTime", NULL), &start))
		start = j.job.created_ms;
	end = end_ms(&j.job);
	j.duration_s = start ? ((end ? end : now_ms) - start) / 1000 : 0;
	if (j.duration_s < 0)
		j.duration_s = 0;
	*out = j;
}

static bool reason_condition(const struct jobinfo *j, const char *type, const char *status,
			     struct buf *out)
{
	const cJSON *c = job_condition(j->job.obj, type);

	if (!c || !str_eq(json_get_str(c, "status", ""), status))
		return false;
	say(out, json_get_str(c, "reason", type), json_get_str(c, "message", NULL));
	return true;
}

/* What the controller says of workers that are missing; that they only start is no trouble. */
static bool reason_workers(const struct jobinfo *j, struct buf *out)
{
	const cJSON *c = job_condition(j->job.obj, "WorkersReady");

	if (j->job.phase == JOB_SUSPENDED ||
	    str_eq(json_get_str(c, "reason", ""), "WorkersStarting"))
		return false;
	return reason_condition(j, "WorkersReady", "False", out);
}

bool jobinfo_reason(const struct jobinfo *j, struct buf *out)
{
	size_t bad = 0;
	const struct podinfo *first = NULL;

	if (j->job.phase == JOB_SUCCEEDED)
		return false;
	if (j->job.phase == JOB_FAILED)
		return reason_condition(j, "Failed", "True", out);
	if (reason_condition(j, "NameConflict", "True", out) ||
	    reason_condition(j, "NameTaken", "True", out))
		return true;
	for (size_t i = 0; i < j->npods; i++) {
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

		if (j->pods[i].deleting || !podinfo_reason(&j->pods[i], &text))
			continue;
		bad++;
		if (!first)
			first = &j->pods[i];
	}
	if (!first)
		return reason_condition(j, "BelowMinimum", "True", out) || reason_workers(j, out);
	if (bad > 1)
		buf_printf(out, "%zu pods: ", bad);
	else
		buf_printf(out, "%s: ", first->name);
	return podinfo_reason(first, out);
}

void scaler_reason(const cJSON *obj, struct buf *out)
{
	static const char *const types[] = { "ScaleFailed", "ScaleSucceeded", "Scaling" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const cJSON *c = job_condition(obj, types[i]);

		if (c && str_eq(json_get_str(c, "status", ""), "True")) {
			const char *reason = json_get_str(c, "reason", "");

			say(out, *reason ? reason : types[i], json_get_str(c, "message", NULL));
			return;
		}
	}
}
