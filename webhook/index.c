/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/index.h"

#include "base/limits.h"
#include "base/strs.h"
#include "etjob/names.h"

#define WATCH_S 20    /* a quiet API server is heard this often: well below REVIEW_STALE_MS */
#define HEARD_MS 1000 /* how often the age is looked at */
#define PUBLISH_MAX_MS 500
#define RETRY_MS 1000 /* after a snapshot that memory did not suffice for */

enum { JOBS, SCALEOUTS, SCALEINS, KINDS };

struct source {
	struct index *index;
	struct informer *informer; /* owned */
	struct map objects;        /* "ns/name" -> struct snap_obj *, owned references */
	struct strs touched;       /* keys that came or changed since the last publication */
	bool synced, failing;
};

struct index {
	struct index_opts opts;
	struct loop *loop;
	struct source sources[KINDS];
	struct timer *publish, *heard;
	int64_t build_ms; /* of the last snapshot */
	atomic_bool synced;
	atomic_size_t jobs, scalers;
};

static const struct kube_res *const resources[KINDS] = { &kube_trainingjobs, &kube_scaleouts,
							 &kube_scaleins };
static const enum reserve_kind reserve_kinds[KINDS] = { RESERVE_JOB, RESERVE_SCALEOUT,
							RESERVE_SCALEIN };

static void obj_drop(void *value)
{
	snap_obj_free(value);
}

/* --- publishing ------------------------------------------------------------------ */

static int build(struct index *i, struct snap **out, struct err *err)
{
	struct snap *s;
	struct map_entry *e;

	if (snap_new(&s, err) < 0)
		return -1;
	for (unsigned k = 0; k < KINDS; k++)
		map_each (&i->sources[k].objects, e) {
			int rc = k == JOBS ? snap_add_job(s, e->value, err)
					   : snap_add_scaler(s, e->value, err);

			if (rc < 0) {
				snap_free(s);
				return -1;
			}
		}
	*out = s;
	return 0;
}

/* The snapshot shows them now, so the reservations go. */
static void settle(struct index *i)
{
	for (unsigned k = 0; k < KINDS; k++) {
		struct strs *t = &i->sources[k].touched;

		for (size_t n = 0; n < t->n; n++) {
			char *slash = strchr(t->v[n], '/');

			if (!slash)
				continue;
			*slash = '\0';
			reserve_seen(i->opts.reserve, reserve_kinds[k], t->v[n], slash + 1);
		}
		strs_release(t);
	}
}

static void publish_soon(struct index *i, int64_t delay_ms);

static void publish(void *arg)
{
	struct index *i = arg;
	int64_t start = clock_mono_ms(loop_clock(i->loop));
	struct err err = ERR_INIT;
	struct snap *s;

	i->publish = NULL;
	if (build(i, &s, &err) < 0) {
		log_event(i->opts.log, LOG_ERROR, "index not published", "error", err.msg, NULL);
		publish_soon(i, RETRY_MS);
		return;
	}
	snap_cell_set(i->opts.cell, s);
	settle(i);
	atomic_store(&i->jobs, i->sources[JOBS].objects.count);
	atomic_store(&i->scalers,
		     i->sources[SCALEOUTS].objects.count + i->sources[SCALEINS].objects.count);
	i->build_ms = clock_mono_ms(loop_clock(i->loop)) - start;
	if (!atomic_load(&i->synced) && i->sources[JOBS].synced && i->sources[SCALEOUTS].synced &&
	    i->sources[SCALEINS].synced) {
		atomic_store(&i->synced, true);
		atomic_store(&i->opts.cell->heard_ms, start);
		log_event(i->opts.log, LOG_INFO, "index synced", NULL);
	}
	if (i->opts.on_publish)
		i->opts.on_publish(i->opts.arg);
}

static void publish_soon(struct index *i, int64_t delay_ms)
{
	if (i->publish)
		return;
	if (delay_ms > PUBLISH_MAX_MS && delay_ms != RETRY_MS)
		delay_ms = PUBLISH_MAX_MS;
	i->publish = loop_after(i->loop, delay_ms, publish, i);
	if (!i->publish)
		log_event(i->opts.log, LOG_ERROR, "index not published", "error", "out of memory",
			  NULL);
}

/* --- what the informers tell ------------------------------------------------------- */

#define PACKED "packed" /* no member of the API's objects */

/*
 * The informer keeps a copy that only it needs: an object's names, and the rest as
 * text, which is a fifth of the tree. Without memory for that it keeps the tree.
 */
static void pack(cJSON *obj)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	cJSON *packed;

	snap_trim(obj);
	if (json_print(obj, &text, NULL) < 0)
		return;
	packed = cJSON_CreateString(buf_text(&text));
	if (!packed || json_set(obj, PACKED, packed, NULL) < 0)
		return;
	json_del(obj, "spec");
	json_del(obj, "status");
}

static cJSON *unpack(const cJSON *obj, struct err *err)
{
	const char *text = json_get_str(obj, PACKED, NULL);
	cJSON *tree = NULL;

	if (!text)
		return json_copy(obj, err);
	return json_parse_lenient(text, strlen(text), &tree, err) < 0 ? NULL : tree;
}

static int take_over(struct source *s, const char *key, const cJSON *now, struct err *err)
{
	struct snap_obj *o;
	cJSON *tree = unpack(now, err);

	if (!tree || snap_obj_new(tree, &o, err) < 0)
		return -1;
	if (map_put(&s->objects, key, o, err) < 0) {
		snap_obj_free(o);
		return -1;
	}
	return strs_add(&s->touched, key, err);
}

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	struct source *s = arg;
	AUTO(buf) struct buf key = BUF_INIT(1024);
	struct err err = ERR_INIT;

	informer_key(now ? now : old, &key);
	if (buf_check(&key, &err) < 0) {
		/* The next change of the object, or the next list, brings it in. */
		log_event(s->index->opts.log, LOG_ERROR, "object not indexed", "error", err.msg,
			  NULL);
		return;
	}
	if (!now)
		(void)map_del(&s->objects, buf_text(&key)); /* gone either way */
	else if (take_over(s, buf_text(&key), now, &err) < 0)
		log_event(s->index->opts.log, LOG_ERROR, "object not indexed", "object",
			  buf_text(&key), "error", err.msg, NULL);
	if (s->synced)
		publish_soon(s->index, s->index->build_ms * 10);
}

static void on_sync(void *arg)
{
	struct source *s = arg;

	s->synced = true;
	publish_soon(s->index, 0);
}

static void on_error(void *arg, const struct err *err)
{
	struct source *s = arg;

	atomic_fetch_add(&s->index->opts.metrics->watch_errors, 1);
	if (!s->failing) /* once a break, not once a try */
		log_event(s->index->opts.log, LOG_WARN, "index is not fed", "kind",
			  resources[s - s->index->sources]->kind, "error", err->msg, NULL);
	s->failing = true;
}

static void look_at_age(void *arg)
{
	struct index *i = arg;
	int64_t oldest = 0;

	for (unsigned k = 0; k < KINDS; k++) {
		struct source *s = &i->sources[k];
		int64_t age = informer_age_ms(s->informer);

		if (age > oldest)
			oldest = age;
		if (s->failing && age < 2 * HEARD_MS) {
			log_event(i->opts.log, LOG_INFO, "index is fed again", "kind",
				  resources[k]->kind, NULL);
			s->failing = false;
		}
	}
	if (atomic_load(&i->synced))
		atomic_store(&i->opts.cell->heard_ms, clock_mono_ms(loop_clock(i->loop)) - oldest);
	i->heard = loop_after(i->loop, HEARD_MS, look_at_age, i);
}

/* --- life ---------------------------------------------------------------------------- */

int index_new(struct kube *k, const struct index_opts *opts, struct index **out, struct err *err)
{
	struct index *i = calloc(1, sizeof(*i));

	if (!i)
		return err_nomem(err);
	i->opts = *opts;
	i->loop = kube_loop(k);
	for (unsigned n = 0; n < KINDS; n++) {
		struct source *s = &i->sources[n];
		const struct informer_opts o = {
			.res = resources[n],
			.watch_s = WATCH_S,
			.trim = pack,
			.on_change = on_change,
			.on_sync = on_sync,
			.on_error = on_error,
			.arg = s,
		};

		s->index = i;
		s->objects = MAP_INIT(obj_drop);
		if (informer_new(k, &o, &s->informer, err) < 0) {
			index_free(i);
			return -1;
		}
	}
	i->heard = loop_after(i->loop, HEARD_MS, look_at_age, i);
	if (!i->heard) {
		index_free(i);
		return err_nomem(err);
	}
	*out = i;
	return 0;
}

void index_free(struct index *i)
{
	if (!i)
		return;
	loop_cancel(i->loop, i->publish);
	loop_cancel(i->loop, i->heard);
	for (unsigned k = 0; k < KINDS; k++) {
		informer_free(i->sources[k].informer);
		map_release(&i->sources[k].objects);
		strs_release(&i->sources[k].touched);
	}
	free(i);
}

bool index_synced(const struct index *i)
{
	return atomic_load(&i->synced);
}

void index_counts(const struct index *i, size_t *jobs, size_t *scalers)
{
	*jobs = atomic_load(&i->jobs);
	*scalers = atomic_load(&i->scalers);
}
