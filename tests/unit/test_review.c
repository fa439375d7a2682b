/* SPDX-License-Identifier: Apache-2.0 */
/* review: bytes in, answer bytes out, by tables. Long because the documents of each table are
 * spelled out. */
#include "base/limits.h"
#include "etjob/inject.h"
#include "fault.h"
#include "unit.h"
#include "webhook/arena.h"
#include "webhook/review.h"
#include "wire/base64.h"
#include "wire/patch.h"

/* --- a world that a test can set --------------------------------------------- */

struct world {
	struct clock clock;
	int64_t now_ms;
	struct snap_cell cell;
	struct reserve *reserve;
	struct review_env env;
};

static int64_t fixed(const struct clock *c)
{
	return *(const int64_t *)c->arg;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = ERR_INIT;

	assert_non_null(w);
	arena_install(); /* a test of failing allocations put its own in place */
	w->now_ms = 1000000;
	w->clock = (struct clock){ .wall_ms = fixed, .mono_ms = fixed, .arg = &w->now_ms };
	assert_int_equal(snap_cell_init(&w->cell, &err), 0);
	assert_int_equal(reserve_new(&w->clock, &w->reserve, &err), 0);
	w->env = (struct review_env){ .clock = &w->clock,
				      .cell = &w->cell,
				      .reserve = w->reserve,
				      .mount = true,
				      .unique_names = true };
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	reserve_free(w->reserve);
	snap_cell_release(&w->cell);
	free(w);
	return 0;
}

/* Publishes a snapshot of n objects given as JSON. */
static void publish(struct world *w, const char *const *objects, size_t n)
{
	struct err err = ERR_INIT;
	struct snap *s;

	assert_int_equal(snap_new(&s, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct snap_obj *o;
		cJSON *json;
		bool job;

		assert_int_equal(json_parse(objects[i], strlen(objects[i]), &json, &err), 0);
		snap_trim(json);
		job = str_eq(json_get_str(json, "kind", ""), "TrainingJob");
		assert_int_equal(snap_obj_new(json, &o, &err), 0);
		assert_int_equal(job ? snap_add_job(s, o, &err) : snap_add_scaler(s, o, &err), 0);
		snap_obj_free(o);
	}
	snap_cell_set(&w->cell, s);
	atomic_store(&w->cell.heard_ms, w->now_ms);
}

/* --- documents ------------------------------------------------------------------ */

#define POD "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define JOB_SPEC(worker)                                                      \
	"{\"etReplicaSpecs\":{\"launcher\":{\"replicas\":1,\"template\":" POD \
	"},\"worker\":{" worker ",\"template\":" POD "}}}"
#define JOB_META(meta, worker)                                                                           \
	"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\",\"metadata\":{" meta \
	"},\"spec\":" JOB_SPEC(worker) "}"
#define COUNTS "\"replicas\":2,\"minReplicas\":1,\"maxReplicas\":4"
#define JOB(ns, name) JOB_META("\"name\":\"" name "\",\"namespace\":\"" ns "\"", COUNTS)
#define SCALER(kind, name, what)                                                              \
	"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"" kind                  \
	"\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"a\"},\"spec\":{\"selector\":" \
	"{\"name\":\"et\"}," what "}}"
#define OUT(name, n) SCALER("ScaleOut", name, "\"toAdd\":{\"count\":" n "}")
#define IN(name, n) SCALER("ScaleIn", name, "\"toDelete\":{\"count\":" n "}")
#define RUNNING_JOB                                                                                             \
	"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\",\"metadata\":{"             \
	"\"name\":\"et\",\"namespace\":\"a\"},\"spec\":" JOB_SPEC(                                              \
		COUNTS) ",\"status\":{\"phase\":\"Running\",\"replicas\":2,\"targetWorkers\":[\"et-worker-0\"," \
			"\"et-worker-1\"]}}"

struct ask {
	const char *kind, *op, *object, *old;
	const char *more; /* further members of request */
};

static void ask_text(const struct ask *a, struct buf *out)
{
	buf_printf(out,
		   "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
		   "\"request\":{\"uid\":\"u-1\",\"kind\":{\"group\":\"kai.alibabacloud.com\","
		   "\"version\":\"v1alpha1\",\"kind\":\"%s\"},\"name\":\"et\",\"namespace\":\"a\","
		   "\"operation\":\"%s\",\"userInfo\":{\"username\":\"eve\"},\"object\":%s,"
		   "\"oldObject\":%s%s%s}}",
		   a->kind, a->op, a->object ? a->object : "null", a->old ? a->old : "null",
		   a->more ? "," : "", a->more ? a->more : "");
}

/* Decides in an arena, as the server does. */
static void decide(struct world *w, enum review_path path, const char *text, size_t n,
		   struct review_result *r)
{
	AUTO(arena) struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;

	*r = REVIEW_RESULT_INIT;
	arena_enter(&arena);
	assert_int_equal(review_decide(&w->env, path, text, n, false, r, &err), 0);
	arena_leave(&arena);
	assert_false(r->wait);
}

static void decide_ask(struct world *w, enum review_path path, const struct ask *a,
		       struct review_result *r)
{
	AUTO(buf) struct buf text = BUF_INIT(1 << 20);

	ask_text(a, &text);
	decide(w, path, buf_text(&text), text.len, r);
}

static cJSON *answer_of(const struct review_result *r)
{
	struct err err = ERR_INIT;
	cJSON *v = NULL;

	assert_int_equal(r->http, 200);
	assert_int_equal(json_parse(buf_text(&r->body), r->body.len, &v, &err), 0);
	assert_string_equal(json_get_str(v, "apiVersion", ""), "admission.k8s.io/v1");
	assert_string_equal(json_get_str(v, "kind", ""), "AdmissionReview");
	assert_string_equal(json_get_str(json_get(v, "response"), "uid", ""), "u-1");
	return v;
}

/* The ops of an answer's patch, or NULL; the caller's. */
static cJSON *patch_of(const struct review_result *r)
{
	AUTO_JSON cJSON *v = answer_of(r);
	const cJSON *response = json_get(v, "response");
	const char *text = json_get_str(response, "patch", NULL);
	AUTO(buf) struct buf ops = BUF_INIT(1 << 20);
	struct err err = ERR_INIT;
	cJSON *out;

	if (!text) {
		assert_null(json_get(response, "patchType"));
		return NULL;
	}
	assert_string_equal(json_get_str(response, "patchType", ""), "JSONPatch");
	assert_int_equal(base64_decode(text, strlen(text), &ops, &err), 0);
	assert_int_equal(json_parse(buf_text(&ops), ops.len, &out, &err), 0);
	return out;
}

/* --- tables ------------------------------------------------------------------------ */

struct row {
	const char *what;
	enum review_path path;
	struct ask ask;
	int code;           /* 0: allowed */
	const char *reason; /* of a denial */
	const char *says;   /* part of the message */
};

static void check_rows(struct world *w, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		AUTO(review_result) struct review_result r;
		AUTO_JSON cJSON *v = NULL;
		const cJSON *response, *status;

		print_message("         %s\n", row->what);
		decide_ask(w, row->path, &row->ask, &r);
		v = answer_of(&r);
		response = json_get(v, "response");
		status = json_get(response, "status");
		if (!row->code) {
			if (status)
				fail_msg("%s", json_get_str(status, "message", ""));
			assert_true(json_get_bool(response, "allowed", false));
			continue;
		}
		assert_false(json_get_bool(response, "allowed", true));
		assert_int_equal(json_get_int(status, "code", 0), row->code);
		assert_string_equal(json_get_str(status, "reason", ""), row->reason);
		if (!strstr(json_get_str(status, "message", ""), row->says))
			fail_msg("\"%s\" is not in \"%s\"", row->says,
				 json_get_str(status, "message", ""));
		assert_null(json_get(response, "patch"));
		assert_int_equal(r.verdict, REVIEW_DENIED);
		assert_string_equal(r.user, "eve");
	}
}

static void jobs_are_allowed_or_refused(void **state)
{
	static const struct row rows[] = {
		{ "a sound job",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", JOB("a", "et") },
		  0,
		  0,
		  0 },
		{ "a sound job, last word",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob", "CREATE", JOB("a", "et") },
		  0,
		  0,
		  0 },
		{ "min above replicas",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob",
		    "CREATE",
		    JOB_META("\"name\":\"et\"", "\"replicas\":3,\"minReplicas\":4") },
		  422,
		  "Invalid",
		  "spec.etReplicaSpecs.worker.minReplicas: 4 is more than replicas (3)" },
		{ "both phases check",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob",
		    "CREATE",
		    JOB_META("\"name\":\"et\"", "\"replicas\":3,\"minReplicas\":4") },
		  422,
		  "Invalid",
		  "minReplicas" },
		{ "a count that is no whole number",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob",
		    "CREATE",
		    JOB_META("\"name\":\"et\"", "\"replicas\":3.0") },
		  422,
		  "Invalid",
		  "spec.etReplicaSpecs.worker.replicas" },
		{ "a name with a dot",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", JOB_META("\"name\":\"a.b\"", COUNTS) },
		  422,
		  "Invalid",
		  "metadata.name" },
		{ "generateName",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", JOB_META("\"generateName\":\"et-\"", COUNTS) },
		  0,
		  0,
		  0 },
		{ "a generateName that is too long",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob",
		    "CREATE",
		    JOB_META("\"generateName\":\"a2345678901234567890123456789012345678901234567\"",
			     COUNTS) },
		  422,
		  "Invalid",
		  "metadata.generateName" },
		{ "no spec at all",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", "{\"metadata\":{\"name\":\"et\"}}" },
		  422,
		  "Invalid",
		  "spec" },
		{ "an object that is none",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", "[1]" },
		  422,
		  "Invalid",
		  "object" },
		{ "an update without the old object",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "UPDATE", JOB("a", "et") },
		  422,
		  "Invalid",
		  "oldObject" },
		{ "an immutable field",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob",
		    "UPDATE",
		    "{\"metadata\":{\"name\":\"et\"},\"spec\":{\"slotsPerWorker\":2,\"etReplicaSpecs\":"
		    "{\"launcher\":{\"template\":" POD "},\"worker\":{" COUNTS ",\"template\":" POD
		    "}}}}",
		    "{\"metadata\":{\"name\":\"et\"},\"spec\":{\"slotsPerWorker\":1,\"etReplicaSpecs\":"
		    "{\"launcher\":{\"template\":" POD "},\"worker\":{" COUNTS ",\"template\":" POD
		    "}}}}" },
		  422,
		  "Invalid",
		  "spec.slotsPerWorker" },
		{ "a label of an old broken object",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob",
		    "UPDATE",
		    JOB_META("\"name\":\"a.b\",\"labels\":{\"x\":\"y\"}", "\"minReplicas\":9"),
		    JOB_META("\"name\":\"a.b\"", "\"minReplicas\":9") },
		  0,
		  0,
		  0 },
		{ "the finalizer of a broken object that is being deleted",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob",
		    "UPDATE",
		    "{\"metadata\":{\"name\":\"et\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}",
		    "{\"metadata\":{\"name\":\"et\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
		    "\"finalizers\":[\"x/y\"]}}" },
		  0,
		  0,
		  0 },
		{ "DELETE",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob", "DELETE", NULL, "{}" },
		  0,
		  0,
		  0 },
		{ "CONNECT", REVIEW_VALIDATE, { .kind = "TrainingJob", "CONNECT", "{}" }, 0, 0, 0 },
		{ "an operation of the future",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "FROB", "{}" },
		  0,
		  0,
		  0 },
		{ "a status update",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "UPDATE", "{}", "{}", "\"subResource\":\"status\"" },
		  0,
		  0,
		  0 },
		{ "a scale",
		  REVIEW_MUTATE,
		  { .kind = "Scale",
		    "UPDATE",
		    "{\"spec\":{\"replicas\":3}}",
		    "{}",
		    "\"subResource\":\"scale\"" },
		  0,
		  0,
		  0 },
		{ "a kind that is not ours",
		  REVIEW_MUTATE,
		  { .kind = "Pod", "CREATE", "{}" },
		  0,
		  0,
		  0 },
	};

	publish(*state, NULL, 0);
	check_rows(*state, rows, ARRAY_LEN(rows));
}

static void scalers_are_allowed_or_refused(void **state)
{
	static const struct row rows[] = {
		{ "up to the maximum",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleOut", "CREATE", OUT("s1", "2"), NULL, "\"dryRun\":true" },
		  0,
		  0,
		  0 },
		{ "above the maximum",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleOut", "CREATE", OUT("s1", "3") },
		  422,
		  "Invalid",
		  "spec.toAdd.count: 3 more would make 5 workers, more than maxReplicas (4; now 2): add at most 2" },
		{ "down to the minimum",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn", "CREATE", IN("s1", "1"), NULL, "\"dryRun\":true" },
		  0,
		  0,
		  0 },
		{ "below the minimum",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn", "CREATE", IN("s1", "2") },
		  422,
		  "Invalid",
		  "less than minReplicas (1; now 2)" },
		{ "a worker by name",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn",
		    "CREATE",
		    SCALER("ScaleIn", "s1", "\"toDelete\":{\"podNames\":[\"et-worker-1\"]}"),
		    NULL,
		    "\"dryRun\":true" },
		  0,
		  0,
		  0 },
		{ "a pod that is no worker",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn",
		    "CREATE",
		    SCALER("ScaleIn", "s1", "\"toDelete\":{\"podNames\":[\"et-worker-7\"]}") },
		  422,
		  "Invalid",
		  "et-worker-7" },
		{ "a job that is not there",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleOut",
		    "CREATE",
		    "{\"kind\":\"ScaleOut\",\"metadata\":{\"name\":\"s1\",\"namespace\":\"a\"},\"spec\":"
		    "{\"selector\":{\"name\":\"no\"},\"toAdd\":{\"count\":1}}}" },
		  422,
		  "Invalid",
		  "no" },
		{ "an update of the same spec",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleOut", "UPDATE", OUT("s1", "9"), OUT("s1", "9") },
		  0,
		  0,
		  0 },
		{ "an update of another spec",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleOut", "UPDATE", OUT("s1", "1"), OUT("s1", "2") },
		  422,
		  "Invalid",
		  "spec" },
		{ "DELETE",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn", "DELETE", NULL, IN("s1", "9") },
		  0,
		  0,
		  0 },
		{ "status",
		  REVIEW_VALIDATE,
		  { .kind = "ScaleIn",
		    "UPDATE",
		    IN("s1", "9"),
		    IN("s1", "8"),
		    "\"subResource\":\"status\"" },
		  0,
		  0,
		  0 },
	};
	static const char *const objects[] = { RUNNING_JOB };

	publish(*state, objects, 1);
	check_rows(*state, rows, ARRAY_LEN(rows));
}

/* --- patches ------------------------------------------------------------------------ */

static void the_second_answer_has_no_patch(void **state)
{
	struct world *w = *state;
	AUTO(review_result) struct review_result first, second;
	AUTO(buf) struct buf text = BUF_INIT(1 << 20);
	AUTO_JSON cJSON *ops = NULL, *doc = NULL, *none = NULL;
	struct err err = ERR_INIT;
	struct ask ask = { .kind = "TrainingJob", "CREATE", JOB("a", "et"), NULL, NULL };

	publish(w, NULL, 0);
	decide_ask(w, REVIEW_MUTATE, &ask, &first);
	assert_int_equal(first.verdict, REVIEW_PATCHED);
	ops = patch_of(&first);
	assert_non_null(ops);
	assert_int_equal(json_parse(ask.object, strlen(ask.object), &doc, &err), 0);
	assert_int_equal(patch_apply(ops, &doc, &err), 0);
	assert_int_equal(json_print(doc, &text, &err), 0);
	ask.object = buf_text(&text);
	decide_ask(w, REVIEW_MUTATE, &ask, &second);
	assert_int_equal(second.verdict, REVIEW_ALLOWED);
	none = patch_of(&second);
	assert_null(none);
}

static void a_validating_answer_has_no_patch(void **state)
{
	AUTO(review_result) struct review_result r;
	AUTO_JSON cJSON *ops = NULL;

	publish(*state, NULL, 0);
	decide_ask(
		*state, REVIEW_VALIDATE,
		&(const struct ask){ .kind = "TrainingJob", "CREATE", JOB("a", "et"), NULL, NULL },
		&r);
	assert_int_equal(r.verdict, REVIEW_ALLOWED);
	ops = patch_of(&r);
	assert_null(ops);
}

static void a_finished_job_gets_no_patch(void **state)
{
	static const char done[] =
		"{\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"et\",\"namespace\":\"a\"},\"spec\":" JOB_SPEC(
			COUNTS) ",\"status\":{\"phase\":\"Succeeded\"}}";
	AUTO(review_result) struct review_result r;
	AUTO_JSON cJSON *ops = NULL;

	publish(*state, NULL, 0);
	decide_ask(*state, REVIEW_MUTATE,
		   &(const struct ask){ .kind = "TrainingJob", "UPDATE", done, done, NULL }, &r);
	assert_int_equal(r.verdict, REVIEW_ALLOWED);
	ops = patch_of(&r);
	assert_null(ops);
}

/* --- names --------------------------------------------------------------------------- */

static int code_of(struct world *w, const char *kind, const char *object, const char *more)
{
	AUTO(review_result) struct review_result r;

	decide_ask(w, REVIEW_VALIDATE, &(const struct ask){ kind, "CREATE", object, NULL, more },
		   &r);
	return r.verdict == REVIEW_DENIED ? r.code : 200;
}

static void a_name_is_taken_by_a_job_of_another_namespace(void **state)
{
	static const struct row rows[] = {
		{ "taken in b",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob", "CREATE", JOB("a", "et") },
		  409,
		  "AlreadyExists",
		  "metadata.name: \"et\" is taken by a job in namespace \"b\"" },
		{ "the mutating phase does not look",
		  REVIEW_MUTATE,
		  { .kind = "TrainingJob", "CREATE", JOB("a", "et") },
		  0,
		  0,
		  0 },
		{ "all faults at once",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob",
		    "CREATE",
		    JOB_META("\"name\":\"et\"", "\"replicas\":3,\"minReplicas\":4") },
		  422,
		  "Invalid",
		  "is taken by a job in namespace" },
		{ "an update keeps its name",
		  REVIEW_VALIDATE,
		  { .kind = "TrainingJob", "UPDATE", JOB("a", "et"), JOB("a", "et") },
		  0,
		  0,
		  0 },
	};
	static const char *const objects[] = { JOB("b", "et"), JOB("c", "other") };
	struct world *w = *state;

	publish(w, objects, 2);
	check_rows(w, rows, ARRAY_LEN(rows));
	w->env.unique_names = false;
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), NULL), 200);
}

static void an_admitted_name_is_reserved(void **state)
{
	struct world *w = *state;

	publish(w, NULL, 0);
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), "\"dryRun\":true"), 200);
	assert_int_equal(reserve_count(w->reserve), 0);
	assert_int_equal(code_of(w, "TrainingJob",
				 JOB_META("\"name\":\"et\"", "\"replicas\":3,\"minReplicas\":4"),
				 NULL),
			 422);
	assert_int_equal(reserve_count(w->reserve), 0);
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), NULL), 200);
	assert_int_equal(reserve_count(w->reserve), 1);
	/* The same one again is the API server's to refuse. */
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), NULL), 200);
	assert_int_equal(reserve_count(w->reserve), 1);
	{
		AUTO(review_result) struct review_result r;
		AUTO(buf) struct buf text = BUF_INIT(1 << 16);
		AUTO_JSON cJSON *v = NULL;
		const char *at;

		ask_text(
			&(const struct ask){
				.kind = "TrainingJob", "CREATE", JOB("b", "et"), NULL, NULL },
			&text);
		at = strstr(buf_text(&text), "\"namespace\":\"a\"");
		text.data[at - text.data + 13] = 'b';
		decide(w, REVIEW_VALIDATE, buf_text(&text), text.len, &r);
		v = answer_of(&r);
		assert_int_equal(r.code, 409);
		assert_string_equal(r.rules[0], "name-taken");
		assert_non_null(strstr(r.reasons, "namespace \"a\""));
	}
	w->now_ms += RESERVE_MS;
	atomic_store(&w->cell.heard_ms, w->now_ms);
	assert_int_equal(reserve_count(w->reserve), 0);
}

/* --- scalers together ------------------------------------------------------------------ */

static void admitted_scalers_count(void **state)
{
	static const char *const before[] = { RUNNING_JOB };
	static const char *const after[] = { RUNNING_JOB, OUT("s1", "1") };
	struct world *w = *state;

	publish(w, before, 1);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "1"), NULL), 200);
	/* 2 workers and 1 reserved, of 4 */
	assert_int_equal(code_of(w, "ScaleOut", OUT("s2", "2"), NULL), 422);
	publish(w, after, 2); /* shown and reserved counts once */
	assert_int_equal(code_of(w, "ScaleOut", OUT("s2", "2"), NULL), 422);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s2", "1"), "\"dryRun\":true"), 200);
	reserve_seen(w->reserve, RESERVE_SCALEOUT, "a", "s1");
	assert_int_equal(reserve_count(w->reserve), 0);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s2", "2"), NULL), 422);
	assert_int_equal(code_of(w, "ScaleIn", IN("s2", "2"), NULL), 200);
	assert_int_equal(code_of(w, "ScaleIn", IN("s3", "1"), NULL), 422);
}

static void a_job_just_admitted_can_be_scaled(void **state)
{
	struct world *w = *state;

	publish(w, NULL, 0);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "1"), NULL), 422);
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), NULL), 200);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "1"), NULL), 200);
}

static void a_missing_job_may_be_waited_for(void **state)
{
	struct world *w = *state;
	AUTO(review_result) struct review_result r = REVIEW_RESULT_INIT;
	AUTO(buf) struct buf text = BUF_INIT(1 << 16);
	struct err err = ERR_INIT;

	publish(w, NULL, 0);
	ask_text(&(const struct ask){ .kind = "ScaleOut", "CREATE", OUT("s1", "1"), NULL, NULL },
		 &text);
	assert_int_equal(
		review_decide(&w->env, REVIEW_VALIDATE, buf_text(&text), text.len, true, &r, &err),
		0);
	assert_true(r.wait);
	assert_int_equal(r.body.len, 0);
}

static void a_stale_index_proves_little(void **state)
{
	static const char *const objects[] = { RUNNING_JOB, JOB("b", "taken") };
	struct world *w = *state;

	publish(w, objects, 2);
	w->now_ms += REVIEW_STALE_MS + 1;
	/* what one object says is still refused */
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "0"), NULL), 422);
	/* what needs to know the present is not */
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "3"), "\"dryRun\":true"), 200);
	assert_int_equal(code_of(w, "ScaleOut",
				 "{\"kind\":\"ScaleOut\",\"metadata\":{\"name\":\"s\"},\"spec\":"
				 "{\"selector\":{\"name\":\"no\"},\"toAdd\":{\"count\":1}}}",
				 NULL),
			 200);
	/* a name that was seen taken is */
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "taken"), NULL), 409);
	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "free"), NULL), 200);
}

static void before_the_first_snapshot_only_the_object_counts(void **state)
{
	struct world *w = *state;

	assert_int_equal(code_of(w, "TrainingJob", JOB("a", "et"), NULL), 200);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s1", "1"), NULL), 200);
	assert_int_equal(code_of(w, "ScaleOut", OUT("s2", "0"), NULL), 422);
}

/* --- bytes ------------------------------------------------------------------------------ */

struct bytes {
	const char *what, *text;
	int http;
	const char *says;
};

#define HEAD \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u-1\""
#define WITH(object) HEAD ",\"operation\":\"CREATE\",\"object\":" object "}}"

static void bytes_that_are_no_review_are_refused(void **state)
{
	static const struct bytes rows[] = {
		{ "nothing", "", 400, "can not be read" },
		{ "no JSON", "hello", 400, "can not be read" },
		{ "another kind", "{\"kind\":\"Pod\"}", 400, "no AdmissionReview" },
		{ "an array", "[]", 400, "no AdmissionReview" },
		{ "v1beta1",
		  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\"}", 400,
		  "only admission.k8s.io/v1 is served" },
		{ "no request",
		  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}", 400,
		  "no request with a uid" },
		{ "no uid",
		  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{}}",
		  400, "no request with a uid" },
		{ "cut", HEAD, 200, "can not be read" },
		{ "trailing bytes", WITH("{}") "x", 200, "can not be read" },
		{ "a duplicate key", WITH("{\"a\":1,\"a\":2}"), 200, "can not be read" },
		{ "U+0000", WITH("{\"a\":\"\\u0000\"}"), 200, "can not be read" },
		{ "a lone surrogate", WITH("{\"a\":\"\\ud800\"}"), 200, "can not be read" },
		{ "no UTF-8", WITH("{\"a\":\"\xff\"}"), 200, "can not be read" },
		{ "a control character", WITH("{\"a\":\"\x01\"}"), 200, "can not be read" },
	};

	publish(*state, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(review_result) struct review_result r;

		print_message("         %s\n", rows[i].what);
		decide(*state, REVIEW_MUTATE, rows[i].text, strlen(rows[i].text), &r);
		assert_int_equal(r.http, rows[i].http);
		assert_int_equal(r.verdict, REVIEW_ERROR);
		assert_non_null(strstr(buf_text(&r.body), rows[i].says));
		if (r.http == 200) {
			AUTO_JSON cJSON *v = answer_of(&r);
			const cJSON *response = json_get(v, "response");

			assert_false(json_get_bool(response, "allowed", true));
			assert_int_equal(json_get_int(json_get(response, "status"), "code", 0),
					 400);
		}
	}
}

/* Fills `text` with `open` n times, then `close` n times, inside of a review. */
static void nest(struct buf *text, size_t n)
{
	buf_str(text, HEAD ",\"operation\":\"CREATE\",\"object\":{\"a\":");
	for (size_t i = 0; i < n; i++)
		buf_char(text, '[');
	for (size_t i = 0; i < n; i++)
		buf_char(text, ']');
	buf_str(text, "}}}");
}

static void depth_and_number_of_values_are_bounded(void **state)
{
	AUTO(buf) struct buf deep = BUF_INIT(1 << 20), many = BUF_INIT(LIMIT_REVIEW);
	AUTO(review_result) struct review_result a, b;

	nest(&deep, 1001);
	decide(*state, REVIEW_MUTATE, buf_text(&deep), deep.len, &a);
	assert_int_equal(a.verdict, REVIEW_ERROR);
	buf_str(&many, HEAD ",\"object\":{\"a\":[0");
	for (size_t i = 0; i < REQUEST_VALUES_MAX; i++)
		buf_str(&many, ",0");
	buf_str(&many, "]}}}");
	assert_int_equal(many.fail, FAIL_NONE);
	decide(*state, REVIEW_MUTATE, buf_text(&many), many.len, &b);
	assert_int_equal(b.verdict, REVIEW_ERROR);
	assert_non_null(strstr(buf_text(&b.body), "values"));
}

static void the_values_of_strings_are_not_counted(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_REVIEW);

	buf_str(&text, "\"\\\\\\\"");
	for (size_t i = 0; i < REQUEST_VALUES_MAX + 9; i++)
		buf_str(&text, ",[");
	buf_str(&text, "\\\\\"");
	assert_true(request_fits(buf_text(&text), text.len));
	buf_clear(&text);
	for (size_t i = 0; i < REQUEST_VALUES_MAX + 9; i++)
		buf_str(&text, ",[");
	assert_false(request_fits(buf_text(&text), text.len));
}

static void a_message_is_bounded(void **state)
{
	AUTO(buf) struct buf job = BUF_INIT(LIMIT_REVIEW);
	AUTO(review_result) struct review_result r;
	AUTO_JSON cJSON *v = NULL;
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_REVIEW);

	buf_str(&job, "{\"metadata\":{\"name\":\"et\"},\"spec\":{\"etReplicaSpecs\":{\"launcher\":{"
		      "\"template\":{\"spec\":{\"containers\":[");
	for (int i = 0; i < 5000; i++)
		buf_printf(&job, "%s{\"name\":\"\"}", i ? "," : "");
	buf_str(&job, "]}}}}}}");
	publish(*state, NULL, 0);
	ask_text(&(const struct ask){ .kind = "TrainingJob", "CREATE", buf_text(&job), NULL, NULL },
		 &text);
	decide(*state, REVIEW_MUTATE, buf_text(&text), text.len, &r);
	v = answer_of(&r);
	assert_int_equal(r.verdict, REVIEW_DENIED);
	assert_true(strlen(json_get_str(json_at(v, "response", "status", NULL), "message", "")) <=
		    LIMIT_MESSAGE);
	assert_true(r.body.len < 4 * LIMIT_MESSAGE);
}

/* --- whatever happens ------------------------------------------------------------------- */

/* One allocation fails, each in turn: it is reported, or an answer comes that needed none. */
static void every_failed_allocation_is_survived(void **state)
{
	static const struct ask asks[] = {
		{ .kind = "TrainingJob", "CREATE", JOB("a", "et"), NULL, NULL },
		{ .kind = "TrainingJob",
		  "CREATE",
		  JOB_META("\"name\":\"a.b\"", "\"replicas\":3,\"minReplicas\":4"),
		  NULL,
		  NULL },
		{ .kind = "ScaleOut", "CREATE", OUT("s1", "1"), NULL, NULL },
		{ .kind = "TrainingJob", "UPDATE", JOB("a", "et"), JOB("a", "et"), NULL },
	};
	static const char *const objects[] = { RUNNING_JOB };
	struct world *w = *state;

	publish(w, objects, 1);
	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		for (unsigned path = 0; path < 2; path++) {
			AUTO(buf) struct buf text = BUF_INIT(1 << 16);

			ask_text(&asks[i], &text);
			for (unsigned n = 1, fired = 1; fired; n++) {
				AUTO(review_result) struct review_result r = REVIEW_RESULT_INIT;
				struct err err = ERR_INIT;
				int rc;

				fault_arm(FAULT_ALLOC,
					  n); /* cJSON allocates through it, not through an arena */
				rc = review_decide(&w->env, path, buf_text(&text), text.len, false,
						   &r, &err);
				fired = fault_disarm();
				if (!fired)
					assert_int_equal(rc, 0);
				if (rc < 0)
					assert_int_equal(err.fail, FAIL_NOMEM);
				else
					assert_int_equal(r.http, 200);
				/* what it reserved is forgotten for the next round */
				w->now_ms += RESERVE_MS;
				atomic_store(&w->cell.heard_ms, w->now_ms);
			}
		}
}

static unsigned next(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

/* Some of the parts that jobs may have, in any mix; always a valid job. */
static void random_job(unsigned *seed, struct buf *out)
{
	static const char *const roles[] = { "launcher", "worker" };
	unsigned min = next(seed) % 3 + 1, replicas = min + next(seed) % 4;

	buf_printf(out, "{\"metadata\":{\"name\":\"j%u\",\"namespace\":\"a\"%s},\"spec\":{",
		   next(seed),
		   next(seed) % 4 ? "" : ",\"annotations\":{\"a~b/c\":\"9007199254740993\"}");
	buf_str(out, "\"etReplicaSpecs\":{");
	for (size_t r = 0; r < 2; r++) {
		unsigned containers = next(seed) % 3 + 1;

		buf_printf(out, "%s\"%s\":{", r ? "," : "", roles[r]);
		if (r)
			buf_printf(out, "\"replicas\":%u,\"minReplicas\":%u,%s", replicas, min,
				   next(seed) % 2 ? "\"maxReplicas\":9," : "");
		buf_str(out, "\"template\":{\"spec\":{\"containers\":[");
		for (unsigned c = 0; c < containers; c++) {
			buf_printf(out, "%s{\"name\":\"c%u\",\"image\":\"i\",\"x\":[1.50,1e400]",
				   c ? "," : "", c);
			if (next(seed) % 3 == 0)
				buf_str(out, ",\"env\":[{\"name\":\"workers\",\"value\":\"7\"}]");
			else if (next(seed) % 2)
				buf_str(out, ",\"env\":[{\"name\":\"A\",\"value\":\"b\"}]");
			else if (next(seed) % 2)
				buf_str(out, ",\"env\":null");
			if (next(seed) % 4 == 0)
				buf_str(out,
					",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/etc/edl/\"}]");
			if (next(seed) % 3 == 0)
				buf_printf(
					out,
					",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%u\"}}",
					next(seed) % 9);
			buf_str(out, "}");
		}
		buf_str(out, "]");
		if (next(seed) % 2)
			buf_str(out, ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]");
		else if (next(seed) % 2)
			buf_str(out, ",\"volumes\":[{\"name\":\"etjob-config\",\"emptyDir\":{}}]");
		buf_str(out, "}}}");
	}
	buf_str(out, "}}}");
}

static void patches_do_what_inject_does_and_only_once(void **state)
{
	const struct inject_opts opts = { .mount = true };
	struct world *w = *state;
	unsigned seed = 20261201;

	publish(w, NULL, 0);
	for (int i = 0; i < 500; i++) {
		AUTO(buf) struct buf job = BUF_INIT(1 << 16), again = BUF_INIT(1 << 16);
		AUTO(review_result) struct review_result first, second;
		AUTO_JSON cJSON *ops = NULL, *patched = NULL, *injected = NULL, *twice = NULL;
		struct ask ask = { .kind = "TrainingJob", "CREATE", NULL, NULL, NULL };
		struct err err = ERR_INIT;

		random_job(&seed, &job);
		ask.object = buf_text(&job);
		decide_ask(w, REVIEW_MUTATE, &ask, &first);
		if (first.verdict == REVIEW_DENIED)
			fail_msg("%s: %s", buf_text(&job), first.reasons);
		patched = unit_json(buf_text(&job));
		injected = unit_json(buf_text(&job));
		ops = patch_of(&first);
		if (ops)
			unit_assert_ok(patch_apply(ops, &patched, &err), &err);
		unit_assert_ok(inject_apply(&injected, NULL, &opts, &err), &err);
		assert_true(json_equal(patched, injected));
		twice = json_copy(injected, &err);
		unit_assert_ok(inject_apply(&twice, NULL, &opts, &err), &err);
		assert_true(json_equal(twice, injected));
		unit_assert_ok(json_print(patched, &again, &err), &err);
		ask.object = buf_text(&again);
		decide_ask(w, REVIEW_MUTATE, &ask, &second);
		if (second.verdict != REVIEW_ALLOWED)
			fail_msg("a second patch for %s", buf_text(&again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jobs_are_allowed_or_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(scalers_are_allowed_or_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_second_answer_has_no_patch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_validating_answer_has_no_patch, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_finished_job_gets_no_patch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_is_taken_by_a_job_of_another_namespace,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_admitted_name_is_reserved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(admitted_scalers_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_job_just_admitted_can_be_scaled, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_missing_job_may_be_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stale_index_proves_little, set_up, tear_down),
		cmocka_unit_test_setup_teardown(before_the_first_snapshot_only_the_object_counts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_review_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(depth_and_number_of_values_are_bounded, set_up,
						tear_down),
		cmocka_unit_test(the_values_of_strings_are_not_counted),
		cmocka_unit_test_setup_teardown(a_message_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_failed_allocation_is_survived, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(patches_do_what_inject_does_and_only_once, set_up,
						tear_down),
	};

	arena_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
