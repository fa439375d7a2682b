/* SPDX-License-Identifier: Apache-2.0 */
/* validate: the rules on one TrainingJob, on its own. */
#include "etjob/validate.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "etjob/validate_int.h"

/* --- values ---------------------------------------------------------------- */

/* "3.0" and "1e1" have a whole value, which the message may offer. */
static bool whole_value(const cJSON *v, int64_t *out)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	double d;

	if (!json_is_number(v) || json_print(v, &text, NULL) < 0)
		return false;
	d = strtod(buf_text(&text), NULL);
	if (!(d >= INT32_MIN && d <= INT32_MAX) || d != (double)(int32_t)d)
		return false;
	*out = (int32_t)d;
	return true;
}

/* Only digits, after a sign: a whole number too large for int64. */
static bool is_huge_int(const cJSON *v)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	const char *p;

	if (!json_is_number(v) || json_print(v, &text, NULL) < 0)
		return false;
	p = buf_text(&text);
	p += *p == '-';
	return *p && p[strspn(p, "0123456789")] == '\0';
}

static void check_int_here(struct check *c, const cJSON *v, int64_t min, int64_t max)
{
	int64_t n, whole;

	if (json_int(v, &n)) {
		if (n < min)
			check_fault(c, CODE_INVALID, "number-too-small",
				    "%" PRId64 " is less than %" PRId64 ": give at least %" PRId64,
				    n, min, min);
		else if (n > max)
			check_fault(c, CODE_INVALID, "number-too-large",
				    "%" PRId64 " is more than %" PRId64 ": give at most %" PRId64,
				    n, max, max);
	} else if (cJSON_IsString(v)) {
		check_fault(c, CODE_INVALID, "not-a-whole-number",
			    "%s is text, not a whole number: write it without quotes",
			    shown_value(v).text);
	} else if (is_huge_int(v)) {
		check_fault(c, CODE_INVALID, "number-too-large",
			    "%s is out of range: give %" PRId64 " to %" PRId64, shown_value(v).text,
			    min, max);
	} else if (whole_value(v, &whole)) {
		check_fault(c, CODE_INVALID, "not-a-whole-number",
			    "%s is not written as a whole number: write %" PRId64,
			    shown_value(v).text, whole);
	} else {
		check_fault(c, CODE_INVALID, "not-a-whole-number",
			    "%s is no whole number: give %" PRId64 " or more", shown_value(v).text,
			    min);
	}
}

void check_int(struct check *c, const cJSON *v, const char *key, int64_t min, int64_t max)
{
	const cJSON *item = json_get(v, key);
	struct mark m;

	if (!item)
		return;
	m = check_into(c, key);
	check_int_here(c, item, min, max);
	check_back(c, m);
}

static bool word_in(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; len > 0;) {
		size_t n = strcspn(p, "|");

		if (n == len && strncmp(p, word, n) == 0)
			return true;
		if (!p[n])
			return false;
		p += n + 1;
	}
	return false;
}

/* "A|B|C" as "A, B or C". */
static void list_words(const char *words, struct buf *out)
{
	for (const char *p = words;;) {
		size_t n = strcspn(p, "|");

		buf_add(out, p, n);
		if (!p[n])
			return;
		p += n + 1;
		buf_str(out, strchr(p, '|') ? ", " : " or ");
	}
}

void check_enum(struct check *c, const cJSON *v, const char *key, const char *words)
{
	const cJSON *item = json_get(v, key);
	const char *text = json_str(item);
	AUTO(buf) struct buf list = BUF_INIT(LIMIT_TEXT);
	struct mark m;

	if (!item || (text && word_in(words, text)))
		return;
	list_words(words, &list);
	m = check_into(c, key);
	check_fault(c, CODE_INVALID, "not-one-of", "%s is not allowed: use %s",
		    shown_value(item).text, buf_text(&list));
	check_back(c, m);
}

static void check_bool(struct check *c, const cJSON *v, const char *key)
{
	const cJSON *item = json_get(v, key);
	struct mark m;

	if (!item || cJSON_IsBool(item))
		return;
	m = check_into(c, key);
	check_fault(c, CODE_INVALID, "not-a-boolean", "%s is not allowed: use true or false",
		    shown_value(item).text);
	check_back(c, m);
}

/* The object at key, or NULL with a fault; c stands at v. */
static const cJSON *need_object(struct check *c, const cJSON *v, const char *key, const char *rule,
				const char *remedy)
{
	const cJSON *item = json_get(v, key);
	struct mark m;

	if (cJSON_IsObject(item))
		return item;
	m = check_into(c, key);
	if (item)
		check_fault(c, CODE_INVALID, "wrong-type", "%s is no object: %s",
			    shown_value(item).text, remedy);
	else
		check_fault(c, CODE_INVALID, rule, "is missing: %s", remedy);
	check_back(c, m);
	return NULL;
}

/* --- names ----------------------------------------------------------------- */

static void check_name(struct check *c, const cJSON *obj)
{
	const cJSON *meta = json_get(obj, "metadata");
	const char *name = json_get_str(meta, "name", "");
	const char *prefix = json_get_str(meta, "generateName", "");
	struct mark m =
		check_into_path(c, *name || !*prefix ? "metadata.name" : "metadata.generateName");

	if (*name) {
		if (strlen(name) > NAME_MAX_JOB)
			check_fault(c, CODE_INVALID, "name-too-long",
				    "%s has %zu characters: use at most %d, as pod names add "
				    "\"-worker-<n>\"",
				    shown_text(name).text, strlen(name), NAME_MAX_JOB);
		else if (!name_is_label(name, NAME_MAX_JOB))
			check_fault(c, CODE_INVALID, "name-invalid",
				    "%s is no DNS label: use lower case letters, digits and \"-\", "
				    "with a letter first and no \"-\" at the end",
				    shown_text(name).text);
	} else if (*prefix) {
		if (strlen(prefix) > NAME_MAX_PREFIX)
			check_fault(
				c, CODE_INVALID, "name-too-long",
				"%s has %zu characters: use at most %d, as the server adds 5 and "
				"pod names add \"-worker-<n>\"",
				shown_text(prefix).text, strlen(prefix), NAME_MAX_PREFIX);
		else if (!name_is_prefix(prefix, NAME_MAX_PREFIX))
			check_fault(c, CODE_INVALID, "name-invalid",
				    "%s does not begin a DNS label: use lower case letters, digits "
				    "and \"-\", with a letter first",
				    shown_text(prefix).text);
	} else {
		check_fault(c, CODE_INVALID, "name-missing", "is missing: give the job a name");
	}
	check_back(c, m);
}

/* --- the spec -------------------------------------------------------------- */

static const struct {
	const char *where; /* below spec */
	const char *key;
	int64_t min, max;
} int_rules[] = {
	{ "etReplicaSpecs.worker", "replicas", 1, INT32_MAX },
	{ "etReplicaSpecs.worker", "minReplicas", 1, INT32_MAX },
	{ "etReplicaSpecs.worker", "maxReplicas", 1, INT32_MAX },
	{ "", "slotsPerWorker", 1, INT32_MAX },
	{ "", "backoffLimit", 0, INT32_MAX },
	{ "", "activeDeadlineSeconds", 1, INT64_MAX },
	{ "", "ttlSecondsAfterFinished", 0, INT32_MAX },
};

static const struct {
	const char *where; /* below spec */
	const char *key;
	const char *words;
} enum_rules[] = {
	{ "etReplicaSpecs.launcher", "restartPolicy", "Never|OnFailure|Always|ExitCode" },
	{ "etReplicaSpecs.worker", "restartPolicy", "Never|OnFailure|Always|ExitCode" },
	{ "", "launcherAttachMode", "ssh|kubexec" },
	{ "", "cleanPodPolicy", "Running|All|None" },
	{ "", "restartPolicy", "Never|OnFailure" },
	{ "", "startPolicy", "All|Minimum" },
};

static const cJSON *below(const cJSON *spec, const char *where)
{
	if (!*where)
		return spec;
	return json_at(spec, "etReplicaSpecs", where + strlen("etReplicaSpecs."), NULL);
}

static void check_values(struct check *c, const cJSON *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(int_rules); i++) {
		struct mark m = check_into_path(c, int_rules[i].where);

		check_int(c, below(spec, int_rules[i].where), int_rules[i].key, int_rules[i].min,
			  int_rules[i].max);
		check_back(c, m);
	}
	for (size_t i = 0; i < ARRAY_LEN(enum_rules); i++) {
		struct mark m = check_into_path(c, enum_rules[i].where);

		check_enum(c, below(spec, enum_rules[i].where), enum_rules[i].key,
			   enum_rules[i].words);
		check_back(c, m);
	}
	check_bool(c, spec, "suspend");
}

/* minReplicas <= replicas <= maxReplicas, of those that are numbers. */
static void check_bounds(struct check *c, const cJSON *spec)
{
	const cJSON *worker = below(spec, "etReplicaSpecs.worker");
	struct job j;
	struct mark m;

	/* Only spec is looked at; the view wants a whole object. */
	job_view_spec(spec, &j);
	bool replicas_known = j.replicas_given || !json_get(worker, "replicas");
	const char *declared =
		j.replicas_given ? "replicas" : "replicas, which is 1 when not given";

	if (j.min_given && replicas_known && j.min > j.replicas) {
		m = check_into_path(c, "etReplicaSpecs.worker.minReplicas");
		check_fault(c, CODE_INVALID, "min-above-replicas",
			    "%" PRId64 " is more than %s (%" PRId64
			    "): lower it or start with more "
			    "workers",
			    j.min, declared, j.replicas);
		check_back(c, m);
	}
	if (j.max_given && replicas_known && j.max < j.replicas) {
		m = check_into_path(c, "etReplicaSpecs.worker.maxReplicas");
		check_fault(c, CODE_INVALID, "max-below-replicas",
			    "%" PRId64 " is less than %s (%" PRId64
			    "): raise it or start with fewer "
			    "workers",
			    j.max, declared, j.replicas);
		check_back(c, m);
	}
	if (j.min_given && j.max_given && j.min > j.max &&
	    (!replicas_known || (j.min <= j.replicas && j.max >= j.replicas))) {
		m = check_into_path(c, "etReplicaSpecs.worker.minReplicas");
		check_fault(c, CODE_INVALID, "min-above-max",
			    "%" PRId64 " is more than maxReplicas (%" PRId64 "): lower it or raise "
			    "maxReplicas",
			    j.min, j.max);
		check_back(c, m);
	}
}

static void check_launcher(struct check *c, const cJSON *launcher)
{
	int64_t n;
	const cJSON *replicas = json_get(launcher, "replicas");

	if (!replicas || (json_int(replicas, &n) && n == 1))
		return;
	struct mark m = check_into(c, "replicas");
	if (json_int(replicas, &n))
		check_fault(c, CODE_INVALID, "launcher-replicas",
			    "%" PRId64 " is not 1: a job has exactly one launcher, more processes "
			    "come from workers",
			    n);
	else
		check_int_here(c, replicas, 1, 1);
	check_back(c, m);
}

static void check_replica_specs(struct check *c, const cJSON *specs)
{
	const cJSON *launcher = need_object(c, specs, "launcher", "launcher-missing",
					    "give the pod template that runs horovodrun");
	const cJSON *worker = need_object(c, specs, "worker", "worker-missing",
					  "give the pod template that trains");
	struct mark m;

	if (launcher) {
		m = check_into(c, "launcher");
		check_launcher(c, launcher);
		check_template(c, launcher);
		check_back(c, m);
	}
	if (worker) {
		m = check_into(c, "worker");
		check_template(c, worker);
		check_back(c, m);
	}
}

void check_job_spec(struct check *c, const cJSON *obj)
{
	const cJSON *spec = need_object(c, obj, "spec", "spec-missing",
					"give etReplicaSpecs with a launcher and a worker");

	if (!spec)
		return;
	struct mark m = check_into(c, "spec");
	check_values(c, spec);
	check_bounds(c, spec);
	const cJSON *specs = need_object(c, spec, "etReplicaSpecs", "replica-specs-missing",
					 "give a launcher and a worker");
	if (specs) {
		struct mark inner = check_into(c, "etReplicaSpecs");

		check_replica_specs(c, specs);
		check_back(c, inner);
	}
	check_back(c, m);
}

int validate_job(const cJSON *obj, struct faults *out, struct err *err)
{
	struct check c;
	struct job j;

	check_start(&c, out, err);
	check_name(&c, obj);
	check_job_spec(&c, obj);
	job_view(obj, &j);
	check_job_warnings(&c, &j);
	return check_end(&c);
}
