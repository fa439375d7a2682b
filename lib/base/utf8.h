/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: which bytes make a character. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include "base/defs.h"

/*
 * Length (1 to 4) of the character that starts at s, n >= 1 bytes; 0 when the
 * bytes are no UTF-8 (overlong forms, surrogates and values past U+10FFFF are none).
 */
size_t utf8_len(const char *s, size_t n);
/*
 * Length of the run of bytes at the start of s (n bytes) that stand for themselves in a JSON
 * string: printable ASCII but for the quote and the backslash. Most text is one run.
 */
size_t utf8_plain(const char *s, size_t n);
/* True for C0, DEL and C1 control characters; s is a character of len bytes. */
bool utf8_is_control(const char *s, size_t len);
/* Appends code point cp (a scalar value) to out[4]; returns the bytes used. */
size_t utf8_put(uint32_t cp, char out[4]);
#endif
