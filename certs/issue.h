/* SPDX-License-Identifier: Apache-2.0 */
/* issue: a CA of our own, and server certificates from it. ECDSA P-256, SHA-256. */
#ifndef CERTS_ISSUE_H
#define CERTS_ISSUE_H
#include "base/buf.h"
#include "base/strs.h"

#define ISSUE_BACKDATE_S 3600 /* for clocks that are behind ours */

/* Appends a new CA and its key to cert and key, as PEM. Valid from an hour before now_s. */
MUST_USE int issue_ca(int64_t now_s, int64_t life_s, struct buf *cert, struct buf *key,
		      struct err *err);
/*
 * Appends a new server certificate for names (DNS names and IP addresses; at least one) and its
 * key. It never outlives its CA. FAIL_INPUT when the CA or its key does not parse.
 */
MUST_USE int issue_server(const struct strs *names, int64_t now_s, int64_t life_s,
			  const struct buf *ca_cert, const struct buf *ca_key, struct buf *cert,
			  struct buf *key, struct err *err);
#endif
