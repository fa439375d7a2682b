/* SPDX-License-Identifier: Apache-2.0 */
/* observe: what informers bring, and what our own writes returned, in one world. */
#include "controller/observe.h"

#include "unit.h"

struct scene {
	struct observe o;
	struct rec *rec;
	size_t dirty;
	cJSON *keep[32];
	size_t n;
};

static void on_dirty(void *arg, struct rec *rec)
{
	struct scene *s = arg;

	s->dirty++;
	if (strcmp(rec->key, "a/et") == 0)
		s->rec = rec;
}

static cJSON *pod(struct scene *s, const char *name, const char *uid, int version, bool ready)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(
		&text,
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%d\",\"labels\":{\"training-job-name\":\"et\"},"
		"\"ownerReferences\":[{\"controller\":true,\"uid\":\"u1\"}]},\"status\":{\"phase\":"
		"\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
		name, uid, version, ready ? "True" : "False");
	return s->keep[s->n++] = unit_json(buf_text(&text));
}

static cJSON *job(struct scene *s, const char *ns, const char *uid, const char *created)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(&text,
		   "{\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"et\",\"namespace\":\"%s\","
		   "\"uid\":\"%s\",\"resourceVersion\":\"5\",\"creationTimestamp\":\"%s\"}}",
		   ns, uid, created);
	return s->keep[s->n++] = unit_json(buf_text(&text));
}

static void news(struct scene *s, enum seen kind, const cJSON *old, const cJSON *now)
{
	struct err err = ERR_INIT;

	unit_assert_ok(observe_change(&s->o, kind, old, now, &err), &err);
}

static void written(struct scene *s, const cJSON *obj)
{
	struct err err = ERR_INIT;

	unit_assert_ok(observe_written(s->rec, SEEN_POD, json_copy(obj, &err), 0, &err), &err);
}

/* Calls check with the world at mono_ms. */
static void look(struct scene *s, int64_t mono_ms, struct world *w)
{
	struct err err = ERR_INIT;

	world_release(w);
	unit_assert_ok(observe_world(&s->o, s->rec, mono_ms, w, &err), &err);
}

static void begin(struct scene *s)
{
	*s = (struct scene){ .dirty = 0 };
	observe_init(&s->o);
	s->o.arg = s;
	s->o.on_dirty = on_dirty;
	news(s, SEEN_JOB, NULL, job(s, "a", "u1", "2023-11-14T22:00:00Z"));
	assert_non_null(s->rec);
}

static void end(struct scene *s)
{
	observe_release(&s->o);
	for (size_t i = 0; i < s->n; i++)
		cJSON_Delete(s->keep[i]);
}

static void our_own_write_is_there_before_its_news(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct scene s;

	begin(&s);
	written(&s, pod(&s, "et-worker-0", "p0", 9, true));
	look(&s, 0, &w);
	assert_int_equal(w.nworkers, 1);
	/* An older state of it that arrives late does not win. */
	news(&s, SEEN_POD, NULL, pod(&s, "et-worker-0", "p0", 8, false));
	look(&s, 0, &w);
	assert_int_equal(w.nworkers, 1);
	assert_true(w.workers[0].ready);
	end(&s);
}

static void an_answer_that_nobody_confirms_is_believed_for_a_minute(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct scene s;

	begin(&s);
	written(&s, pod(&s, "et-worker-0", "p0", 9, true));
	assert_int_equal(observe_wake_ms(s.rec), 60000);
	look(&s, 59999, &w);
	assert_int_equal(w.nworkers, 1);
	look(&s, 60000, &w);
	assert_int_equal(w.nworkers, 0);
	assert_int_equal(observe_wake_ms(s.rec), INT64_MAX);
	end(&s);
}

static void an_answer_that_comes_after_the_deletion_is_dropped(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct scene s;

	begin(&s);
	s.rec->busy = true;
	cJSON *seen = pod(&s, "et-worker-0", "p0", 9, true);

	news(&s, SEEN_POD, NULL, seen);
	news(&s, SEEN_POD, seen, NULL);
	written(&s, pod(&s, "et-worker-0", "p0", 9, true));
	look(&s, 0, &w);
	assert_int_equal(w.nworkers, 0);
	s.rec->busy = false;
	end(&s);
}

static void a_pod_that_we_deleted_counts_as_leaving(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct err err = ERR_INIT;
	struct scene s;

	begin(&s);
	cJSON *seen = pod(&s, "et-worker-0", "p0", 9, true);

	news(&s, SEEN_POD, NULL, seen);
	unit_assert_ok(observe_deleted(s.rec, "p0", &err), &err);
	look(&s, 0, &w);
	assert_int_equal(w.nworkers, 1);
	assert_true(w.workers[0].going);
	assert_false(w.workers[0].ready);
	news(&s, SEEN_POD, seen, NULL);
	assert_int_equal(s.rec->deleted.n, 0);
	end(&s);
}

static void pods_of_another_owner_block_their_names(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct scene s;

	begin(&s);
	cJSON *other = pod(&s, "et-worker-0", "p0", 9, true);
	cJSON *owner = json_get_mut(json_get_mut(other, "metadata"), "ownerReferences")->child;

	assert_int_equal(json_set_str(owner, "uid", "u0", NULL), 0);
	news(&s, SEEN_POD, NULL, other);
	look(&s, 0, &w);
	assert_int_equal(w.nworkers, 0);
	assert_int_equal(w.nblocked, 1);
	assert_string_equal(w.blocked[0].name, "et-worker-0");
	end(&s);
}

static void the_older_job_of_a_name_is_the_rival_of_the_other(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct scene s;

	begin(&s);
	size_t before = s.dirty;
	cJSON *older = job(&s, "b", "u0", "2023-11-14T21:00:00Z");

	news(&s, SEEN_JOB, NULL, older);
	assert_true(s.dirty >= before + 2); /* both are looked at again */
	look(&s, 0, &w);
	assert_string_equal(w.rival, "b");
	s.o.unique_cluster = false;
	look(&s, 0, &w);
	assert_null(w.rival);
	s.o.unique_cluster = true;
	news(&s, SEEN_JOB, older, NULL);
	look(&s, 0, &w);
	assert_null(w.rival);
	end(&s);
}

static void what_was_known_of_a_job_is_forgotten_with_its_uid(void **state)
{
	struct err err = ERR_INIT;
	struct scene s;

	begin(&s);
	s.rec->secret = true;
	unit_assert_ok(strs_add(&s.rec->fresh, "et-worker-1", &err), &err);
	news(&s, SEEN_JOB, s.keep[0], job(&s, "a", "u2", "2023-11-14T23:00:00Z"));
	assert_false(s.rec->secret);
	assert_int_equal(s.rec->fresh.n, 0);
	end(&s);
}

static void a_name_in_other_hands_is_tried_again_after_a_while(void **state)
{
	AUTO(world) struct world w = WORLD_INIT;
	struct err err = ERR_INIT;
	struct scene s;

	begin(&s);
	unit_assert_ok(observe_taken(s.rec, "Secret", "et-ssh", false, 10000, &err), &err);
	look(&s, 9999, &w);
	assert_false(w.blocked[0].retry);
	look(&s, 10000, &w);
	assert_true(w.blocked[0].retry);
	observe_free(s.rec, "Secret", "et-ssh");
	look(&s, 10000, &w);
	assert_int_equal(w.nblocked, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(our_own_write_is_there_before_its_news),
		UNIT_CASE(an_answer_that_nobody_confirms_is_believed_for_a_minute),
		UNIT_CASE(an_answer_that_comes_after_the_deletion_is_dropped),
		UNIT_CASE(a_pod_that_we_deleted_counts_as_leaving),
		UNIT_CASE(pods_of_another_owner_block_their_names),
		UNIT_CASE(the_older_job_of_a_name_is_the_rival_of_the_other),
		UNIT_CASE(what_was_known_of_a_job_is_forgotten_with_its_uid),
		UNIT_CASE(a_name_in_other_hands_is_tried_again_after_a_while),
	};
	UNIT_MAIN(tests);
}
