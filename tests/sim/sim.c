/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver: runs histories, each from its seed; of one that breaks an
 * invariant it prints the smallest variant that it finds.
 *
 *   sim [--histories N] [--seed S] [--trace]
 */
#include "sim.h"

#include "base/limits.h"
#include "base/opt.h"
#include "wire/time.h"

static const char *const chaos_names[CH_COUNT] = {
	"crash",   "leader",   "lost",  "late",    "duplicate", "reorder", "refuse",
	"timeout", "clock",    "pod",   "delete",  "taint",     "scaler",  "replicas",
	"suspend", "launcher", "rival", "foreign", "capacity",
};

uint64_t sim_random(struct sim *s)
{
	/* splitmix64 */
	uint64_t z = (s->rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

size_t sim_below(struct sim *s, size_t n)
{
	return (size_t)(sim_random(s) % n);
}

bool sim_chance(struct sim *s, enum chaos c, unsigned percent)
{
	bool hit = sim_below(s, 100) < percent;

	return hit && !s->calm && !s->off[c];
}

void sim_need(bool ok)
{
	if (!ok) {
		(void)fprintf(stderr, "sim: the simulator itself failed\n");
		abort();
	}
}

void sim_time(const struct sim *s, char *out)
{
	time_format(s->now_ms + SIM_EPOCH_MS, out);
}

void sim_say(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (!s->trace)
		return;
	printf("%8.1f  ", (double)s->now_ms / 1000);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void sim_broken(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->fail.len)
		return;
	va_start(ap, fmt);
	buf_vprintf(&s->fail, fmt, ap);
	va_end(ap);
	sim_say(s, "BROKEN: %s", buf_text(&s->fail));
}

/* --- a history -------------------------------------------------------------- */

static void run_engines(struct sim *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->ctl[i].alive)
			engine_run(&s->ctl[i].engine);
	}
}

static void restart(struct sim *s)
{
	int old = s->ctl[0].alive ? 0 : 1;

	if (sim_chance(s, CH_LEADER, 50)) {
		/* The old one was stopped with its requests on their way. */
		ctl_stop(s, old);
		ctl_start(s, 1 - old);
	} else {
		ctl_stop(s, old);
		ctl_start(s, old);
	}
}

static void chaos_step(struct sim *s)
{
	struct controller *ctl = &s->ctl[s->ctl[0].alive ? 0 : 1];

	switch (sim_below(s, 10)) {
	case 0:
	case 1:
	case 2:
		network_step(s);
		break;
	case 3:
	case 4:
	case 5:
		deliver(ctl, (int)sim_below(s, SEEN_NODE + 1));
		break;
	case 6:
	case 7:
		pods_step(s, false);
		break;
	case 8:
		s->now_ms += (int64_t)sim_below(s, sim_below(s, 10) ? 500 : 8000);
		break;
	default:
		if (sim_below(s, s->seed % 3 ? 6 : 2) == 0)
			people_step(s);
		if (sim_chance(s, CH_CRASH, 5))
			restart(s);
		if (sim_chance(s, CH_CLOCK, 2))
			s->skew_ms = (int64_t)sim_below(s, 60000) - 30000;
	}
	api_collect(s);
	run_engines(s);
}

static bool quiet(const struct sim *s, const struct controller *ctl)
{
	if (s->ncalls)
		return false;
	for (int kind = 0; is_seen(kind); kind++) {
		if (ctl->views[kind].pos < s->log[kind].n)
			return false;
	}
	return true;
}

static void calm_turn(struct sim *s)
{
	struct controller *ctl = &s->ctl[s->ctl[0].alive ? 0 : 1];

	for (int turn = 0; turn < 400; turn++) {
		run_engines(s);
		while (s->ncalls && !s->fail.len) {
			if (!s->calls[0].executed)
				call_execute(s, 0);
			if (s->calls[0].ctl < 0)
				call_drop(s, 0);
			else
				call_answer(s, 0);
		}
		api_collect(s);
		for (int kind = 0; is_seen(kind); kind++) {
			while (ctl->views[kind].pos < s->log[kind].n)
				deliver(ctl, kind);
		}
		run_engines(s);
		if (quiet(s, ctl))
			return;
	}
	sim_broken(s, "it does not come to rest");
}

/* No more faults: all must come right within the longest of the times that are waited for. */
static void settle(struct sim *s)
{
	s->calm = true;
	s->skew_ms = 0;
	s->capacity = 1000;
	for (size_t i = 0; i < s->objs[SEEN_NODE].n; i++)
		people_untaint(s, s->objs[SEEN_NODE].v[i]);
	sim_say(s, "calm");
	for (int turn = 0; turn < 400 && !s->fail.len; turn++) {
		pods_step(s, true);
		calm_turn(s);
		s->now_ms += turn < 50 ? 1000 : 5000;
	}
	size_t before = s->requests;

	for (int turn = 0; turn < 60 && !s->fail.len; turn++) {
		pods_step(s, true);
		calm_turn(s);
		s->now_ms += 10000;
	}
	/* A name in other hands is tried again now and then; nothing else is. */
	if (s->requests - before > 200)
		sim_broken(s, "in the end it does not rest: %zu requests in 10 minutes",
			   s->requests - before);
	check_end(s);
}

static void sim_release(struct sim *s)
{
	ctl_stop(s, 0);
	ctl_stop(s, 1);
	while (s->ncalls)
		call_drop(s, 0);
	free(s->calls);
	for (size_t i = 0; i < s->nused; i++) {
		free(s->used[i].name);
		free(s->used[i].job_uid);
		free(s->used[i].pod_uid);
	}
	free(s->used);
	for (size_t i = 0; i < s->ntracked; i++)
		free(s->tracked[i].uid);
	free(s->tracked);
	api_release(s);
}

struct result {
	char fail[512]; /* "": all is well */
	size_t requests;
};

static void history(uint64_t seed, const bool *off, size_t steps, bool trace, struct result *out)
{
	struct sim s = { .seed = seed,
			 .rng = seed,
			 .steps = steps,
			 .trace = trace,
			 .now_ms = 1000,
			 .capacity = 100,
			 .fail = BUF_INIT(500) };

	memcpy(s.off, off, sizeof(s.off));
	people_start(&s);
	ctl_start(&s, 0);
	for (size_t i = 0; i < steps && !s.fail.len; i++)
		chaos_step(&s);
	if (!s.fail.len)
		settle(&s);
	(void)snprintf(out->fail, sizeof(out->fail), "%s", buf_text(&s.fail));
	out->requests = s.requests;
	sim_release(&s);
	buf_release(&s.fail);
}

#define STEPS_LEAST 200
#define STEPS_MORE 900

/* Long histories and short ones. */
static size_t steps_of(uint64_t seed)
{
	return STEPS_LEAST + (size_t)(seed * 7919 % STEPS_MORE);
}

/* Turns off what is not needed for the failure, and cuts the history where it still fails. */
static void report(uint64_t seed)
{
	bool off[CH_COUNT] = { false };
	size_t steps = steps_of(seed);
	struct result r;

	for (int pass = 0; pass < 2; pass++) {
		for (int c = 0; c < CH_COUNT; c++) {
			if (off[c])
				continue;
			off[c] = true;
			history(seed, off, steps, false, &r);
			off[c] = r.fail[0] != '\0';
		}
		for (size_t cut = steps / 2; cut > 0; cut /= 2) {
			while (steps > cut) {
				history(seed, off, steps - cut, false, &r);
				if (!r.fail[0])
					break;
				steps -= cut;
			}
		}
	}
	printf("seed %" PRIu64 ", the first %zu steps, without:", seed, steps);
	for (int c = 0; c < CH_COUNT; c++) {
		if (off[c])
			printf(" %s", chaos_names[c]);
	}
	printf("\n");
	history(seed, off, steps, true, &r);
	printf("FAIL: seed %" PRIu64 ": %s\n", seed, r.fail);
}

struct sim_opts {
	int64_t histories, seed;
	bool trace;
};

static const struct opt sim_options[] = {
	OPT_INT(struct sim_opts, histories, 0, "histories", "N", 1, INT32_MAX, "how many to run"),
	OPT_INT(struct sim_opts, seed, 0, "seed", "N", 0, INT64_MAX, "seed of the first one"),
	OPT_BOOL(struct sim_opts, trace, 0, "trace", "print each step of each history"),
	OPT_END,
};

int main(int argc, char **argv)
{
	struct sim_opts o = { .histories = 10000, .seed = 1 };
	const struct opt_set set = { .opts = sim_options, .into = &o };
	struct opt_args args = { .dashdash = -1 };
	struct err err = ERR_INIT;
	const bool none[CH_COUNT] = { false };
	int64_t failed = 0;
	size_t requests = 0;

	if (opt_parse(&set, 1, argc - 1, argv + 1, &args, &err) < 0) {
		(void)fprintf(stderr, "sim: %s\n", err.msg);
		return 2;
	}
	for (int64_t i = 0; i < o.histories; i++) {
		uint64_t seed = (uint64_t)(o.seed + i);
		struct result r;

		history(seed, none, steps_of(seed), o.trace, &r);
		requests += r.requests;
		if (!r.fail[0])
			continue;
		failed++;
		report(seed);
		if (failed >= 3)
			break;
	}
	opt_args_release(&args);
	if (failed) {
		printf("sim: %" PRId64 " histories broke an invariant\n", failed);
		return 1;
	}
	printf("sim: %" PRId64 " histories from seed %" PRId64
	       ", %zu requests, no invariant broken\n",
	       o.histories, o.seed, requests);
	return 0;
}
