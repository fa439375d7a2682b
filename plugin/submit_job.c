/* SPDX-License-Identifier: Apache-2.0 */
/* submit_job: from the flags of submit to a TrainingJob. Pure. */
#include "etjob/inject.h"
#include "etjob/names.h"
#include "submit.h"
#include "submit_parts.h"

void submit_out_release(struct submit_out *out)
{
	cJSON_Delete(out->job);
	for (size_t i = 0; i < out->nchildren; i++)
		cJSON_Delete(out->children[i]);
	free(out->children);
	*out = (struct submit_out){ 0 };
}

/* Whether n bytes may be the name of an environment variable. */
static bool env_name(const char *s, size_t n)
{
	if (!n || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z') && !(s[i] >= '0' && s[i] <= '9') &&
		    !strchr("_-.", s[i]))
			return false;
	return true;
}

/*
 * The kubelet reads $$ as $ and replaces $(NAME) by a variable's value; a reference it can not
 * resolve stays as it is, with all that is in it. So only what it would change is escaped.
 */
void submit_escape(const char *text, struct buf *out)
{
	while (*text) {
		const char *end;

		if (text[0] != '$' || !text[1]) {
			buf_char(out, *text++);
		} else if (text[1] == '$') {
			buf_str(out, "$$$$");
			text += 2;
		} else if (text[1] == '(' && (end = strchr(text, ')'))) {
			if (env_name(text + 2, (size_t)(end - text - 2)))
				buf_char(out, '$');
			buf_add(out, text, (size_t)(end - text + 1));
			text = end + 1;
		} else {
			buf_add(out, text, 2);
			text += 2;
		}
	}
}

static int set_command(const struct submit_in *in, cJSON *container, struct err *err)
{
	AUTO_JSON cJSON *list = cJSON_CreateArray();
	const char *shell = in->o->shell ? in->o->shell : "sh";

	if (!list)
		return err_nomem(err);
	if (in->shell &&
	    (json_append_str(list, shell, err) < 0 || json_append_str(list, "-c", err) < 0))
		return -1;
	for (size_t i = 0; i < in->nwords; i++) {
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);

		submit_escape(in->words[i], &text);
		if (buf_check(&text, err) < 0 || json_append_str(list, buf_text(&text), err) < 0)
			return -1;
	}
	if (json_get(container, "args"))
		json_del(container, "args");
	return json_set(container, "command", TAKE(list), err);
}

/* The first container of a role's pod template, made when there is none. */
static cJSON *first_container(cJSON *pod_spec, struct err *err)
{
	cJSON *list = json_need_array(pod_spec, "containers", err);

	if (!list)
		return NULL;
	if (!list->child) {
		cJSON *made = cJSON_CreateObject();

		if (!made) {
			(void)err_nomem(err);
			return NULL;
		}
		if (json_append(list, made, err) < 0 || json_set_str(made, "name", "et", err) < 0)
			return NULL;
	}
	return list->child;
}

static int open_role(cJSON *specs, const char *name, bool launcher, struct role *out,
		     struct err *err)
{
	struct role r = { .launcher = launcher };

	if (!(r.replica = json_need_object(specs, name, err)) ||
	    !(r.template_ = json_need_object(r.replica, "template", err)) ||
	    !(r.meta = json_need_object(r.template_, "metadata", err)) ||
	    !(r.spec = json_need_object(r.template_, "spec", err)) ||
	    !(r.container = first_container(r.spec, err)))
		return -1;
	*out = r;
	return 0;
}

/* What a job gets that is not made from a file. */
static int set_defaults(const struct submit_in *in, cJSON *job, struct role roles[2],
			struct err *err)
{
	const struct submit_opts *o = in->o;
	cJSON *spec = json_need_object(job, "spec", err);
	struct role *w = &roles[1];
	int64_t most = o->workers > WORKERS_UNBOUNDED ? o->workers : WORKERS_UNBOUNDED;

	if (o->max_workers >= 0)
		most = o->max_workers;
	if (!spec || json_set_str(spec, "cleanPodPolicy", "Running", err) < 0 ||
	    json_set_int(roles[0].replica, "replicas", 1, err) < 0 ||
	    json_set_int(w->replica, "replicas", o->workers < 0 ? 1 : o->workers, err) < 0 ||
	    json_set_int(w->replica, "minReplicas", o->min_workers < 0 ? 1 : o->min_workers, err) <
		    0 ||
	    json_set_int(w->replica, "maxReplicas", most, err) < 0 ||
	    json_set_int(spec, "backoffLimit", o->backoff_limit < 0 ? 6 : o->backoff_limit, err) <
		    0)
		return -1;
	return parts_labels(in, job, roles, err);
}

static int set_counts(const struct submit_opts *o, cJSON *spec, struct role *w, struct err *err)
{
	const struct {
		cJSON *in;
		const char *key;
		int64_t value;
	} rows[] = {
		{ w->replica, "replicas", o->workers },
		{ w->replica, "minReplicas", o->min_workers },
		{ w->replica, "maxReplicas", o->max_workers },
		{ spec, "slotsPerWorker", o->slots },
		{ spec, "backoffLimit", o->backoff_limit },
		{ spec, "ttlSecondsAfterFinished", o->ttl_s },
		{ spec, "activeDeadlineSeconds", o->deadline_s },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].value >= 0 &&
		    json_set_int(rows[i].in, rows[i].key, rows[i].value, err) < 0)
			return -1;
	if (o->start_policy && json_set_str(spec, "startPolicy", o->start_policy, err) < 0)
		return -1;
	if (o->job_restart && json_set_str(spec, "restartPolicy", o->job_restart, err) < 0)
		return -1;
	return o->worker_restart ? json_set_str(w->replica, "restartPolicy", o->worker_restart, err)
				 : 0;
}

static int apply_flags(const struct submit_in *in, cJSON *job, struct role roles[2],
		       struct err *err)
{
	cJSON *spec = json_need_object(job, "spec", err);

	if (!spec || set_counts(in->o, spec, &roles[1], err) < 0)
		return -1;
	if (in->nwords && set_command(in, roles[0].container, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (parts_resources(in, &roles[i], err) < 0 || parts_pod(in, &roles[i], err) < 0 ||
		    parts_env(in, &roles[i], err) < 0 || parts_volumes(in, &roles[i], err) < 0 ||
		    parts_sync(in, &roles[i], err) < 0)
			return -1;
	return parts_metadata(in, job, roles, err);
}

static int new_job(const struct submit_in *in, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *job = in->base ? json_copy(in->base, err) : cJSON_CreateObject();

	if (!job)
		return err_nomem(err);
	if (!in->base && (json_set_str(job, "apiVersion", ETJOB_API_VERSION, err) < 0 ||
			  json_set_str(job, "kind", KIND_JOB, err) < 0))
		return -1;
	cJSON *meta = json_need_object(job, "metadata", err);
	if (!meta || (in->name && json_set_str(meta, "name", in->name, err) < 0) ||
	    json_set_str(meta, "namespace", in->ns, err) < 0)
		return -1;
	*out = TAKE(job);
	return 0;
}

int submit_build(const struct submit_in *in, struct submit_out *out, struct err *err)
{
	static const struct inject_opts env_only = { .mount = false };
	AUTO_JSON cJSON *job = NULL;
	struct role roles[2];

	if (new_job(in, &job, err) < 0)
		return -1;
	cJSON *spec = json_need_object(job, "spec", err);
	cJSON *specs = spec ? json_need_object(spec, "etReplicaSpecs", err) : NULL;
	if (!specs || open_role(specs, "launcher", true, &roles[0], err) < 0 ||
	    open_role(specs, "worker", false, &roles[1], err) < 0)
		return -1;
	if (!in->base && set_defaults(in, job, roles, err) < 0)
		return -1;
	if (apply_flags(in, job, roles, err) < 0)
		return -1;
	/* The four variables: a cluster without the webhook needs them too. */
	if (!in->base && inject_apply(&job, NULL, &env_only, err) < 0)
		return -1;
	struct submit_out made = { .job = TAKE(job) };
	if (submit_children(in, &made, err) < 0) {
		submit_out_release(&made);
		return -1;
	}
	*out = made;
	return 0;
}
