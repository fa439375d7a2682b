/* SPDX-License-Identifier: Apache-2.0 */
/* num: whole decimal numbers from text; the whole text is the number, or it is an error. */
#ifndef BASE_NUM_H
#define BASE_NUM_H
#include "base/err.h"

/* Parses [-+]?[0-9]+ of exactly len bytes into *out when min <= value <= max; else -1, FAIL_INPUT.
 */
MUST_USE int num_parse(const char *text, size_t len, int64_t min, int64_t max, int64_t *out,
		       struct err *err);
#endif
