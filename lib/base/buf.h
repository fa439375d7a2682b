/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf: a growing byte string with a hard cap, always NUL-terminated.
 * The first failure (cap or memory) latches: later appends do nothing and
 * buf_finish() or buf_check() reports it. One owner at a time; not thread-safe.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include "base/err.h"

struct buf {
	char *data;     /* owned; NULL before the first append */
	size_t len;     /* bytes used, without the NUL */
	size_t size;    /* bytes allocated */
	size_t cap;     /* most bytes allowed, without the NUL */
	enum fail fail; /* FAIL_NONE, FAIL_LIMIT or FAIL_NOMEM */
};
#define BUF_INIT(max) ((struct buf){ .cap = (max) })

/* Frees the contents, not b: b is empty and usable again, with the same cap. */
void buf_release(struct buf *b);
/* As buf_release, but overwrites the bytes first: for secrets. */
void buf_wipe(struct buf *b);
/* Empties b and keeps its memory; a latched failure is cleared. */
void buf_clear(struct buf *b);
/* Appends n bytes of src, which may hold NULs and must not point into b. */
void buf_add(struct buf *b, const void *src, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
PRINTF(2, 3) void buf_printf(struct buf *b, const char *fmt, ...);
PRINTF(2, 0) void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
/* Appends s (n bytes of valid UTF-8) as a quoted, escaped JSON string. */
void buf_json(struct buf *b, const char *s, size_t n);
/* Appends s with control characters (also C1 and ESC) shown as \xNN: safe on a terminal. */
void buf_visible(struct buf *b, const char *s, size_t n);
/* The text so far, never NULL; borrowed, valid until the next change of b. */
const char *buf_text(const struct buf *b);
/* Cuts to n bytes (n <= len). */
void buf_cut(struct buf *b, size_t n);
/* Removes the first n bytes (n <= len). */
void buf_drop(struct buf *b, size_t n);
/* Makes room for n more bytes at once; a failure latches. */
void buf_reserve(struct buf *b, size_t n);
/* 0, or -1 with err FAIL_LIMIT or FAIL_NOMEM when a failure latched. */
MUST_USE int buf_check(const struct buf *b, struct err *err);
/*
 * Moves the text to *out; the caller free()s it; b is empty again.
 * Returns 0, or -1 with err FAIL_LIMIT or FAIL_NOMEM and *out untouched.
 */
MUST_USE int buf_finish(struct buf *b, char **out, struct err *err);
#endif
