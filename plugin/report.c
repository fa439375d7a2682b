/* SPDX-License-Identifier: Apache-2.0 */
/* report: one line a fault. */
#include "report.h"

int report_faults(struct cmd_ctx *ctx, const struct faults *f, enum fail fail, struct err *err)
{
	for (size_t i = 0; i < f->warnings.n; i++)
		ctx_warn(ctx, "%s", f->warnings.v[i]);
	for (size_t i = 0; i < f->n; i++) {
		if (i + 1 == f->n)
			return err_set(err, fail, "%s: %s", f->v[i].field, f->v[i].message);
		ctx_note(ctx, "error: %s: %s", f->v[i].field, f->v[i].message);
	}
	return 0;
}
