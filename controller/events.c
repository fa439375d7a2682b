/* SPDX-License-Identifier: Apache-2.0 */
/* events: what a person would ask about, as core/v1 Events and as log lines. */
#include "base/limits.h"
#include "controller/engine.h"
#include "wire/time.h"

#define REPEAT_MS 60000 /* the same words about the same job again within this are not sent */

cJSON *event_reference(const cJSON *about, struct err *err)
{
	static const char *const from_meta[] = { "name", "namespace", "uid", "resourceVersion" };
	const cJSON *meta = json_get(about, "metadata");
	cJSON *ref = cJSON_CreateObject();

	if (!ref ||
	    json_set_str(ref, "apiVersion", json_get_str(about, "apiVersion", ""), err) < 0 ||
	    json_set_str(ref, "kind", json_get_str(about, "kind", ""), err) < 0)
		goto fail;
	for (size_t i = 0; i < ARRAY_LEN(from_meta); i++) {
		if (json_set_str(ref, from_meta[i], json_get_str(meta, from_meta[i], ""), err) < 0)
			goto fail;
	}
	return ref;
fail:
	cJSON_Delete(ref);
	(void)err_nomem(err); /* the NULL says it */
	return NULL;
}

struct event_call {
	struct engine *e;
};

static void event_done(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct event_call *c = arg;

	(void)resp;
	if (err->fail != FAIL_NONE)
		c->e->stats.events_failed++;
	free(c);
}

static int event_body(struct engine *e, const struct action *a, cJSON **out, struct err *err)
{
	const char *ns = json_get_str(a->body, "namespace", "");
	cJSON *ev = cJSON_CreateObject(), *meta, *source, *ref;
	AUTO(buf) struct buf name = BUF_INIT(512);
	char now[TIME_TEXT_SIZE];
	size_t n = strlen(a->message);

	time_format(clock_wall_ms(e->io.clock), now);
	buf_printf(&name, "%s.%016" PRIx64, json_get_str(a->body, "name", ""),
		   e->io.random(e->io.arg));
	meta = ev ? json_need_object(ev, "metadata", err) : NULL;
	source = meta ? json_need_object(ev, "source", err) : NULL;
	ref = source ? json_copy(a->body, err) : NULL;
	if (!ref || json_set(ev, "involvedObject", ref, err) < 0)
		goto fail;
	if (n > 1000) /* the API takes 1,024 bytes */
		a->message[n = 1000] = '\0';
	while (n && ((unsigned char)a->message[n - 1] & 0xc0) == 0x80 && n >= 997)
		a->message[--n] = '\0'; /* not in the middle of a character */
	if (json_set_str(ev, "apiVersion", "v1", err) < 0 ||
	    json_set_str(ev, "kind", "Event", err) < 0 ||
	    json_set_str(meta, "name", buf_text(&name), err) < 0 ||
	    json_set_str(meta, "namespace", ns, err) < 0 ||
	    json_set_str(source, "component", "etjob-controller", err) < 0 ||
	    json_set_str(ev, "type", a->warning ? "Warning" : "Normal", err) < 0 ||
	    json_set_str(ev, "reason", a->reason, err) < 0 ||
	    json_set_str(ev, "message", a->message, err) < 0 ||
	    json_set_str(ev, "firstTimestamp", now, err) < 0 ||
	    json_set_str(ev, "lastTimestamp", now, err) < 0 ||
	    json_set_int(ev, "count", 1, err) < 0)
		goto fail;
	*out = ev;
	return 0;
fail:
	cJSON_Delete(ev);
	return err_nomem(err);
}

static bool repeated(struct engine *e, struct rec *rec, const struct action *a)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a over reason and message */
	int64_t now = clock_mono_ms(e->io.clock);
	const char *parts[] = { a->reason, json_get_str(a->body, "kind", ""), a->message };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		for (const char *s = parts[i]; *s; s++)
			h = (h ^ (unsigned char)*s) * 1099511628211u;
	}
	if (rec->last_event == h && now - rec->last_event_ms < REPEAT_MS)
		return true;
	rec->last_event = h;
	rec->last_event_ms = now;
	return false;
}

void event_send(struct engine *e, struct rec *rec, const struct action *a)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *body = NULL;
	struct err err = ERR_INIT;
	struct event_call *c = NULL;

	if (repeated(e, rec, a))
		return;
	if (e->io.log)
		log_event(e->io.log, a->warning ? LOG_WARN : LOG_INFO, a->message, "job", rec->key,
			  "reason", a->reason, NULL);
	e->stats.events++;
	if (event_body(e, a, &body, &err) < 0 ||
	    kube_path(&kube_events, rec->ns, NULL, NULL, &path, &err) < 0 ||
	    json_print(body, &text, &err) < 0)
		goto fail;
	c = calloc(1, sizeof(*c));
	if (!c)
		goto fail;
	c->e = e;
	struct kube_req req = { .method = "POST",
				.path = buf_text(&path),
				.body = buf_text(&text),
				.body_bytes = text.len,
				.timeout_ms = 30000,
				.on_done = event_done,
				.arg = c };
	if (e->io.send(e->io.arg, &req, &err) == 0)
		return;
fail:
	free(c);
	e->stats.events_failed++;
}
