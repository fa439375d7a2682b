/* SPDX-License-Identifier: Apache-2.0 */
/* validate: what an update of a TrainingJob may not do. */
#include "etjob/inject.h"
#include "etjob/validate_int.h"

struct update {
	struct check c;
	struct job old, now;
	const cJSON *old_spec, *now_spec; /* without what inject puts in them; borrowed */
	struct scaler_set pending;
};

/* Workers that scalers which have not begun will add, less those that they will remove. */
static int64_t net_pending(struct scaler_set pending)
{
	int64_t net = 0;

	for (size_t i = 0; i < pending.n; i++) {
		if (pending.v[i].phase == SCALER_NEW)
			net += scaler_amount(&pending.v[i]); /* int32 each: no overflow */
	}
	return net;
}

int64_t validate_size(const struct job *job, struct scaler_set pending)
{
	return job->target + net_pending(pending);
}

/*
 * Goes down to the first difference of a and b, which differ. Returns what differs there
 * in *from and *to (NULL: absent). c stands at a and b, and then at the difference.
 * There are no nulls in them.
 */
static void first_difference(struct check *c, const cJSON *a, const cJSON *b, const cJSON **from,
			     const cJSON **to)
{
	const cJSON *item;

	*from = a;
	*to = b;
	if (cJSON_IsArray(a) && cJSON_IsArray(b)) {
		const cJSON *x = a->child, *y = b->child;
		size_t i = 0;

		for (; x && y && json_equal(x, y); x = x->next, y = y->next)
			i++;
		(void)check_into_index(c, i);
		first_difference(c, x, y, from, to);
		return;
	}
	if (!cJSON_IsObject(a) || !cJSON_IsObject(b))
		return;
	json_each (item, a) {
		const cJSON *other = json_get(b, item->string);

		if (!json_equal(item, other)) {
			(void)check_into(c, item->string);
			first_difference(c, item, other, from, to);
			return;
		}
	}
	json_each (item, b) {
		if (!json_get(a, item->string)) {
			(void)check_into(c, item->string);
			*from = NULL;
			*to = item;
			return;
		}
	}
}

/* The job stopped all pods because it was told to, or never made any. */
static bool has_no_pods(const cJSON *obj)
{
	static const char *const roles[] = { "Launcher", "Worker" };
	const cJSON *status = json_get(obj, "status");

	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		if (json_get_int(json_at(status, "replicaStatuses", roles[i], NULL), "active", 0) !=
		    0)
			return false;
	}
	return json_len(json_get(status, "currentWorkers")) == 0;
}

static void check_templates(struct update *u)
{
	static const char *const roles[] = { "launcher", "worker" };
	bool suspended =
		u->old.suspend && (u->old.phase == JOB_SUSPENDED || u->old.phase == JOB_NEW);

	if (suspended && has_no_pods(u->old.obj))
		return;
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		const cJSON *a = json_at(u->old_spec, "etReplicaSpecs", roles[i], "template", NULL);
		const cJSON *b = json_at(u->now_spec, "etReplicaSpecs", roles[i], "template", NULL);
		struct mark m = check_mark(&u->c);
		const cJSON *from, *to;

		(void)check_into_path(&u->c, "spec.etReplicaSpecs");
		(void)check_into(&u->c, roles[i]);
		(void)check_into(&u->c, "template");
		/* A template that was not there before may be repaired. */
		if (a && !json_equal(a, b)) {
			first_difference(&u->c, a, b, &from, &to);
			check_fault(&u->c, CODE_INVALID, "template-immutable",
				    "can not change from %s to %s while the job has pods: suspend "
				    "the job first, or make a new one",
				    shown_value(from).text, shown_value(to).text);
		}
		check_back(&u->c, m);
	}
}

static void check_immutable(struct update *u)
{
	const cJSON *old_slots = json_get(u->old_spec, "slotsPerWorker");
	const cJSON *now_slots = json_get(u->now_spec, "slotsPerWorker");
	struct mark m;

	check_templates(u);
	if (!json_equal(old_slots, now_slots) && u->old.slots != u->now.slots) {
		m = check_into_path(&u->c, "spec.slotsPerWorker");
		check_fault(&u->c, CODE_INVALID, "slots-immutable",
			    "can not change from %" PRId64 " to %" PRId64
			    ": make a new job for another number of processes",
			    u->old.slots, u->now.slots);
		check_back(&u->c, m);
	}
	if (u->old.attach != u->now.attach) {
		m = check_into_path(&u->c, "spec.launcherAttachMode");
		check_fault(&u->c, CODE_INVALID, "attach-mode-immutable",
			    "can not change from %s to %s: make a new job for another mode",
			    u->old.attach == ATTACH_SSH ? "ssh" : "kubexec",
			    u->now.attach == ATTACH_SSH ? "ssh" : "kubexec");
		check_back(&u->c, m);
	}
}

static void check_target(struct update *u)
{
	int64_t net = net_pending(u->pending), after = u->now.replicas + net;
	struct mark m;

	if (u->now.max_given && u->now.max != u->old.max && u->now.max < u->old.target) {
		m = check_into_path(&u->c, "spec.etReplicaSpecs.worker.maxReplicas");
		check_fault(&u->c, CODE_INVALID, "max-below-target",
			    "%" PRId64 " is less than the %" PRId64
			    " workers of the job now: scale in first",
			    u->now.max, u->old.target);
		check_back(&u->c, m);
	}
	/* Beyond a bound already without the scalers: the rules on the object say it. */
	if (u->now.replicas == u->old.replicas || net == 0 || u->now.replicas > u->now.max ||
	    u->now.replicas < u->now.min)
		return;
	m = check_into_path(&u->c, "spec.etReplicaSpecs.worker.replicas");
	if (after > u->now.max)
		check_fault(&u->c, CODE_INVALID, "replicas-above-max-with-pending",
			    "%" PRId64 " and the %" PRId64
			    " that unfinished scalers add make %" PRId64
			    ", more than maxReplicas (%" PRId64 "): wait for them, or ask for less",
			    u->now.replicas, net, after, u->now.max);
	else if (after < u->now.min)
		check_fault(&u->c, CODE_INVALID, "replicas-below-min-with-pending",
			    "%" PRId64 " less the %" PRId64
			    " that unfinished scalers remove make %" PRId64
			    ", less than minReplicas (%" PRId64 "): wait for them, or ask for more",
			    u->now.replicas, -net, after, u->now.min);
	check_back(&u->c, m);
}

/* A finished job: all of spec but ttlSecondsAfterFinished and suspend is as it was. */
static int check_finished(struct update *u)
{
	static const char *const free_keys[] = { "ttlSecondsAfterFinished", "suspend" };
	AUTO_JSON cJSON *a = json_copy(u->old_spec, u->c.err);
	AUTO_JSON cJSON *b = a ? json_copy(u->now_spec, u->c.err) : NULL;
	const cJSON *from, *to;
	struct mark m;

	if (!a || !b)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(free_keys); i++) {
		json_del(a, free_keys[i]);
		json_del(b, free_keys[i]);
	}
	m = check_into(&u->c, "spec");
	if (!json_equal(a, b)) {
		first_difference(&u->c, a, b, &from, &to);
		check_fault(&u->c, CODE_CONFLICT, "job-finished",
			    "can not change from %s to %s as the job has finished (%s): make a new "
			    "job",
			    shown_value(from).text, shown_value(to).text,
			    job_phase_name(u->old.phase));
		check_back(&u->c, m);
		(void)check_into(&u->c, "spec");
	}
	check_int(&u->c, u->now_spec, "ttlSecondsAfterFinished", 0, INT32_MAX);
	check_back(&u->c, m);
	return 0;
}

int validate_job_update(const cJSON *old, const cJSON *now, struct scaler_set pending,
			struct faults *out, struct err *err)
{
	AUTO_JSON cJSON *old_spec = NULL, *now_spec = NULL;
	struct update u = { .pending = pending };
	int rc = 0;

	if (inject_strip_spec(old, &old_spec, err) < 0 ||
	    inject_strip_spec(now, &now_spec, err) < 0)
		return -1;
	check_start(&u.c, out, err);
	u.old_spec = old_spec;
	u.now_spec = now_spec;
	job_view(old, &u.old);
	job_view(now, &u.now);
	/* Metadata, finalizers and status of an old object may change, whatever its spec. */
	if (!json_equal(old_spec, now_spec)) {
		if (job_finished(&u.old)) {
			rc = check_finished(&u);
		} else {
			check_immutable(&u);
			check_job_spec(&u.c, now);
			check_target(&u);
			check_job_warnings(&u.c, &u.now);
		}
	}
	return check_end(&u.c) < 0 ? -1 : rc;
}
