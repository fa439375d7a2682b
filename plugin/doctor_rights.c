/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_rights: what the user may do, and who else looks after TrainingJobs. */
#include "base/limits.h"
#include "bundle.h"
#include "doctor.h"
#include "etjob/names.h"

static const struct kube_res access_reviews = {
	"authorization.k8s.io",    "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
	"SelfSubjectAccessReview", false
};

struct right {
	const char *group, *resource, *subresource, *verb;
};

static int ask(struct doctor *d, const struct right *r, bool *allowed, struct err *err)
{
	AUTO_JSON cJSON *review = cJSON_CreateObject(), *answer = NULL;
	cJSON *spec = review ? json_need_object(review, "spec", err) : NULL;
	cJSON *what = spec ? json_need_object(spec, "resourceAttributes", err) : NULL;

	if (!what)
		return err_nomem(err);
	if (json_set_str(review, "apiVersion", "authorization.k8s.io/v1", err) < 0 ||
	    json_set_str(review, "kind", "SelfSubjectAccessReview", err) < 0 ||
	    json_set_str(what, "namespace", ctx_ns(d->ctx), err) < 0 ||
	    json_set_str(what, "group", r->group, err) < 0 ||
	    json_set_str(what, "resource", r->resource, err) < 0 ||
	    json_set_str(what, "subresource", r->subresource, err) < 0 ||
	    json_set_str(what, "verb", r->verb, err) < 0)
		return -1;
	if (kube_create(d->ctx->api, &access_reviews, NULL, review, NULL, &answer, err) < 0)
		return -1;
	*allowed = json_get_bool(json_get(answer, "status"), "allowed", false);
	return 0;
}

int doctor_rights(struct doctor *d, struct err *err)
{
	static const struct right rights[] = {
		{ ETJOB_GROUP, "trainingjobs", "", "create" },
		{ ETJOB_GROUP, "trainingjobs", "", "delete" },
		{ ETJOB_GROUP, "scaleouts", "", "create" },
		{ ETJOB_GROUP, "scaleins", "", "create" },
		{ ETJOB_GROUP, "trainingjobs", "scale", "patch" },
		{ "", "pods", "", "list" },
		{ "", "pods", "log", "get" },
	};
	AUTO(buf) struct buf missing = BUF_INIT(LIMIT_TEXT);

	for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
		struct err why = ERR_INIT;
		bool allowed = false;

		if (ask(d, &rights[i], &allowed, &why) < 0) {
			if (why.fail == FAIL_NOMEM)
				return err_nomem(err);
			return doctor_say(d, "rights", HEALTH_WARN, "ask an administrator", err,
					  "they can not be asked for: %s", why.msg);
		}
		if (!allowed)
			buf_printf(&missing, "%s%s %s%s%s", missing.len ? ", " : "", rights[i].verb,
				   rights[i].resource, *rights[i].subresource ? "/" : "",
				   rights[i].subresource);
	}
	if (missing.len)
		return doctor_say(d, "rights", HEALTH_FAIL,
				  "ask for the role edit (or etjob-edit) in this namespace", err,
				  "you may not in namespace \"%s\": %s", ctx_ns(d->ctx),
				  buf_text(&missing));
	return doctor_say(d, "rights", HEALTH_OK, NULL, err,
			  "all that is needed in namespace \"%s\"", ctx_ns(d->ctx));
}

struct search {
	struct buf found;
};

static int on_deployment(void *arg, cJSON *item)
{
	struct search *s = arg;
	const cJSON *meta = json_get(item, "metadata"), *c;
	bool theirs = strstr(json_get_str(meta, "name", ""), "et-operator") != NULL;

	json_each (c, json_at(item, "spec", "template", "spec", "containers", NULL))
		theirs = theirs || strstr(json_get_str(c, "image", ""), "et-operator");
	if (theirs && json_get_int(json_get(item, "spec"), "replicas", 1) > 0)
		buf_printf(&s->found, "%s%s/%s", s->found.len ? ", " : "",
			   json_get_str(meta, "namespace", ""), json_get_str(meta, "name", ""));
	cJSON_Delete(item);
	return 0;
}

int doctor_others(struct doctor *d, struct err *err)
{
	struct search s = { .found = BUF_INIT(LIMIT_TEXT) };
	const struct kube_list_opts list = { .on_item = on_deployment, .arg = &s };
	struct err why = ERR_INIT;
	int rc = 0;

	if (kube_list(d->ctx->api, &kube_deployments, NULL, &list, NULL, &why) == 0 && s.found.len)
		rc = doctor_say(
			d, "neighbours", HEALTH_FAIL,
			"run one of the two: scale et-operator to 0, or take our controller away",
			err,
			"et-operator runs beside our controller (%s): both would act on the same jobs",
			buf_text(&s.found));
	else if (why.fail == FAIL_NONE)
		rc = doctor_say(d, "neighbours", HEALTH_OK, NULL, err, "no et-operator");
	buf_release(&s.found);
	return rc;
}
