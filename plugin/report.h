/* SPDX-License-Identifier: Apache-2.0 */
/* report: faults of validate as lines. */
#ifndef PLUGIN_REPORT_H
#define PLUGIN_REPORT_H
#include "cmd.h"
#include "etjob/validate.h"

/*
 * Prints warnings, and all faults but the last as error lines; the last becomes err with the
 * class `fail`. Returns 0 when there is no fault, else -1.
 */
MUST_USE int report_faults(struct cmd_ctx *ctx, const struct faults *f, enum fail fail,
			   struct err *err);
#endif
