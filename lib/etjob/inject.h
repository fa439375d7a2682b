/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject: what a job gets without asking: the environment variables workers,
 * gpus, minWorkers, maxWorkers in every container, and the discovery script's
 * mount in the launcher's first container. Idempotent: its own output gives no
 * patch. Only `add` of what is absent and `replace` of values that were ours.
 */
#ifndef ETJOB_INJECT_H
#define ETJOB_INJECT_H
#include "base/strs.h"
#include "etjob/job.h"
#include "wire/patch.h"

struct inject_opts {
	bool mount;  /* false: et-operator adds the mount itself (--inject-mount=false) */
	bool always; /* also where the annotation or the job's end says no: for its pods */
};

/*
 * Appends to patch what obj lacks. old is the stored object on UPDATE, else NULL: a value
 * equal to what the old spec gave is ours and follows. warnings get a line where something
 * of the user's was left alone. obj is not changed.
 */
MUST_USE int inject_patch(const cJSON *obj, const cJSON *old, const struct inject_opts *opts,
			  struct patch *patch, struct strs *warnings, struct err *err);
/* The same, applied to *obj in place. */
MUST_USE int inject_apply(cJSON **obj, const cJSON *old, const struct inject_opts *opts,
			  struct err *err);
/*
 * The pod templates of a job ({launcher, worker}) without what inject puts there: equal
 * templates compare equal whether injected or not. A whole number in one of the four
 * variables counts as ours whatever its value, since one that went stale through /scale
 * can not be told from one of the user's. The caller owns *out.
 */
MUST_USE int inject_strip(const cJSON *obj, cJSON **out, struct err *err);
/* The whole spec, stripped in the same way; members that are null are left out. */
MUST_USE int inject_strip_spec(const cJSON *obj, cJSON **out, struct err *err);
/* Whether obj is to be touched: not finished, not being deleted, no annotation against it. */
bool inject_wanted(const cJSON *obj);
/* Whether a variable's name is one of the four. */
bool inject_is_env(const char *name);
#endif
