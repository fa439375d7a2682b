/* SPDX-License-Identifier: Apache-2.0 */
/* strs: a growing list of owned strings. */
#ifndef BASE_STRS_H
#define BASE_STRS_H
#include "base/err.h"

struct strs {
	char **v; /* owned array of owned strings, not NULL-terminated */
	size_t n;
	size_t size;
};
#define STRS_INIT ((struct strs){ 0 })

void strs_release(struct strs *s);
MUST_USE int strs_add(struct strs *s, const char *text, struct err *err);
MUST_USE int strs_addn(struct strs *s, const char *text, size_t len, struct err *err);
bool strs_has(const struct strs *s, const char *text);
/* Splits text at each sep; empty parts are kept only with keep_empty. */
MUST_USE int strs_split(struct strs *s, const char *text, char sep, bool keep_empty,
			struct err *err);
void strs_sort(struct strs *s);
/* A heap copy of a NUL-terminated string; the caller free()s it. */
MUST_USE int str_copy(const char *text, char **out, struct err *err);
#endif
