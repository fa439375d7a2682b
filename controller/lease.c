/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lease.h"

#include "base/limits.h"
#include "base/strs.h"
#include "wire/time.h"

#define VALID_S 15
#define DEADLINE_MS 10000
#define RETRY_MS 2000

struct lease {
	struct kube *k;
	struct lease_opts opts; /* strings are the owned copies below */
	char *ns, *name, *identity;
	char *path, *list_path; /* owned */
	cJSON *obj;             /* owned: as last read or written */
	char *seen;             /* owned: renewTime, holder and transitions as last seen */
	int64_t seen_ms;        /* monotonic: when that changed */
	int64_t seen_valid_s;   /* its leaseDurationSeconds */
	int64_t renewed_ms;     /* monotonic: begin of our last renewal that succeeded */
	int64_t heard_ms;       /* monotonic: last answer */
	int64_t asked_ms;       /* monotonic: begin of the request under way */
	bool mine;
	struct kube_call *call;
	struct timer *timer;
};

static void step(void *arg);

static int64_t mono(const struct lease *l)
{
	return clock_mono_ms(loop_clock(kube_loop(l->k)));
}

bool lease_valid(const struct lease *l)
{
	return l->mine && mono(l) - l->renewed_ms < DEADLINE_MS;
}

bool lease_fresh(const struct lease *l)
{
	return l->heard_ms && mono(l) - l->heard_ms < VALID_S * 1000;
}

static void again(struct lease *l, int64_t ms)
{
	l->timer = loop_after(kube_loop(l->k), ms, step, l);
}

static void lost(struct lease *l, const char *why)
{
	l->mine = false;
	l->opts.on_lost(l->opts.arg, why);
}

/* The holder as the Lease says it; "" when nobody. */
static const char *holder(const cJSON *obj)
{
	return json_get_str(json_get(obj, "spec"), "holderIdentity", "");
}

/* Takes an answer over and notes when what it says changed, by our own clock. */
static int take(struct lease *l, cJSON *obj, struct err *err)
{
	const cJSON *spec = json_get(obj, "spec");
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	cJSON_Delete(l->obj);
	l->obj = obj;
	buf_printf(&text, "%s %s", holder(obj), json_get_str(spec, "renewTime", ""));
	if (l->seen && str_eq(l->seen, buf_text(&text)))
		return 0;
	free(l->seen);
	l->seen = NULL;
	l->seen_ms = mono(l);
	l->seen_valid_s = json_get_int(spec, "leaseDurationSeconds", VALID_S);
	return buf_finish(&text, &l->seen, err);
}

/* The Lease with us as the holder, or nobody. */
static int body(struct lease *l, bool give_up, struct buf *out, struct err *err)
{
	AUTO_JSON cJSON *doc = l->obj ? json_copy(l->obj, err) : cJSON_CreateObject();
	cJSON *meta = doc ? json_need_object(doc, "metadata", err) : NULL;
	cJSON *spec = meta ? json_need_object(doc, "spec", err) : NULL;
	int64_t changes = json_get_int(spec, "leaseTransitions", 0);
	bool renew = str_eq(holder(doc), l->identity);
	char now[TIME_TEXT_SIZE];

	time_format_micro(clock_wall_ms(loop_clock(kube_loop(l->k))), now);
	if (!spec || json_set_str(doc, "apiVersion", "coordination.k8s.io/v1", err) < 0 ||
	    json_set_str(doc, "kind", "Lease", err) < 0 ||
	    json_set_str(meta, "name", l->name, err) < 0 ||
	    json_set_str(meta, "namespace", l->ns, err) < 0 ||
	    json_set_str(spec, "holderIdentity", give_up ? "" : l->identity, err) < 0 ||
	    json_set_int(spec, "leaseDurationSeconds", give_up ? 1 : VALID_S, err) < 0 ||
	    json_set_str(spec, "renewTime", now, err) < 0 ||
	    (!renew && json_set_str(spec, "acquireTime", now, err) < 0) ||
	    json_set_int(spec, "leaseTransitions", renew || !l->obj ? changes : changes + 1, err) <
		    0)
		return err_nomem(err);
	return json_print(doc, out, err);
}

static void on_write(void *arg, struct kube_resp *resp, const struct err *why)
{
	struct lease *l = arg;
	struct err err = ERR_INIT;
	bool was = l->mine;

	l->call = NULL;
	if (why->fail == FAIL_NONE && resp->json) {
		l->heard_ms = mono(l);
		l->renewed_ms = l->asked_ms;
		l->mine = true;
		if (take(l, TAKE(resp->json), &err) < 0)
			l->opts.on_error(l->opts.arg, &err);
		again(l, RETRY_MS);
		if (!was)
			l->opts.on_won(l->opts.arg);
		return;
	}
	/* Someone else was faster: read what it says now. */
	if (kube_is(why, 409)) {
		l->heard_ms = mono(l);
		cJSON_Delete(l->obj);
		l->obj = NULL;
		if (was) {
			lost(l, "another replica took the lease");
			return;
		}
	} else {
		l->opts.on_error(l->opts.arg, why);
	}
	again(l, was ? RETRY_MS / 4 : RETRY_MS);
}

static int write_lease(struct lease *l, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	bool create = !l->obj;

	if (body(l, false, &text, err) < 0)
		return -1;
	l->asked_ms = mono(l);
	return kube_start(l->k,
			  &(struct kube_req){ .method = create ? "POST" : "PUT",
					      .path = create ? l->list_path : l->path,
					      .body = buf_text(&text),
					      .body_bytes = text.len,
					      .timeout_ms = 5000,
					      .no_retry = true,
					      .on_done = on_write,
					      .arg = l },
			  &l->call, err);
}

static void on_read(void *arg, struct kube_resp *resp, const struct err *why)
{
	struct lease *l = arg;
	struct err err = ERR_INIT;

	l->call = NULL;
	if (why->fail == FAIL_NONE && resp->json) {
		l->heard_ms = mono(l);
		if (take(l, TAKE(resp->json), &err) < 0)
			goto fail;
	} else if (kube_is(why, 404)) {
		l->heard_ms = mono(l);
		cJSON_Delete(l->obj);
		l->obj = NULL;
	} else {
		l->opts.on_error(l->opts.arg, why);
		again(l, RETRY_MS);
		return;
	}
	/* Free, or nobody has renewed it for as long as it is valid, by our clock. A lease in our
	 * own name is from before we were started again: it is taken in the same way. */
	if (!l->obj || !holder(l->obj)[0] || mono(l) - l->seen_ms >= l->seen_valid_s * 1000) {
		if (write_lease(l, &err) < 0)
			goto fail;
		return;
	}
	again(l, RETRY_MS);
	return;
fail:
	l->opts.on_error(l->opts.arg, &err);
	again(l, RETRY_MS);
}

static void step(void *arg)
{
	struct lease *l = arg;
	struct err err = ERR_INIT;

	l->timer = NULL;
	if (l->mine && !lease_valid(l)) {
		lost(l, "it could not be renewed for 10 s");
		return;
	}
	if (l->mine ? write_lease(l, &err) == 0
		    : kube_start(l->k,
				 &(struct kube_req){ .method = "GET",
						     .path = l->path,
						     .timeout_ms = 5000,
						     .no_retry = true,
						     .on_done = on_read,
						     .arg = l },
				 &l->call, &err) == 0)
		return;
	l->opts.on_error(l->opts.arg, &err);
	again(l, RETRY_MS);
}

int lease_new(struct kube *k, const struct lease_opts *opts, struct lease **out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf list = BUF_INIT(LIMIT_TEXT);
	AUTO_PTR(lease) struct lease *l = calloc(1, sizeof(*l));

	if (!l)
		return err_nomem(err);
	l->k = k;
	l->opts = *opts;
	if (str_copy(opts->ns, &l->ns, err) < 0 || str_copy(opts->name, &l->name, err) < 0 ||
	    str_copy(opts->identity, &l->identity, err) < 0 ||
	    kube_path(&kube_leases, opts->ns, opts->name, NULL, &path, err) < 0 ||
	    kube_path(&kube_leases, opts->ns, NULL, NULL, &list, err) < 0 ||
	    buf_finish(&path, &l->path, err) < 0 || buf_finish(&list, &l->list_path, err) < 0)
		return -1;
	again(l, 0);
	if (!l->timer)
		return err_nomem(err);
	*out = TAKE(l);
	return 0;
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	kube_cancel(l->k, l->call);
	loop_cancel(kube_loop(l->k), l->timer);
	cJSON_Delete(l->obj);
	free(l->seen);
	free(l->path);
	free(l->list_path);
	free(l->ns);
	free(l->name);
	free(l->identity);
	free(l);
}

void lease_release(struct lease *l)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	struct kube_resp resp = { 0 };
	struct err err = ERR_INIT;

	kube_cancel(l->k, TAKE(l->call));
	loop_cancel(kube_loop(l->k), TAKE(l->timer));
	if (!lease_valid(l) || !l->obj)
		return;
	if (body(l, true, &text, &err) < 0 || kube_do(l->k,
						      &(struct kube_req){ .method = "PUT",
									  .path = l->path,
									  .body = buf_text(&text),
									  .body_bytes = text.len,
									  .timeout_ms = 3000,
									  .no_retry = true },
						      &resp, &err) < 0)
		l->opts.on_error(l->opts.arg, &err);
	kube_resp_release(&resp);
	l->mine = false;
}
