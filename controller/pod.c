/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/pod.h"

#include "etjob/names.h"
#include "wire/time.h"

static const cJSON *condition(const cJSON *obj, const char *type)
{
	const cJSON *c;

	json_each (c, json_at(obj, "status", "conditions", NULL)) {
		if (str_eq(json_get_str(c, "type", ""), type))
			return c;
	}
	return NULL;
}

static bool condition_is(const cJSON *obj, const char *type, const char *status)
{
	return str_eq(json_get_str(condition(obj, type), "status", ""), status);
}

static int64_t time_of(const cJSON *v, const char *key)
{
	int64_t ms = 0;

	return time_get(json_get_str(v, key, NULL), &ms) ? ms : 0;
}

/* A toleration without a time limit; one with a limit only delays the end. */
static bool tolerates(const cJSON *toleration, const cJSON *taint)
{
	const char *effect = json_get_str(toleration, "effect", "");
	const char *key = json_get_str(toleration, "key", "");
	const char *op = json_get_str(toleration, "operator", "Equal");

	if (json_get(toleration, "tolerationSeconds"))
		return false;
	if (effect[0] && !str_eq(effect, json_get_str(taint, "effect", "")))
		return false;
	if (!key[0])
		return str_eq(op, "Exists");
	if (!str_eq(key, json_get_str(taint, "key", "")))
		return false;
	return str_eq(op, "Exists") ||
	       str_eq(json_get_str(toleration, "value", ""), json_get_str(taint, "value", ""));
}

bool pod_tainted(const cJSON *pod, const cJSON *node)
{
	const cJSON *taint, *t;

	json_each (taint, json_at(node, "spec", "taints", NULL)) {
		const char *key = json_get_str(taint, "key", "");
		bool drain = str_starts(key, "ToBeDeletedByClusterAutoscaler") ||
			     str_starts(key, "DeletionCandidateOfClusterAutoscaler");
		bool tolerated = false;

		if (!drain && !str_eq(json_get_str(taint, "effect", ""), "NoExecute"))
			continue;
		json_each (t, json_at(pod, "spec", "tolerations", NULL)) {
			tolerated = tolerated || tolerates(t, taint);
		}
		if (!tolerated)
			return true;
	}
	return false;
}

/* Status of the first container of the spec, or NULL. */
static const cJSON *first_container(const cJSON *obj)
{
	const char *name =
		json_get_str(json_index(json_at(obj, "spec", "containers", NULL), 0), "name", "");
	const cJSON *c;

	json_each (c, json_at(obj, "status", "containerStatuses", NULL)) {
		if (str_eq(json_get_str(c, "name", ""), name))
			return c;
	}
	return NULL;
}

static bool is_ours(const cJSON *obj, const char *uid)
{
	const cJSON *o;

	json_each (o, json_at(obj, "metadata", "ownerReferences", NULL)) {
		if (json_get_bool(o, "controller", false))
			return uid[0] && str_eq(json_get_str(o, "uid", ""), uid);
	}
	return false;
}

static void view_end(struct pod *out, const char *phase)
{
	static const char *const blameless[] = { "Evicted",
						 "Preempting",
						 "NodeLost",
						 "NodeShutdown",
						 "Terminated",
						 "Shutdown",
						 "UnexpectedAdmissionError" };
	const char *reason = json_get_str(json_get(out->obj, "status"), "reason", "");
	const cJSON *ended = json_at(first_container(out->obj), "state", "terminated", NULL);
	bool ended_phase = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
	const char *policy = json_get_str(json_get(out->obj, "spec"), "restartPolicy", "Always");

	out->dead = ended_phase;
	out->exit_code = json_get_int(ended, "exitCode", str_eq(phase, "Failed") ? 1 : 0);
	out->done =
		ended_phase || (ended && (str_eq(policy, "Never") ||
					  (str_eq(policy, "OnFailure") && out->exit_code == 0)));
	for (size_t i = 0; i < ARRAY_LEN(blameless); i++)
		out->evicted = out->evicted || (ended_phase && str_eq(reason, blameless[i]));
	out->evicted =
		out->evicted || (ended_phase && condition_is(out->obj, "DisruptionTarget", "True"));
}

void pod_view(const cJSON *obj, const cJSON *node, const char *job, const char *uid,
	      struct pod *out)
{
	const cJSON *meta = json_get(obj, "metadata");
	const char *phase = json_get_str(json_get(obj, "status"), "phase", "");
	const cJSON *ready = condition(obj, "Ready");

	*out = (struct pod){ .obj = obj };
	out->name = json_get_str(meta, "name", "");
	out->uid = json_get_str(meta, "uid", "");
	out->node = json_get_str(json_get(obj, "spec"), "nodeName", "");
	out->index = name_worker_index(job, out->name);
	out->created_ms = time_of(meta, "creationTimestamp");
	out->deletion_ms = time_of(meta, "deletionTimestamp");
	out->grace_s = json_get_int(meta, "deletionGracePeriodSeconds", 0);
	out->ours = is_ours(obj, uid);
	out->running = str_eq(phase, "Running");
	out->pending = str_eq(phase, "Pending") || !phase[0];
	view_end(out, phase);
	out->ready =
		out->running && !out->done && str_eq(json_get_str(ready, "status", ""), "True");
	if (!out->ready)
		out->unready_ms = time_of(ready, "lastTransitionTime");
	out->going = out->deletion_ms != 0 || condition_is(obj, "DisruptionTarget", "True") ||
		     pod_tainted(obj, node);
	const char *attempt = json_get_str(json_get(meta, "annotations"), ANNOTATION_ATTEMPT, "0");
	out->attempt = strtoll(attempt, NULL, 10); /* ours; a broken one is attempt 0 */
}

static bool say(struct buf *out, const char **reason, const char *word, const char *text)
{
	if (reason)
		*reason = word;
	buf_str(out, word);
	if (text && text[0]) {
		size_t n = strcspn(text, "\n");

		buf_str(out, ": ");
		buf_add(out, text, n > 400 ? 400 : n);
	}
	return true;
}

static bool say_ended(struct buf *out, const char **reason, const cJSON *ended)
{
	const char *why = json_get_str(ended, "reason", "Error");
	const char *text = json_get_str(ended, "message", "");
	AUTO(buf) struct buf code = BUF_INIT(1024);

	buf_printf(&code, "exit code %" PRId64, json_get_int(ended, "exitCode", 0));
	if (text[0]) {
		size_t n = strcspn(text, "\n");

		buf_str(&code, ", ");
		buf_add(&code, text, n > 400 ? 400 : n);
	}
	return say(out, reason, why, buf_text(&code));
}

static bool say_waiting(struct buf *out, const char **reason, const cJSON *c)
{
	const cJSON *waiting = json_at(c, "state", "waiting", NULL);
	const char *why = json_get_str(waiting, "reason", "");
	const cJSON *last = json_at(c, "lastState", "terminated", NULL);

	if (last)
		return say_ended(out, reason, last);
	if (!why[0] || str_eq(why, "ContainerCreating") || str_eq(why, "PodInitializing"))
		return false;
	/* The two take turns while the image is tried again and again. */
	if (str_eq(why, "ErrImagePull") || str_eq(why, "ImagePullBackOff")) {
		AUTO(buf) struct buf text = BUF_INIT(1024);

		buf_str(&text, "image ");
		buf_visible(&text, json_get_str(c, "image", ""),
			    strnlen(json_get_str(c, "image", ""), 400));
		return say(out, reason, "ImagePullBackOff", buf_text(&text));
	}
	return say(out, reason, why, json_get_str(waiting, "message", ""));
}

bool pod_reason(const struct pod *p, struct buf *out, const char **reason)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	const cJSON *status = json_get(p->obj, "status");
	const char *why = json_get_str(status, "reason", "");
	const cJSON *c;

	if (why[0])
		return say(out, reason, why, json_get_str(status, "message", ""));
	c = condition(p->obj, "PodScheduled");
	if (str_eq(json_get_str(c, "status", ""), "False"))
		return say(out, reason, json_get_str(c, "reason", "Unschedulable"),
			   json_get_str(c, "message", ""));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_each (c, json_get(status, lists[i])) {
			const cJSON *ended = json_at(c, "state", "terminated", NULL);

			if (ended && (json_get_int(ended, "exitCode", 0) != 0))
				return say_ended(out, reason, ended);
			if (!ended && say_waiting(out, reason, c))
				return true;
		}
	}
	c = condition(p->obj, "DisruptionTarget");
	if (str_eq(json_get_str(c, "status", ""), "True"))
		return say(out, reason, json_get_str(c, "reason", "Disrupted"),
			   json_get_str(c, "message", ""));
	return false;
}
