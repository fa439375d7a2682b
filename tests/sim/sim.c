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
#include "controller/trim.h"
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

/* --- a controller ----------------------------------------------------------- */

static int64_t ctl_wall(const struct clock *c)
{
	const struct controller *ctl = c->arg;

	return ctl->sim->now_ms + SIM_EPOCH_MS + ctl->sim->skew_ms;
}

static int64_t ctl_mono(const struct clock *c)
{
	const struct controller *ctl = c->arg;

	return ctl->sim->now_ms;
}

static uint64_t ctl_random(void *arg)
{
	struct controller *ctl = arg;

	return sim_random(ctl->sim);
}

static int ctl_key(void *arg, struct buf *private_pem, struct buf *public_line, struct err *err)
{
	buf_str(private_pem, "key");
	buf_str(public_line, "line\n");
	return buf_check(private_pem, err);
}

static int ctl_send(void *arg, const struct kube_req *req, struct err *err)
{
	struct controller *ctl = arg;
	struct sim *s = ctl->sim;

	if (s->ncalls == s->calls_size) {
		s->calls_size = s->calls_size ? s->calls_size * 2 : 16;
		s->calls = reallocarray(s->calls, s->calls_size, sizeof(*s->calls));
		sim_need(s->calls != NULL);
	}
	struct call_under_way *c = &s->calls[s->ncalls++];

	*c = (struct call_under_way){ .req = *req,
				      .ctl = ctl->index,
				      .method = strdup(req->method),
				      .path = strdup(req->path),
				      .body = strdup(req->body ? req->body : "") };
	sim_need(c->method && c->path && c->body);
	s->requests++;
	return 0;
}

static void view_release(struct view *v)
{
	map_release(&v->store);
	*v = (struct view){ .pos = 0 };
}

static void drop_json(void *v)
{
	cJSON_Delete(v);
}

static void view_key(const cJSON *obj, struct buf *out)
{
	buf_printf(out, "%s/%s", obj_str(obj, "namespace"), obj_str(obj, "name"));
}

/* The informer's side of one event. */
static void view_apply(struct controller *ctl, int kind, const cJSON *obj, bool deleted)
{
	struct view *v = &ctl->views[kind];
	AUTO(buf) struct buf key = BUF_INIT(512);
	AUTO_JSON cJSON *old = NULL;
	cJSON *now = NULL;

	view_key(obj, &key);
	old = map_take(&v->store, buf_text(&key));
	if (!deleted) {
		now = json_copy(obj, NULL);
		sim_need(now != NULL);
		trim_for((enum seen)kind)(now);
		sim_need(map_put(&v->store, buf_text(&key), now, NULL) == 0);
	}
	if (old || now)
		engine_change(&ctl->engine, (enum seen)kind, old, now);
}

/* A list: what is there now, whatever the events said. */
static void view_list(struct controller *ctl, int kind)
{
	struct sim *s = ctl->sim;
	struct view *v = &ctl->views[kind];
	const char **keys = NULL;
	size_t n = v->store.count;

	sim_need(map_sorted_keys(&v->store, &keys, NULL) == 0);
	for (size_t i = 0; i < n; i++) {
		const cJSON *have = map_get(&v->store, keys[i]);
		const cJSON *now =
			api_find(s, kind, obj_str(have, "namespace"), obj_str(have, "name"));

		if (!now)
			view_apply(ctl, kind, have, true);
	}
	free(keys);
	for (size_t i = 0; i < s->objs[kind].n; i++) {
		const cJSON *now = s->objs[kind].v[i];
		AUTO(buf) struct buf key = BUF_INIT(512);

		view_key(now, &key);
		const cJSON *have = map_get(&v->store, buf_text(&key));

		if (!have ||
		    !str_eq(obj_str(have, "resourceVersion"), obj_str(now, "resourceVersion")))
			view_apply(ctl, kind, now, false);
	}
	v->pos = s->log[kind].n;
	v->ahead = false;
}

static bool is_seen(int kind)
{
	return kind <= SEEN_NODE;
}

static void ctl_start(struct sim *s, int index)
{
	struct controller *ctl = &s->ctl[index];

	sim_say(s, "controller %d starts", index);
	*ctl = (struct controller){ .alive = true, .sim = s, .index = index };
	ctl->clock = (struct clock){ .wall_ms = ctl_wall, .mono_ms = ctl_mono, .arg = ctl };
	engine_init(&ctl->engine, &(struct engine_io){ .arg = ctl,
						       .clock = &ctl->clock,
						       .send = ctl_send,
						       .random = ctl_random,
						       .make_key = ctl_key });
	for (int kind = 0; kind < KIND_COUNT; kind++)
		ctl->views[kind].store = MAP_INIT(drop_json);
	for (int kind = 0; is_seen(kind); kind++)
		view_list(ctl, kind);
}

/* The process is gone: its requests are on their way or not; nobody hears the answers. */
static void ctl_stop(struct sim *s, int index)
{
	struct controller *ctl = &s->ctl[index];

	if (!ctl->alive)
		return;
	sim_say(s, "controller %d ends", index);
	ctl->engine.stopped = true;
	for (size_t i = 0; i < s->ncalls; i++) {
		struct err err = { .fail = FAIL_CANCELED };
		struct kube_resp resp = { .reason = "", .retry_after_ms = -1 };

		if (s->calls[i].ctl != index)
			continue;
		s->calls[i].ctl = -1;
		s->calls[i].req.on_done(s->calls[i].req.arg, &resp, &err);
	}
	for (int kind = 0; kind < KIND_COUNT; kind++)
		view_release(&ctl->views[kind]);
	engine_release(&ctl->engine);
	ctl->alive = false;
}

/* --- the network ------------------------------------------------------------ */

static void call_drop(struct sim *s, size_t i)
{
	struct call_under_way *c = &s->calls[i];

	free(c->method);
	free(c->path);
	free(c->body);
	cJSON_Delete(c->answer);
	memmove(c, c + 1, (s->ncalls - i - 1) * sizeof(*c));
	s->ncalls--;
}

static void call_execute(struct sim *s, size_t i)
{
	struct call_under_way *c = &s->calls[i];
	static const int codes[] = { 500, 429, 503 };

	c->executed = true;
	if (sim_chance(s, CH_REFUSE, 4)) {
		c->http = codes[sim_below(s, ARRAY_LEN(codes))];
		sim_say(s, "%d for %s %s", c->http, c->method, c->path);
		return;
	}
	if (sim_chance(s, CH_TIMEOUT, 2)) { /* lost on the way there */
		c->no_answer = true;
		sim_say(s, "lost: %s %s", c->method, c->path);
		return;
	}
	c->http = api_request(s, c->method, c->path, c->body, &c->answer);
	sim_say(s, "%s %s: %d%s%s%.300s", c->method, strstr(c->path, "namespaces/"), c->http,
		c->ctl < 0 ? " (to nobody)" : "", str_eq(c->method, "PATCH") ? " " : "",
		str_eq(c->method, "PATCH") ? c->body : "");
	api_collect(s);
	if (sim_chance(s, CH_TIMEOUT, 2)) { /* lost on the way back */
		c->no_answer = true;
		sim_say(s, "the answer is lost");
	}
}

static void call_answer(struct sim *s, size_t i)
{
	struct call_under_way c = s->calls[i];
	struct err err = ERR_INIT;
	struct kube_resp resp = {
		.http = c.http, .json = c.answer, .reason = "", .retry_after_ms = -1
	};

	resp.reason = json_get_str(c.answer, "reason", "");
	resp.body = BUF_INIT(64);
	if (c.no_answer)
		(void)err_set(&err, FAIL_NET, "no answer");
	else if (c.http >= 300) {
		(void)err_set(&err, FAIL_HTTP, "%d", c.http);
		err.http = c.http;
	}
	memmove(&s->calls[i], &s->calls[i + 1], (s->ncalls - i - 1) * sizeof(c));
	s->ncalls--;
	if (c.ctl >= 0)
		c.req.on_done(c.req.arg, &resp, &err);
	cJSON_Delete(resp.json);
	buf_release(&resp.body);
	free(c.method);
	free(c.path);
	free(c.body);
}

static void network_step(struct sim *s)
{
	if (!s->ncalls)
		return;
	size_t i = sim_below(s, s->ncalls);

	if (!s->calls[i].executed)
		call_execute(s, i);
	else if (s->calls[i].ctl < 0)
		call_drop(s, i);
	else
		call_answer(s, i);
}

static void deliver(struct controller *ctl, int kind)
{
	struct sim *s = ctl->sim;
	struct view *v = &ctl->views[kind];
	struct changes *log = &s->log[kind];

	if (v->pos >= log->n || (v->late_ms > s->now_ms && !s->calm))
		return;
	if (sim_chance(s, CH_LOST, 2)) {
		sim_say(s, "watch %d breaks", kind);
		view_list(ctl, kind);
		return;
	}
	if (sim_chance(s, CH_LATE, 3)) {
		v->late_ms = s->now_ms + (int64_t)sim_below(s, 20000);
		return;
	}
	const struct change *c = &log->v[v->pos];

	if (v->ahead) {
		view_apply(ctl, kind, c->obj, c->deleted);
		v->pos += 2;
		v->ahead = false;
		return;
	}
	if (v->pos + 1 < log->n && sim_chance(s, CH_REORDER, 10) &&
	    !str_eq(obj_str(c->obj, "name"), obj_str(c[1].obj, "name"))) {
		view_apply(ctl, kind, c[1].obj, c[1].deleted);
		v->ahead = true;
		return;
	}
	view_apply(ctl, kind, c->obj, c->deleted);
	if (sim_chance(s, CH_DUPLICATE, 5))
		view_apply(ctl, kind, c->obj, c->deleted);
	v->pos++;
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
	for (size_t i = 0; i < s->objs[SEEN_NODE].n; i++) {
		cJSON *spec = json_get_mut(s->objs[SEEN_NODE].v[i], "spec");

		if (json_get(spec, "taints")) {
			json_del(spec, "taints");
			api_changed(s, SEEN_NODE, s->objs[SEEN_NODE].v[i]);
		}
	}
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
