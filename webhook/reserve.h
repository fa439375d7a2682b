/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve: what this replica admitted and the index does not show yet: names
 * of jobs, and scalers with their amounts. A reservation ends when the index
 * shows the object, or after RESERVE_MS (the API server refused it after us).
 *
 * Look and reserve in one critical section, and take the snapshot inside it:
 *   reserve_lock(r); snap = index_acquire(i); ...look, reserve...; reserve_unlock(r);
 * The index publishes first and calls reserve_seen() after, so an object is
 * always in the snapshot or in here.
 */
#ifndef WEBHOOK_RESERVE_H
#define WEBHOOK_RESERVE_H
#include "base/clock.h"
#include "etjob/scaler.h"
#include "webhook/snap.h"

#define RESERVE_MS 30000
#define RESERVE_MAX 20000 /* reservations at once; above, the oldest goes */

enum reserve_kind { RESERVE_JOB, RESERVE_SCALEOUT, RESERVE_SCALEIN };

struct reserve;
MUST_USE int reserve_new(const struct clock *clock, struct reserve **out, struct err *err);
void reserve_free(struct reserve *r);
DEFINE_AUTO_PTR(reserve, struct reserve);
/* Forgets what is out of time, too. */
void reserve_lock(struct reserve *r);
void reserve_unlock(struct reserve *r);

/* The following three only between lock and unlock. */

/* A namespace other than ns for which the name is reserved, or NULL; borrowed. */
const char *reserve_holder(const struct reserve *r, const char *name, const char *ns);
bool reserve_has(const struct reserve *r, enum reserve_kind kind, const char *ns, const char *name);
/* Appends the reserved scalers of ns/job that snap does not show to v (room for max); how many. */
size_t reserve_pending(const struct reserve *r, const struct snap *snap, const char *ns,
		       const char *job, struct scaler *v, size_t max);
/* obj is copied (trimmed); the same kind, namespace and name again only renews it. */
MUST_USE int reserve_put(struct reserve *r, enum reserve_kind kind, const char *ns,
			 const char *name, const cJSON *obj, struct err *err);

/* The index shows it now. Takes the lock itself. */
void reserve_seen(struct reserve *r, enum reserve_kind kind, const char *ns, const char *name);
/* For metrics. Takes the lock itself. */
size_t reserve_count(struct reserve *r);
#endif
