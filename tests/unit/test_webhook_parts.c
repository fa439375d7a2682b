/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's smaller parts: arena, snapshots, reservations, connections, metrics. */
#include <sys/socket.h>

#include "unit.h"
#include "webhook/arena.h"
#include "webhook/conn.h"
#include "webhook/metrics.h"
#include "webhook/reserve.h"
#include "webhook/snap.h"

/* --- arena ---------------------------------------------------------------------- */

static void trees_of_an_arena_go_with_it(void **state)
{
	AUTO(arena) struct arena a = ARENA_INIT;
	AUTO_JSON cJSON *before = unit_json("{\"a\":[1,2]}");
	AUTO_JSON cJSON *kept = NULL;
	struct err err = ERR_INIT;

	for (int i = 0; i < 3; i++) {
		cJSON *inside, *more;
		struct arena *set_aside;

		arena_enter(&a);
		assert_true(arena_inside());
		inside = json_copy(before, &err);
		for (int n = 0; n < 40000; n++) {
			more = json_copy(before, &err);
			assert_non_null(more);
		}
		cJSON_Delete(inside); /* allowed, and nothing */
		set_aside = arena_pause();
		assert_false(arena_inside());
		cJSON_Delete(kept);
		kept = json_copy(before, &err);
		arena_resume(set_aside);
		arena_leave(&a);
		assert_false(arena_inside());
		assert_true(a.total <= 1 << 20);
	}
	unit_assert_json(kept, "{\"a\":[1,2]}");
	unit_assert_json(before, "{\"a\":[1,2]}");
}

static void a_large_block_is_not_kept(void **state)
{
	AUTO(arena) struct arena a = ARENA_INIT;

	arena_enter(&a);
	assert_non_null(cJSON_malloc(5 << 20));
	assert_non_null(cJSON_malloc(10));
	assert_null(cJSON_malloc(SIZE_MAX));
	arena_leave(&a);
	assert_true(a.total <= 1 << 20);
}

/* --- snapshots ---------------------------------------------------------------------- */

static struct snap_obj *object(const char *text)
{
	struct snap_obj *o = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(snap_obj_new(unit_json(text), &o, &err), &err);
	return o;
}

static void add(struct snap *s, const char *kind, const char *ns, const char *name,
		const char *rest)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);
	struct err err = ERR_INIT;
	struct snap_obj *o;

	buf_printf(&text, "{\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}%s}",
		   kind, name, ns, rest);
	o = object(buf_text(&text));
	unit_assert_ok(strcmp(kind, "TrainingJob") == 0 ? snap_add_job(s, o, &err)
							: snap_add_scaler(s, o, &err),
		       &err);
	snap_obj_free(o);
}

#define FOR_ET ",\"spec\":{\"selector\":{\"name\":\"et\"},\"toAdd\":{\"count\":1}}"

static void a_snapshot_knows_names_and_unfinished_scalers(void **state)
{
	AUTO_PTR(snap) struct snap *s = NULL;
	struct scaler v[2];
	struct err err = ERR_INIT;

	unit_assert_ok(snap_new(&s, &err), &err);
	add(s, "TrainingJob", "b", "et", "");
	add(s, "TrainingJob", "a", "et", "");
	add(s, "TrainingJob", "c", "other", "");
	add(s, "ScaleOut", "a", "one", FOR_ET);
	add(s, "ScaleOut", "a", "done", FOR_ET ",\"status\":{\"phase\":\"ScaleSucceeded\"}");
	add(s, "ScaleIn", "a", "two", FOR_ET);
	add(s, "ScaleOut", "b", "one", FOR_ET);
	assert_non_null(snap_job(s, "a", "et"));
	assert_null(snap_job(s, "c", "et"));
	assert_string_equal(snap_holder(s, "et", "c"), "a");
	assert_string_equal(snap_holder(s, "et", "a"), "b");
	assert_null(snap_holder(s, "other", "c"));
	assert_null(snap_holder(s, "none", "c"));
	assert_int_equal(snap_pending(s, "a", "et", v, 2), 2);
	assert_int_equal(snap_pending(s, "a", "et", v, 0), 2);
	assert_int_equal(snap_pending(s, "c", "et", v, 2), 0);
	assert_true(snap_has_scaler(s, true, "a", "done"));
	assert_false(snap_has_scaler(s, false, "a", "done"));
}

static void a_snapshot_lives_as_long_as_somebody_reads_it(void **state)
{
	struct snap_cell cell;
	struct snap *s, *read;
	struct err err = ERR_INIT;

	unit_assert_ok(snap_cell_init(&cell, &err), &err);
	assert_null(snap_cell_get(&cell));
	unit_assert_ok(snap_new(&s, &err), &err);
	add(s, "TrainingJob", "a", "et", "");
	snap_cell_set(&cell, s);
	read = snap_cell_get(&cell);
	unit_assert_ok(snap_new(&s, &err), &err);
	snap_cell_set(&cell, s);
	assert_non_null(snap_job(read, "a", "et"));
	assert_int_equal(atomic_load(&cell.generation), 2);
	snap_free(read);
	snap_cell_release(&cell);
}

static void what_no_rule_looks_at_is_trimmed(void **state)
{
	AUTO_JSON cJSON *job = unit_json(
		"{\"apiVersion\":\"v\",\"kind\":\"TrainingJob\",\"x\":1,\"metadata\":{\"name\":\"et\","
		"\"labels\":{\"a\":\"b\"},\"managedFields\":[1],\"uid\":\"u\"},\"spec\":{\"suspend\":true,"
		"\"env\":[1],\"script\":\"s\",\"etReplicaSpecs\":{\"launcher\":{\"template\":{}},"
		"\"worker\":{\"replicas\":2,\"template\":{}}}},\"status\":{\"phase\":\"Running\","
		"\"scaleHistory\":[1],\"targetWorkers\":[\"w\"]}}");

	snap_trim(job);
	unit_assert_json(job, "{\"apiVersion\":\"v\",\"kind\":\"TrainingJob\",\"metadata\":{"
			      "\"name\":\"et\",\"uid\":\"u\"},\"spec\":{\"suspend\":true,"
			      "\"etReplicaSpecs\":{\"launcher\":{},\"worker\":{\"replicas\":2}}},"
			      "\"status\":{\"phase\":\"Running\",\"targetWorkers\":[\"w\"]}}");
}

/* --- reservations ----------------------------------------------------------------------- */

static int64_t fixed(const struct clock *c)
{
	return *(const int64_t *)c->arg;
}

static void reservations_end_in_time_and_when_seen(void **state)
{
	AUTO_PTR(reserve) struct reserve *r = NULL;
	int64_t now = 1000;
	const struct clock clock = { fixed, fixed, &now };
	struct err err = ERR_INIT;

	unit_assert_ok(reserve_new(&clock, &r, &err), &err);
	reserve_lock(r);
	for (int i = 0; i < 5; i++) {
		char ns[8];

		snprintf(ns, sizeof(ns), "n%d", i);
		unit_assert_ok(reserve_put(r, RESERVE_JOB, ns, "et", NULL, &err), &err);
		now += 1000;
	}
	assert_true(reserve_has(r, RESERVE_JOB, "n0", "et"));
	assert_string_equal(reserve_holder(r, "et", "n9"), "n0");
	assert_string_equal(reserve_holder(r, "et", "n0"), "n1");
	assert_null(reserve_holder(r, "other", "n0"));
	reserve_unlock(r);
	reserve_seen(r, RESERVE_JOB, "n4", "et"); /* the last one */
	reserve_seen(r, RESERVE_JOB, "n2", "et"); /* one in between */
	reserve_seen(r, RESERVE_JOB, "none", "et");
	assert_int_equal(reserve_count(r), 3);
	now = 1000 + RESERVE_MS;
	assert_int_equal(reserve_count(r), 2);
	now = 1000 + RESERVE_MS + 5000;
	assert_int_equal(reserve_count(r), 0);
	reserve_lock(r);
	unit_assert_ok(reserve_put(r, RESERVE_JOB, "a", "again", NULL, &err), &err);
	reserve_unlock(r);
	assert_int_equal(reserve_count(r), 1);
}

static void the_number_of_reservations_is_bounded(void **state)
{
	AUTO_PTR(reserve) struct reserve *r = NULL;
	int64_t now = 0;
	const struct clock clock = { fixed, fixed, &now };
	struct err err = ERR_INIT;
	char name[16];

	unit_assert_ok(reserve_new(&clock, &r, &err), &err);
	reserve_lock(r);
	for (int i = 0; i < RESERVE_MAX + 10; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		unit_assert_ok(reserve_put(r, RESERVE_JOB, "a", name, NULL, &err), &err);
	}
	assert_null(reserve_holder(r, "j9", "b"));
	assert_string_equal(reserve_holder(r, "j10", "b"), "a");
	reserve_unlock(r);
	assert_int_equal(reserve_count(r), RESERVE_MAX);
}

/* --- connections ---------------------------------------------------------------------------- */

/* Whether the other end of a pair was shut down. */
static bool ended(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void connections_are_ended_by_age_and_use(void **state)
{
	struct conn_table t;
	struct metrics m;
	struct err err = ERR_INIT;
	struct conn *c[4];
	int pairs[4][2];

	unit_assert_ok(metrics_init(&m, &err), &err);
	unit_assert_ok(conn_table_init(&t, &err), &err);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		c[i] = conn_add(&t, pairs[i][0], 1000);
		assert_non_null(c[i]);
	}
	atomic_store(&c[1]->proven_ms, 2000); /* idle after a request */
	atomic_store(&c[2]->busy_ms, 9000);   /* in a request */
	atomic_store(&c[3]->proven_ms, 1500);
	conn_reap(&t, 11000, 10000, 130000, &m);
	assert_false(ended(pairs[0][1]));
	conn_reap(&t, 11001, 10000, 130000, &m);
	assert_true(ended(pairs[0][1])); /* never a whole request */
	assert_false(ended(pairs[1][1]) || ended(pairs[2][1]) || ended(pairs[3][1]));
	conn_reap(&t, 19001, 10000, 130000, &m);
	assert_true(ended(pairs[2][1])); /* a request without end */
	assert_true(conn_evict(&t, 20000));
	assert_true(ended(pairs[3][1])); /* idle for longer than c[1] */
	assert_false(ended(pairs[1][1]));
	conn_reap(&t, 132001, 10000, 130000, &m);
	assert_true(ended(pairs[1][1]));
	assert_false(conn_evict(&t, 132001));
	assert_int_equal(atomic_load(&m.closed[CLOSE_SLOW]), 2);
	assert_int_equal(atomic_load(&m.closed[CLOSE_IDLE]), 1);
	assert_int_equal(atomic_load(&t.count), 4);
	for (int i = 0; i < 4; i++) {
		conn_remove(&t, c[i]);
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	assert_int_equal(atomic_load(&t.count), 0);
	conn_table_release(&t);
	metrics_release(&m);
}

/* --- metrics ------------------------------------------------------------------------------------
 */

static void a_histogram_counts_upwards(void **state)
{
	AUTO(buf) struct buf out = BUF_INIT(1 << 20);
	struct review_result denied = { .kind = REQUEST_JOB,
					.op = REQUEST_CREATE,
					.verdict = REVIEW_DENIED,
					.rules = { "a-rule", "b-rule" },
					.n_rules = 2 };
	struct metrics m;
	struct err err = ERR_INIT;

	unit_assert_ok(metrics_init(&m, &err), &err);
	metrics_review(&m, REVIEW_MUTATE, &denied, 100);
	metrics_review(&m, REVIEW_MUTATE, &denied, 101);
	metrics_review(&m, REVIEW_MUTATE, &denied, 9000000);
	metrics_http(&m, 413);
	metrics_http(&m, 418); /* not one of ours */
	metrics_write(&m, &(const struct metrics_now){ .index_age_ms = -1, .ready = true }, &out);
	assert_int_equal(metrics_answered(&m), 3);
	metrics_release(&m);
	for (const char *const *line =
		     (const char *const[]){
			     "etjob_webhook_requests_total{kind=\"TrainingJob\",operation=\"CREATE\","
			     "result=\"denied\"} 3\n",
			     "_bucket{path=\"mutate\",le=\"0.0001\"} 1\n",
			     "_bucket{path=\"mutate\",le=\"0.00025\"} 2\n",
			     "_bucket{path=\"mutate\",le=\"5\"} 2\n",
			     "_bucket{path=\"mutate\",le=\"+Inf\"} 3\n",
			     "_sum{path=\"mutate\"} 9.000201\n",
			     "_count{path=\"mutate\"} 3\n",
			     "etjob_webhook_rejected_total{rule=\"a-rule\"} 3\n",
			     "etjob_webhook_rejected_total{rule=\"b-rule\"} 3\n",
			     "etjob_webhook_http_errors_total{code=\"413\"} 1\n",
			     "etjob_webhook_index_age_seconds -1\n",
			     "etjob_webhook_ready 1\n",
			     NULL,
		     };
	     *line; line++)
		if (!strstr(buf_text(&out), *line))
			fail_msg("%s is not in\n%s", *line, buf_text(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(trees_of_an_arena_go_with_it),
		UNIT_CASE(a_large_block_is_not_kept),
		UNIT_CASE(a_snapshot_knows_names_and_unfinished_scalers),
		UNIT_CASE(a_snapshot_lives_as_long_as_somebody_reads_it),
		UNIT_CASE(what_no_rule_looks_at_is_trimmed),
		UNIT_CASE(reservations_end_in_time_and_when_seen),
		UNIT_CASE(the_number_of_reservations_is_bounded),
		UNIT_CASE(connections_are_ended_by_age_and_use),
		UNIT_CASE(a_histogram_counts_upwards),
	};

	arena_install();
	UNIT_MAIN(tests);
}
