/* SPDX-License-Identifier: Apache-2.0 */
/* An AdmissionReview of any bytes: there is an answer, it is JSON, and its patch applies. */
#include "fuzz.h"
#include "webhook/review.h"
#include "wire/base64.h"
#include "wire/patch.h"

struct world {
	struct clock clock;
	struct snap_cell cell;
	struct reserve *reserve;
	struct review_env env;
};

static int64_t fixed(const struct clock *c)
{
	(void)c;
	return 1000000;
}

/* A snapshot with the job that a well-formed input names. */
static void publish(struct world *w, const cJSON *job)
{
	struct err err = ERR_INIT;
	struct snap_obj *o;
	struct snap *s;
	cJSON *copy;

	FUZZ_CHECK(snap_new(&s, &err) == 0);
	if (cJSON_IsObject(job)) {
		copy = json_copy(job, &err);
		FUZZ_CHECK(copy);
		snap_trim(copy);
		FUZZ_CHECK(snap_obj_new(copy, &o, &err) == 0);
		FUZZ_CHECK(snap_add_job(s, o, &err) == 0);
		snap_obj_free(o);
	}
	snap_cell_set(&w->cell, s);
	atomic_store(&w->cell.heard_ms, 1000000);
}

static void check_patch(const cJSON *answer, const char *text, size_t n)
{
	const char *patch = json_str(json_at(answer, "response", "patch", NULL));
	AUTO(buf) struct buf ops_text = BUF_INIT(64u << 20);
	AUTO_JSON cJSON *ops = NULL;
	AUTO_JSON cJSON *review = NULL;
	AUTO_JSON cJSON *object = NULL;
	struct err err = ERR_INIT;

	if (!patch)
		return;
	FUZZ_CHECK(base64_decode(patch, strlen(patch), &ops_text, &err) == 0);
	FUZZ_CHECK(json_parse(buf_text(&ops_text), ops_text.len, &ops, &err) == 0);
	FUZZ_CHECK(json_parse_lenient(text, n, &review, &err) == 0);
	object = json_copy(json_at(review, "request", "object", NULL), &err);
	FUZZ_CHECK(object);
	FUZZ_CHECK(patch_apply(ops, &object, &err) == 0);
}

static void decide(const struct world *w, enum review_path path, const char *text, size_t n)
{
	AUTO(review_result) struct review_result result = REVIEW_RESULT_INIT;
	AUTO_JSON cJSON *answer = NULL;
	struct err err = ERR_INIT;

	FUZZ_CHECK(review_decide(&w->env, path, text, n, false, &result, &err) == 0);
	FUZZ_CHECK(result.http == 200 || (result.http >= 400 && result.http < 500));
	if (result.http != 200)
		return;
	FUZZ_CHECK(json_parse(buf_text(&result.body), result.body.len, &answer, &err) == 0);
	FUZZ_CHECK(cJSON_IsBool(json_at(answer, "response", "allowed", NULL)));
	check_patch(answer, text, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = { .clock = { .wall_ms = fixed, .mono_ms = fixed } };
	AUTO_JSON cJSON *input = NULL;
	struct err err = ERR_INIT;

	(void)!json_parse((const char *)data, n, &input, NULL); /* no JSON: no job in the index */
	FUZZ_CHECK(snap_cell_init(&w.cell, &err) == 0);
	FUZZ_CHECK(reserve_new(&w.clock, &w.reserve, &err) == 0);
	w.env = (struct review_env){ .clock = &w.clock,
				     .cell = &w.cell,
				     .reserve = w.reserve,
				     .mount = true,
				     .unique_names = true };
	publish(&w, json_get(input, "index"));
	decide(&w, REVIEW_MUTATE, (const char *)data, n);
	decide(&w, REVIEW_VALIDATE, (const char *)data, n);
	reserve_free(w.reserve);
	snap_cell_release(&w.cell);
	return 0;
}
