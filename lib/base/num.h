/* SPDX-License-Identifier: Apache-2.0 */
/* num: numbers from text; the whole text is the number, or it is an error. */
#ifndef BASE_NUM_H
#define BASE_NUM_H
#include "base/err.h"

/* Parses [-+]?[0-9]+ of exactly len bytes into *out when min <= value <= max; else -1, FAIL_INPUT.
 */
MUST_USE int num_parse(const char *text, size_t len, int64_t min, int64_t max, int64_t *out,
		       struct err *err);
/*
 * A duration of exactly len bytes in nanoseconds: Go's form ("1h30m", "1.5h",
 * "500ms", "-2s", "0"), and also "7d". FAIL_INPUT, also when it is past 292 years.
 */
MUST_USE int num_duration(const char *text, size_t len, int64_t *nanoseconds, struct err *err);
/* As above, in seconds rounded up, and a bare number is seconds: what people write in flags. */
MUST_USE int num_seconds(const char *text, size_t len, int64_t *seconds, struct err *err);
#endif
