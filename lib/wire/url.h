/* SPDX-License-Identifier: Apache-2.0 */
/* url: path segments and query values. */
#ifndef WIRE_URL_H
#define WIRE_URL_H
#include "base/buf.h"

/*
 * Appends "/" and one path segment. FAIL_INPUT for "", ".", ".." and text with
 * "/" or "%", as client-go; the rest is percent-encoded.
 */
MUST_USE int url_segment(struct buf *url, const char *text, struct err *err);
/* Appends "?" or "&", key, "=", the percent-encoded value. */
void url_query(struct buf *url, const char *key, const char *value);
void url_encode(struct buf *out, const char *text);

struct url {
	char *scheme, *host, *port, *path; /* owned; port "" when absent, path "" or "/..." */
};
void url_release(struct url *u);
/* Splits http(s)://host[:port][/path]; IPv6 hosts without brackets in u->host. FAIL_INPUT. */
MUST_USE int url_split(const char *text, struct url *out, struct err *err);
#endif
