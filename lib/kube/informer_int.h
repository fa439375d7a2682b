/* SPDX-License-Identifier: Apache-2.0 */
/* informer_int: what informer.c and informer_store.c share. Nobody else includes it. */
#ifndef KUBE_INFORMER_INT_H
#define KUBE_INFORMER_INT_H
#include "base/strs.h"
#include "kube/informer.h"

enum phase { PHASE_LIST, PHASE_WATCH };

struct informer {
	struct kube *k;
	struct informer_opts opts; /* its strings are the owned copies below */
	char *ns, *label_selector, *field_selector;
	struct map store;    /* "ns/name" -> cJSON *, owned */
	struct map next;     /* the list under way */
	struct map observed; /* keys that informer_observe() put in since the last list */
	char *rv;            /* owned: where the watch goes on; NULL before the first list */
	char *list_rv;       /* owned: of the first page of the list under way */
	char *page_token;    /* owned: continue */
	enum phase phase;
	struct kube_call *call;
	struct timer *timer;
	struct buf line; /* of the watch, without its newline yet */
	int64_t backoff_ms;
	int64_t heard_ms; /* monotonic; of the API server's last sign */
	int64_t watch_started_ms;
	size_t watch_events;
	int watch_failures; /* in a row */
	bool watch_open, synced;
	bool relist; /* the watch said 410: read a list next */
	bool *gone;  /* set when the informer is freed inside of a callback */
};

/* informer.c */
int64_t informer_now_ms(const struct informer *i);
void informer_report(struct informer *i, const struct err *err);

/* informer_store.c: those that return bool say whether the informer still lives. */
void informer_drop(void *obj);
void informer_trim(const struct informer *i, cJSON *obj);
/* Puts obj (taken over) into the copy and tells. */
MUST_USE bool informer_put(struct informer *i, const char *key, cJSON *obj);
MUST_USE bool informer_del(struct informer *i, const char *key);
/* Makes the copy what the list under way says, and tells what differs; err when memory is out. */
MUST_USE bool informer_take_over(struct informer *i, struct err *err);
/* Takes obj of a watch event over. */
MUST_USE bool informer_event(struct informer *i, const char *type, cJSON *obj);
#endif
