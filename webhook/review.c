/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/review.h"

#include "base/limits.h"
#include "etjob/inject.h"
#include "etjob/names.h"
#include "etjob/validate.h"
#include "webhook/answer.h"
#include "webhook/arena.h"

#define PENDING_MAX 1000 /* unfinished scalers of one job that are counted */

/* One decision under way. */
struct review {
	const struct review_env *env;
	enum review_path path;
	struct request req;
	struct faults faults;
	struct patch patch;
	struct snap *snap; /* owned reference, or NULL */
	bool stale;        /* the snapshot is too old to prove that something is not there */
};

static void review_release(struct review *r)
{
	faults_release(&r->faults);
	patch_release(&r->patch);
	snap_free(r->snap);
}

void review_result_release(struct review_result *r)
{
	buf_release(&r->body);
	free(r->uid);
	free(r->ns);
	free(r->name);
	free(r->user);
	free(r->reasons);
	*r = REVIEW_RESULT_INIT;
}

static void take_snapshot(struct review *r)
{
	int64_t heard = atomic_load(&r->env->cell->heard_ms);

	if (!r->snap)
		r->snap = snap_cell_get(r->env->cell);
	r->stale = !r->snap || heard < 0 || clock_mono_ms(r->env->clock) - heard > REVIEW_STALE_MS;
}

/*
 * The unfinished scalers of a job, admitted ones included, in the order in which they
 * run; `self` (may be NULL) left out. Holds the reserve's lock. *out is the caller's.
 */
static int pending_of(const struct review *r, const char *job, const struct scaler *self,
		      struct scaler **out, size_t *n, struct err *err)
{
	struct scaler *v = calloc(PENDING_MAX, sizeof(*v));
	size_t have = 0, kept = 0;

	if (!v)
		return err_nomem(err);
	if (r->snap)
		have = snap_pending(r->snap, r->req.ns, job, v, PENDING_MAX);
	if (have > PENDING_MAX)
		have = PENDING_MAX;
	if (r->snap)
		have += reserve_pending(r->env->reserve, r->snap, r->req.ns, job, v + have,
					PENDING_MAX - have);
	if (have > PENDING_MAX)
		have = PENDING_MAX;
	for (size_t i = 0; i < have; i++)
		if (!self || v[i].out != self->out || !str_eq(v[i].name, self->name))
			v[kept++] = v[i];
	qsort(v, kept, sizeof(*v), scaler_order);
	*out = v;
	*n = kept;
	return 0;
}

static int check_name(struct review *r, struct err *err)
{
	const char *name = r->req.name, *ns = r->req.ns, *holder;

	if (!r->env->unique_names || !*name)
		return 0;
	holder = r->snap ? snap_holder(r->snap, name, ns) : NULL;
	if (!holder)
		holder = reserve_holder(r->env->reserve, name, ns);
	if (holder)
		return faults_add(
			&r->faults, err, 409, "name-taken", "metadata.name",
			"\"%s\" is taken by a job in namespace \"%s\": choose another name, "
			"or delete that job first",
			name, holder);
	if (r->faults.n || r->req.dry_run)
		return 0;
	return reserve_put(r->env->reserve, RESERVE_JOB, ns, name, NULL, err);
}

static int job_created(struct review *r, struct err *err)
{
	int rc;

	if (validate_job(r->req.object, &r->faults, err) < 0)
		return -1;
	if (r->path == REVIEW_MUTATE)
		return 0; /* the name is looked at when it is final, after all mutators */
	reserve_lock(r->env->reserve);
	take_snapshot(r);
	rc = check_name(r, err);
	reserve_unlock(r->env->reserve);
	return rc;
}

static int job_updated(struct review *r, struct err *err)
{
	AUTO_FREE struct scaler *v = NULL;
	struct scaler_set pending = { 0 };
	int rc;

	reserve_lock(r->env->reserve);
	take_snapshot(r);
	rc = r->stale ? 0 : pending_of(r, r->req.name, NULL, &v, &pending.n, err);
	pending.v = v;
	if (rc == 0)
		rc = validate_job_update(r->req.old, r->req.object, pending, &r->faults, err);
	reserve_unlock(r->env->reserve);
	return rc;
}

static int job_inject(struct review *r, struct err *err)
{
	const struct inject_opts opts = { .mount = r->env->mount };
	struct job job;

	job_view(r->req.object, &job);
	if (job_finished(&job) || job.deleting)
		return 0;
	return inject_patch(r->req.object, r->req.op == REQUEST_UPDATE ? r->req.old : NULL, &opts,
			    &r->patch, &r->faults.warnings, err);
}

static int review_job(struct review *r, struct err *err)
{
	int rc = r->req.op == REQUEST_CREATE ? job_created(r, err) : job_updated(r, err);

	if (rc < 0 || r->path != REVIEW_MUTATE || r->faults.n)
		return rc;
	return job_inject(r, err);
}

/* Holds the reserve's lock. Sets *wait when the job is not there, though it may be soon. */
static int scaler_created(struct review *r, bool may_wait, bool *wait, struct err *err)
{
	AUTO_FREE struct scaler *v = NULL;
	struct scaler_world world = { 0 };
	struct scaler self;
	struct job job;
	const cJSON *job_obj;

	scaler_view(r->req.object, &self);
	take_snapshot(r);
	job_obj = r->snap ? snap_job(r->snap, r->req.ns, self.job) : NULL;
	if (!r->stale && job_obj) {
		job_view(job_obj, &job);
		world.job = &job;
		if (pending_of(r, self.job, &self, &v, &world.pending.n, err) < 0)
			return -1;
		world.pending.v = v;
	} else if (!r->stale && *self.job &&
		   !reserve_has(r->env->reserve, RESERVE_JOB, r->req.ns, self.job)) {
		*wait = may_wait;
		world.job_missing = true;
	}
	if (*wait)
		return 0;
	if (validate_scaler(r->req.object, &world, &r->faults, err) < 0)
		return -1;
	if (r->faults.n || r->req.dry_run || r->path != REVIEW_VALIDATE || !*r->req.name)
		return 0;
	return reserve_put(r->env->reserve, self.out ? RESERVE_SCALEOUT : RESERVE_SCALEIN,
			   r->req.ns, r->req.name, r->req.object, err);
}

static int review_scaler(struct review *r, bool may_wait, bool *wait, struct err *err)
{
	int rc;

	if (r->req.op == REQUEST_UPDATE)
		return validate_scaler_update(r->req.old, r->req.object, &r->faults, err);
	reserve_lock(r->env->reserve);
	rc = scaler_created(r, may_wait, wait, err);
	reserve_unlock(r->env->reserve);
	return rc;
}

/* Text that may be missing is copied with `what` around it; NULL on no memory is only a poorer log.
 */
static char *copy(const char *text)
{
	return strndup(text, 512);
}

static int fill_log(const struct review *r, struct review_result *out, struct err *err)
{
	AUTO(buf) struct buf reasons = BUF_INIT(LIMIT_MESSAGE + 64);

	out->code = faults_code(&r->faults);
	out->dry_run = r->req.dry_run;
	out->uid = copy(r->req.uid);
	out->ns = copy(r->req.ns);
	out->name = copy(r->req.name);
	out->user = copy(r->req.user);
	faults_message(&r->faults, &reasons);
	for (size_t i = 0; i < r->faults.n && out->n_rules < REVIEW_RULES_MAX; i++)
		out->rules[out->n_rules++] = r->faults.v[i].rule;
	return buf_finish(&reasons, &out->reasons, err);
}

static int finish(struct review *r, struct review_result *out, struct err *err)
{
	const struct answer a = {
		.uid = r->req.uid,
		.kind = r->req.kind_name,
		.name = r->req.name,
		.faults = &r->faults,
		.patch = r->path == REVIEW_MUTATE ? &r->patch : NULL,
	};

	if (answer_write(&a, &out->body, err) < 0)
		return -1;
	out->http = 200;
	if (r->faults.n) {
		out->verdict = REVIEW_DENIED;
		return fill_log(r, out, err);
	}
	out->verdict = a.patch && patch_len(a.patch) ? REVIEW_PATCHED : REVIEW_ALLOWED;
	return 0;
}

/* Bytes that are no AdmissionReview: in the protocol when they at least carry a uid. */
static int refuse_bytes(const char *text, size_t n, const struct err *why,
			struct review_result *out, struct err *err)
{
	AUTO(buf) struct buf uid = BUF_INIT(256);

	out->verdict = REVIEW_ERROR;
	out->kind = REQUEST_FOREIGN;
	out->op = REQUEST_OTHER;
	out->code = 400;
	if (request_salvage_uid(text, n, &uid)) {
		out->http = 200;
		out->uid = copy(buf_text(&uid));
		out->reasons = copy(why->msg);
		return answer_unreadable(buf_text(&uid), why->msg, &out->body, err);
	}
	out->http = 400;
	out->reasons = copy(why->msg);
	buf_printf(&out->body, "%s\n", why->msg);
	return buf_check(&out->body, err);
}

static int decide(struct review *r, bool may_wait, bool *wait, struct err *err)
{
	const struct request *q = &r->req;

	if (q->kind == REQUEST_FOREIGN || *q->subresource ||
	    (q->op != REQUEST_CREATE && q->op != REQUEST_UPDATE))
		return 0;
	if (!q->object || (q->op == REQUEST_UPDATE && !q->old))
		return faults_add(&r->faults, err, 422, "no-object",
				  q->object ? "oldObject" : "object",
				  "is no object: send the whole object");
	if (q->kind == REQUEST_JOB)
		return review_job(r, err);
	return review_scaler(r, may_wait, wait, err);
}

static int decide_tree(struct review *r, bool may_wait, struct review_result *out, struct err *err)
{
	out->kind = r->req.kind;
	out->op = r->req.op;
	if (decide(r, may_wait, &out->wait, err) < 0)
		return -1;
	return out->wait ? 0 : finish(r, out, err);
}

int review_decide(const struct review_env *env, enum review_path path, const char *text, size_t n,
		  bool may_wait, struct review_result *out, struct err *err)
{
	AUTO(review) struct review r = { .env = env, .path = path };
	cJSON *root = NULL;
	struct err why = ERR_INIT;
	int rc;

	if (!request_fits(text, n))
		err_set(&why, FAIL_LIMIT, "the object holds more than %d values: make it smaller",
			REQUEST_VALUES_MAX);
	else if (json_parse(text, n, &root, &why) < 0 || request_read(root, &r.req, &why) < 0)
		err_wrap(&why, "the request can not be read");
	if (why.fail == FAIL_NOMEM) {
		*err = why;
		rc = -1;
	} else if (why.fail != FAIL_NONE) {
		rc = refuse_bytes(text, n, &why, out, err);
	} else {
		rc = decide_tree(&r, may_wait, out, err);
	}
	/* An arena drops the tree as a whole; freeing its values one by one is a tenth of the time.
	 */
	if (!arena_inside())
		cJSON_Delete(root);
	return rc;
}
