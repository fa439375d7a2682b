/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/scaler.h"

#include "etjob/job.h"
#include "etjob/names.h"
#include "wire/time.h"

static int64_t count_or(const cJSON *v, const char *key, int64_t min, int64_t fallback)
{
	int64_t n;

	if (!json_int(json_get(v, key), &n) || n < min || n > INT32_MAX)
		return fallback;
	return n;
}

static enum scaler_phase phase_of(const cJSON *obj)
{
	const char *word = json_get_str(json_get(obj, "status"), "phase", "");

	if (str_eq(word, "ScaleSucceeded") || job_condition_true(obj, "ScaleSucceeded"))
		return SCALER_SUCCEEDED;
	if (str_eq(word, "ScaleFailed") || job_condition_true(obj, "ScaleFailed"))
		return SCALER_FAILED;
	if (str_eq(word, "Scaling") || str_eq(word, "ScriptExecuted"))
		return SCALER_SCALING;
	return SCALER_NEW;
}

void scaler_view(const cJSON *obj, struct scaler *out)
{
	const cJSON *meta = json_get(obj, "metadata");
	const cJSON *spec = json_get(obj, "spec");
	const cJSON *status = json_get(obj, "status");
	struct scaler s = { .obj = obj };

	s.out = str_eq(json_get_str(obj, "kind", NULL), KIND_SCALEOUT);
	s.ns = json_get_str(meta, "namespace", "");
	s.name = json_get_str(meta, "name", "");
	s.uid = json_get_str(meta, "uid", "");
	s.job = json_get_str(json_get(spec, "selector"), "name", "");
	s.deleting = json_get(meta, "deletionTimestamp") != NULL;
	if (!time_get(json_get_str(meta, "creationTimestamp", NULL), &s.created_ms))
		s.created_ms = 0;

	const cJSON *amount = json_get(spec, s.out ? "toAdd" : "toDelete");
	const cJSON *names = s.out ? NULL : json_get(amount, "podNames");
	const cJSON *pods = json_get(status, s.out ? "addPods" : "toDeletePods");
	s.count = count_or(amount, "count", 1, -1);
	s.pod_names = cJSON_IsArray(names) && names->child ? names : NULL;
	s.timeout_s = count_or(spec, "timeout", 1, 600);
	s.backoff_limit = count_or(spec, "backoffLimit", 0, 0);
	s.ttl_s = count_or(spec, "ttlSecondsAfterFinished", 0, -1);
	s.script = json_get_str(spec, "script", NULL);
	s.env = json_get(spec, "env");
	s.phase = phase_of(obj);
	s.pods = cJSON_IsArray(pods) ? pods : NULL;
	*out = s;
}

bool scaler_finished(const struct scaler *s)
{
	return s->phase == SCALER_SUCCEEDED || s->phase == SCALER_FAILED;
}

int64_t scaler_amount(const struct scaler *s)
{
	int64_t n = s->pod_names ? (int64_t)json_len(s->pod_names) : s->count;

	if (n < 0)
		n = 0;
	return s->out ? n : -n;
}

int scaler_order(const void *a, const void *b)
{
	const struct scaler *x = a, *y = b;

	if (x->created_ms != y->created_ms)
		return x->created_ms < y->created_ms ? -1 : 1;
	return strcmp(x->uid, y->uid);
}
