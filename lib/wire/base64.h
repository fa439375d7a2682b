/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64: RFC 4648, standard alphabet. By hand, since OpenSSL's decoder skips
 * spaces, stops at a minus and gives padded lengths.
 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H
#include "base/buf.h"

/* Appends the encoding with padding, without newlines. */
void base64_encode(struct buf *out, const void *data, size_t n);
/* Appends the decoding; \r and \n are ignored as in Go, all else must be right. FAIL_INPUT. */
MUST_USE int base64_decode(const char *text, size_t n, struct buf *out, struct err *err);
#endif
