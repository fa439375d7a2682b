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
	bool mount; /* false: et-operator adds the mount itself (--inject-mount=false) */
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
 * A copy of a job's spec without what inject put there: equal templates compare equal
 * whether injected or not. The caller owns *out (the templates: {launcher, worker}).
 */
MUST_USE int inject_strip(const cJSON *obj, cJSON **out, struct err *err);
#endif
