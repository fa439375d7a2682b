/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer: a local copy of a resource's objects, kept true by list + watch:
 * bookmarks, relist on 410, resume on close, back-off with jitter on errors.
 * An idle watch is renewed by timeoutSeconds. Runs on a loop.
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H
#include "base/map.h"
#include "kube/client.h"

struct informer;

struct informer_opts {
	const struct kube_res *res;
	const char *ns;             /* NULL: all namespaces */
	const char *label_selector; /* NULL: none */
	const char *field_selector;
	/*
	 * Seconds after which a watch is asked for again; 0: 5 to 10 minutes. A quiet
	 * server says nothing in between, so the age of the copy grows up to this.
	 */
	int64_t watch_s;
	/*
	 * Cuts an object down to what is needed, in place, before it is stored (memory at
	 * 10,000 pods). NULL: managedFields are removed, nothing else.
	 */
	void (*trim)(cJSON *obj);
	/* old NULL: added; now NULL: deleted. Borrowed; `old` is freed after the call. */
	void (*on_change)(void *arg, const cJSON *old, const cJSON *now);
	/* After each complete list was taken over. */
	void (*on_sync)(void *arg);
	/* List or watch failed; it goes on by itself. For logs and metrics. */
	void (*on_error)(void *arg, const struct err *err);
	void *arg;
};

/* Starts at once. opts' strings are copied. */
MUST_USE int informer_new(struct kube *k, const struct informer_opts *opts, struct informer **out,
			  struct err *err);
void informer_free(struct informer *i);
DEFINE_AUTO_PTR(informer, struct informer);
/* A first list was taken over. */
bool informer_synced(const struct informer *i);
/* Monotonic milliseconds since the API server was last heard (list, event, bookmark, open watch).
 */
int64_t informer_age_ms(const struct informer *i);
/* "ns/name" (or "name") -> cJSON *. Borrowed, valid until the next turn of the loop. */
const struct map *informer_store(const struct informer *i);
const cJSON *informer_get(const struct informer *i, const char *ns, const char *name);
/*
 * Puts an object that a write just returned into the copy at once, unless the copy
 * holds a newer one (resourceVersion); on_change is not called.
 */
void informer_observe(struct informer *i, const cJSON *obj);
/* "ns/name" of an object's metadata into out. */
void informer_key(const cJSON *obj, struct buf *out);
#endif
