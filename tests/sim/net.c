/* SPDX-License-Identifier: Apache-2.0 */
/* A controller's process, its informers, and the network between it and the API server. */
#include "base/limits.h"
#include "controller/trim.h"
#include "sim.h"

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

bool is_seen(int kind)
{
	return kind <= SEEN_NODE;
}

void ctl_start(struct sim *s, int index)
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
	/* The lists are read one after another, and what one of them shows may be older. */
	for (int kind = 0; is_seen(kind); kind++) {
		if (sim_chance(s, CH_LATE, 20))
			ctl->views[kind].late_ms = s->now_ms + (int64_t)sim_below(s, 3000);
		view_list(ctl, kind);
	}
}

/* The process is gone: its requests are on their way or not; nobody hears the answers. */
void ctl_stop(struct sim *s, int index)
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

void call_drop(struct sim *s, size_t i)
{
	struct call_under_way *c = &s->calls[i];

	free(c->method);
	free(c->path);
	free(c->body);
	cJSON_Delete(c->answer);
	memmove(c, c + 1, (s->ncalls - i - 1) * sizeof(*c));
	s->ncalls--;
}

void call_execute(struct sim *s, size_t i)
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

void call_answer(struct sim *s, size_t i)
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

void network_step(struct sim *s)
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

void deliver(struct controller *ctl, int kind)
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
