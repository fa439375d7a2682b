/* SPDX-License-Identifier: Apache-2.0 */
/* table: columns as kubectl prints them (3 blanks between, upper-case heads), widths by display
 * cells. */
#ifndef KUBE_TABLE_H
#define KUBE_TABLE_H
#include "base/buf.h"

struct table_col {
	const char *name;
	bool wide;  /* only with -o wide */
	bool right; /* right-aligned */
};
/* Appends all rows; cells of nrows * ncols strings, row-major; control characters are escaped. */
MUST_USE int table_print(const struct table_col *cols, size_t ncols, const char *const *cells,
			 size_t nrows, bool wide, bool headers, struct buf *out, struct err *err);
#endif
