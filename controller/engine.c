/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/engine.h"

#include "base/limits.h"

#define BUSY_MOST 64 /* jobs with requests under way at once: the API server has other clients */
#define RETRY_FIRST_MS 50
#define RETRY_MOST_MS 30000

static int64_t now_mono(const struct engine *e)
{
	return clock_mono_ms(e->io.clock);
}

static void on_dirty(void *arg, struct rec *rec)
{
	engine_mark(arg, rec);
}

void engine_init(struct engine *e, const struct engine_io *io)
{
	*e = (struct engine){ .io = *io };
	observe_init(&e->seen);
	e->seen.arg = e;
	e->seen.on_dirty = on_dirty;
}

void engine_release(struct engine *e)
{
	observe_release(&e->seen);
	*e = (struct engine){ .stopped = true };
}

void engine_mark(struct engine *e, struct rec *rec)
{
	if (rec->dirty)
		return;
	rec->dirty = true;
	rec->dirty_ms = now_mono(e);
	rec->next_dirty = NULL;
	if (e->dirty_last)
		e->dirty_last->next_dirty = rec;
	else
		e->dirty_first = rec;
	e->dirty_last = rec;
	e->dirty++;
}

void engine_change(struct engine *e, enum seen kind, const cJSON *old, const cJSON *now)
{
	struct err err = ERR_INIT;

	if (observe_change(&e->seen, kind, old, now, &err) == 0)
		return;
	e->stats.errors++;
	if (e->io.log)
		log_event(e->io.log, LOG_ERROR, "news was lost", "error", err.msg, NULL);
}

/* Exponential, with up to a quarter of jitter, so that many jobs do not come back at once. */
static int64_t backoff(struct engine *e, const struct rec *rec)
{
	int64_t ms = rec->errors > 10 ? RETRY_MOST_MS : RETRY_FIRST_MS << rec->errors;

	if (ms > RETRY_MOST_MS)
		ms = RETRY_MOST_MS;
	return ms + (int64_t)(e->io.random(e->io.arg) % (uint64_t)(ms / 4 + 1));
}

static void hold_back(struct engine *e, struct rec *rec, int64_t ms)
{
	rec->errors++;
	rec->not_before_ms = now_mono(e) + ms;
	rec->wake_ms = rec->not_before_ms;
}

/* When all was done: a plan that is tried again is not counted twice. */
static void count(struct engine *e, struct rec *rec, const struct actions *a)
{
	int64_t wall_ms = clock_wall_ms(e->io.clock);

	e->stats.workers_lost += (uint64_t)a->lost;
	if (a->scale_done) {
		e->stats.scales[a->scale_out][a->scale_ok]++;
		if (a->scale_ok) {
			e->stats.scale_seconds[a->scale_out] += (double)a->scale_ms / 1000;
			e->stats.last_scale_seconds[a->scale_out] = (double)a->scale_ms / 1000;
		}
	}
	/* Workers that die as soon as they are made: each round waits longer. */
	if (a->failures) {
		rec->failures += a->failures;
		int64_t s = rec->failures > 7 ? 300 : (int64_t)3 << rec->failures;
		rec->create_after_ms = wall_ms + (s > 300 ? 300 : s) * 1000;
		rec->failed_ms = wall_ms;
	} else if (rec->failures && wall_ms - rec->failed_ms > 600000) {
		rec->failures = 0;
	}
}

static void wake_at(struct engine *e, struct rec *rec, int64_t wall_at, int64_t wall_now)
{
	int64_t old = observe_wake_ms(rec);

	rec->wake_ms = old == INT64_MAX ? 0 : old;
	if (!wall_at)
		return;
	int64_t delay = wall_at > wall_now ? wall_at - wall_now : 0;

	/* The wall clock may jump: look again now and then. */
	int64_t at = now_mono(e) + (delay > 60000 ? 60000 : delay);

	if (!rec->wake_ms || at < rec->wake_ms)
		rec->wake_ms = at;
}

static void handled(struct engine *e, struct rec *rec)
{
	double s = (double)(now_mono(e) - rec->dirty_ms) / 1000;

	e->stats.handle_count++;
	e->stats.handle_seconds += s;
	if (s > e->stats.handle_most)
		e->stats.handle_most = s;
}

static void look(struct engine *e, struct rec *rec)
{
	AUTO(world) struct world w = WORLD_INIT;
	AUTO(actions) struct actions actions = ACTIONS_INIT;
	struct err err = ERR_INIT;
	int64_t wall = clock_wall_ms(e->io.clock);

	if (observe_forget(&e->seen, rec))
		return;
	e->stats.plans++;
	if (observe_world(&e->seen, rec, now_mono(e), &w, &err) < 0 ||
	    plan_job(&w, wall, &actions, &err) < 0)
		goto fail;
	rec->launcher_gone = false;
	wake_at(e, rec, actions.wake_ms, wall);
	if (!actions.n) {
		rec->errors = 0;
		handled(e, rec);
		return;
	}
	e->busy++;
	rec->busy = true;
	if (act_start(e, rec, &actions, &err) == 0)
		return;
	e->busy--;
	rec->busy = false;
fail:
	e->stats.plan_errors++;
	if (e->io.log)
		log_event(e->io.log, LOG_ERROR, "job could not be planned", "job", rec->key,
			  "error", err.msg, NULL);
	hold_back(e, rec, backoff(e, rec));
}

void engine_done(struct engine *e, struct rec *rec, const struct done *done)
{
	rec->busy = false;
	e->busy--;
	observe_quiet(rec);
	if (done->ok) {
		rec->errors = 0;
		count(e, rec, done->actions);
		engine_mark(e, rec); /* what follows from what was done */
		return;
	}
	/* A conflict means that news is on its way: look soon, then more and more rarely. */
	int64_t ms = done->conflict && rec->errors == 0 ? 20 : backoff(e, rec);

	hold_back(e, rec, done->retry_ms > ms ? done->retry_ms : ms);
}

static struct rec *next_dirty(struct engine *e)
{
	struct rec *rec = e->dirty_first;

	if (!rec)
		return NULL;
	e->dirty_first = rec->next_dirty;
	if (!e->dirty_first)
		e->dirty_last = NULL;
	rec->next_dirty = NULL;
	rec->dirty = false;
	e->dirty--;
	return rec;
}

static void wake_sleepers(struct engine *e)
{
	int64_t now = now_mono(e);
	struct map_entry *m;

	map_each (&e->seen.recs, m) {
		struct rec *rec = m->value;

		if (rec->wake_ms && rec->wake_ms <= now) {
			rec->wake_ms = 0;
			engine_mark(e, rec);
		}
	}
}

void engine_run(struct engine *e)
{
	int64_t now = now_mono(e);

	if (e->stopped)
		return;
	wake_sleepers(e);
	/* Those that can not be looked at now go to the end; each is met once. */
	for (size_t n = e->dirty; n > 0 && e->dirty_first; n--) {
		struct rec *rec = next_dirty(e);

		if (rec->busy || e->busy >= BUSY_MOST) {
			int64_t since = rec->dirty_ms;

			engine_mark(e, rec);
			rec->dirty_ms = since;
		} else if (rec->not_before_ms > now) {
			rec->wake_ms = rec->not_before_ms;
		} else {
			rec->not_before_ms = 0;
			look(e, rec);
		}
	}
}

int64_t engine_next_ms(const struct engine *e)
{
	int64_t next = INT64_MAX;
	struct map_entry *m;

	for (const struct rec *rec = e->dirty_first; rec; rec = rec->next_dirty) {
		if (!rec->busy && e->busy < BUSY_MOST)
			return now_mono(e);
	}
	map_each (&e->seen.recs, m) {
		const struct rec *rec = m->value;

		if (rec->wake_ms && rec->wake_ms < next)
			next = rec->wake_ms;
	}
	return next;
}
