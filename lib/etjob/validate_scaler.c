/* SPDX-License-Identifier: Apache-2.0 */
/* validate: the rules on a ScaleOut or ScaleIn, alone and against its job. */
#include "base/map.h"
#include "etjob/names.h"
#include "etjob/validate_int.h"

struct scaling {
	struct check c;
	const cJSON *spec;
	struct scaler s;
	const struct scaler_world *world;
	bool shape_ok; /* count or podNames can be judged against the job */
};

static void check_selector(struct scaling *sc)
{
	const cJSON *selector = json_get(sc->spec, "selector");
	const cJSON *name = json_get(selector, "name");
	struct mark m = check_into_path(&sc->c, "selector.name");

	if (name && !cJSON_IsString(name))
		check_fault(&sc->c, CODE_INVALID, "wrong-type", "%s is no text: put it in quotes",
			    shown_value(name).text);
	else if (!sc->s.job[0])
		check_fault(&sc->c, CODE_INVALID, "selector-missing",
			    "is %s: give the name of the job to scale", name ? "empty" : "missing");
	check_back(&sc->c, m);
}

/* c stands at toAdd or toDelete. True when the count can be used. */
static bool check_count(struct scaling *sc, const cJSON *amount)
{
	size_t before = sc->c.out->n;

	check_int(&sc->c, amount, "count", 1, INT32_MAX);
	return sc->c.out->n == before;
}

static void check_pod_names(struct scaling *sc, const cJSON *names)
{
	AUTO(map) struct map seen = MAP_INIT(NULL);
	const cJSON *item;
	size_t i = 0;

	json_each (item, names) {
		const char *name = json_str(item);
		struct mark m = check_into(&sc->c, "podNames");

		(void)check_into_index(&sc->c, i++);
		if (!name || !*name) {
			check_fault(&sc->c, CODE_INVALID, "wrong-type",
				    "%s is no name of a pod: give one", shown_value(item).text);
			sc->shape_ok = false;
		} else if (map_has(&seen, name)) {
			check_fault(&sc->c, CODE_INVALID, "pod-name-twice",
				    "%s is in the list twice: name it once", shown_text(name).text);
			sc->shape_ok = false;
		} else if (map_put(&seen, name, NULL, sc->c.err) < 0) {
			sc->c.failed = true;
		}
		check_back(&sc->c, m);
	}
}

static void check_scale_in(struct scaling *sc, const cJSON *amount)
{
	const cJSON *names = json_get(amount, "podNames");
	const cJSON *count = json_get(amount, "count");
	bool has_names = json_len(names) > 0 && cJSON_IsArray(names);

	sc->shape_ok = true;
	if (names && !cJSON_IsArray(names)) {
		struct mark m = check_into(&sc->c, "podNames");

		check_fault(&sc->c, CODE_INVALID, "wrong-type",
			    "%s is no list: give a list of pods", shown_value(names).text);
		check_back(&sc->c, m);
		sc->shape_ok = false;
		return;
	}
	if (count && has_names) {
		check_fault(&sc->c, CODE_INVALID, "count-and-pod-names",
			    "has both count and podNames: give one of them");
		sc->shape_ok = false;
	} else if (!count && !has_names) {
		check_fault(&sc->c, CODE_INVALID, "amount-missing",
			    "has neither count nor podNames: give one of them");
		sc->shape_ok = false;
	}
	if (!check_count(sc, amount))
		sc->shape_ok = false;
	if (has_names)
		check_pod_names(sc, names);
}

static void check_scale_out(struct scaling *sc, const cJSON *amount)
{
	sc->shape_ok = true;
	if (!json_get(amount, "count")) {
		struct mark m = check_into(&sc->c, "count");

		check_fault(&sc->c, CODE_INVALID, "amount-missing",
			    "is missing: give the number of workers to add");
		check_back(&sc->c, m);
		sc->shape_ok = false;
	}
	if (!check_count(sc, amount))
		sc->shape_ok = false;
}

static void check_amount(struct scaling *sc)
{
	const char *key = sc->s.out ? "toAdd" : "toDelete";
	const char *other = sc->s.out ? "toDelete" : "toAdd";
	const cJSON *amount = json_get(sc->spec, key);
	struct mark m;

	if (json_get(sc->spec, other)) {
		m = check_into(&sc->c, other);
		check_fault(&sc->c, CODE_INVALID, "wrong-direction",
			    "does not belong in a %s: use %s, or a %s",
			    sc->s.out ? KIND_SCALEOUT : KIND_SCALEIN, key,
			    sc->s.out ? KIND_SCALEIN : KIND_SCALEOUT);
		check_back(&sc->c, m);
	}
	m = check_into(&sc->c, key);
	if (!cJSON_IsObject(amount))
		check_fault(&sc->c, CODE_INVALID, amount ? "wrong-type" : "amount-missing",
			    amount ? "is no object: give %s" : "is missing: give %s",
			    sc->s.out ? "a count" : "a count or podNames");
	else if (sc->s.out)
		check_scale_out(sc, amount);
	else
		check_scale_in(sc, amount);
	check_back(&sc->c, m);
}

static void check_rest(struct scaling *sc)
{
	const cJSON *script = json_get(sc->spec, "script");
	const cJSON *env = json_get(sc->spec, "env");
	struct mark m;

	check_int(&sc->c, sc->spec, "timeout", 1, INT32_MAX);
	check_int(&sc->c, sc->spec, "backoffLimit", 0, INT32_MAX);
	check_int(&sc->c, sc->spec, "ttlSecondsAfterFinished", 0, INT32_MAX);
	if (script && !cJSON_IsString(script)) {
		m = check_into(&sc->c, "script");
		check_fault(&sc->c, CODE_INVALID, "wrong-type", "%s is no text: put it in quotes",
			    shown_value(script).text);
		check_back(&sc->c, m);
	}
	if (env && !cJSON_IsArray(env)) {
		m = check_into(&sc->c, "env");
		check_fault(&sc->c, CODE_INVALID, "wrong-type",
			    "%s is no list: give a list of name and value", shown_value(env).text);
		check_back(&sc->c, m);
	}
}

/* --- against the job ------------------------------------------------------- */

/* Whether the job can be scaled at all; c stands at spec. */
static bool check_job_state(struct scaling *sc)
{
	const struct job *j = sc->world->job;
	struct mark m = check_into_path(&sc->c, "selector.name");
	bool ok = false;

	if (sc->world->job_missing)
		check_fault(
			&sc->c, CODE_INVALID, "job-not-found",
			"there is no TrainingJob %s in namespace %s: name one of this namespace",
			shown_text(sc->s.job).text, shown_text(sc->s.ns).text);
	else if (j->deleting)
		check_fault(&sc->c, CODE_INVALID, "job-deleting",
			    "job %s is being deleted: it can not be scaled any more",
			    shown_text(sc->s.job).text);
	else if (job_finished(j))
		check_fault(&sc->c, CODE_CONFLICT, "job-finished",
			    "job %s has finished (%s): it can not be scaled any more",
			    shown_text(sc->s.job).text, job_phase_name(j->phase));
	else if (j->suspend || j->phase == JOB_SUSPENDED)
		check_fault(&sc->c, CODE_INVALID, "job-suspended",
			    "job %s is suspended: resume it first, or change its replicas",
			    shown_text(sc->s.job).text);
	else
		ok = true;
	check_back(&sc->c, m);
	return ok;
}

static bool has_name(const cJSON *list, const char *name)
{
	const cJSON *item;

	json_each (item, list) {
		if (str_eq(json_str(item), name))
			return true;
	}
	return false;
}

/* A worker by status; where no status tells, by the names that the first workers get. */
static bool is_worker(const struct job *j, const char *pod)
{
	int64_t index;

	if (j->target_workers || j->current_workers)
		return has_name(j->target_workers, pod) || has_name(j->current_workers, pod);
	index = name_worker_index(j->name, pod);
	return index >= 0 && index < j->replicas;
}

/* The unfinished ScaleIn that names the pod already, or NULL. */
static const struct scaler *taken_by(struct scaler_set pending, const char *pod)
{
	for (size_t i = 0; i < pending.n; i++) {
		if (!pending.v[i].out &&
		    (has_name(pending.v[i].pod_names, pod) || has_name(pending.v[i].pods, pod)))
			return &pending.v[i];
	}
	return NULL;
}

static void check_workers(struct scaling *sc)
{
	const struct job *j = sc->world->job;
	const cJSON *item;
	size_t i = 0;

	json_each (item, sc->s.pod_names) {
		const char *name = json_str(item);
		const struct scaler *other = taken_by(sc->world->pending, name);
		struct mark m = check_into_path(&sc->c, "toDelete.podNames");

		(void)check_into_index(&sc->c, i++);
		if (!is_worker(j, name))
			check_fault(&sc->c, CODE_INVALID, "pod-not-a-worker",
				    "%s is no worker of job %s: see its status for the names",
				    shown_text(name).text, shown_text(j->name).text);
		else if (other)
			check_fault(&sc->c, CODE_INVALID, "pod-already-leaving",
				    "%s is being removed by ScaleIn %s: leave it out",
				    shown_text(name).text, shown_text(other->name).text);
		check_back(&sc->c, m);
	}
}

static void check_bounds(struct scaling *sc)
{
	const struct job *j = sc->world->job;
	int64_t size = validate_size(j, sc->world->pending);
	int64_t after = size + scaler_amount(&sc->s);
	bool by_name = sc->s.pod_names != NULL;
	char pending[64] = "";
	struct mark m = check_into_path(&sc->c, sc->s.out ? "toAdd.count"
						: by_name ? "toDelete.podNames"
							  : "toDelete.count");

	if (size != j->target)
		(void)snprintf(pending, sizeof(pending),
			       ", %" PRId64 " when unfinished scalers are done", size);
	if (after > j->max)
		check_fault(&sc->c, CODE_INVALID, "scale-above-max",
			    "%" PRId64 " more would make %" PRId64
			    " workers, more than maxReplicas (%" PRId64 "; now %" PRId64
			    "%s): add at most %" PRId64,
			    scaler_amount(&sc->s), after, j->max, j->target, pending,
			    j->max > size ? j->max - size : 0);
	else if (after < j->min && !sc->s.out)
		check_fault(&sc->c, CODE_INVALID, "scale-below-min",
			    "%" PRId64 " less would make %" PRId64
			    " workers, less than minReplicas (%" PRId64 "; now %" PRId64
			    "%s): remove at most %" PRId64,
			    -scaler_amount(&sc->s), after, j->min, j->target, pending,
			    size > j->min ? size - j->min : 0);
	check_back(&sc->c, m);
}

int validate_scaler(const cJSON *obj, const struct scaler_world *world, struct faults *out,
		    struct err *err)
{
	struct scaling sc = { .spec = json_get(obj, "spec"), .world = world };
	struct mark m;

	check_start(&sc.c, out, err);
	scaler_view(obj, &sc.s);
	m = check_into(&sc.c, "spec");
	if (!cJSON_IsObject(sc.spec)) {
		check_fault(&sc.c, CODE_INVALID, sc.spec ? "wrong-type" : "spec-missing",
			    sc.spec ? "is no object: give selector and %s"
				    : "is missing: give selector and %s",
			    sc.s.out ? "toAdd" : "toDelete");
		check_back(&sc.c, m);
		return check_end(&sc.c);
	}
	check_selector(&sc);
	check_amount(&sc);
	check_rest(&sc);
	if (sc.s.job[0] && (world->job || world->job_missing) && check_job_state(&sc) &&
	    sc.shape_ok) {
		check_workers(&sc);
		check_bounds(&sc);
	}
	check_back(&sc.c, m);
	return check_end(&sc.c);
}

int validate_scaler_update(const cJSON *old, const cJSON *now, struct faults *out, struct err *err)
{
	const char *kind = json_get_str(now, "kind", KIND_SCALEOUT);

	if (json_equal(json_get(old, "spec"), json_get(now, "spec")))
		return 0;
	return faults_add(out, err, CODE_INVALID, "scaler-immutable", "spec",
			  "can not be changed: make another %s", kind);
}
