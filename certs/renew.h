/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew: decides what has to become of the certificates. Pure but for new keys:
 * time and what is published come in as arguments.
 *
 * A CA rolls over in steps, none of which breaks a call:
 *   1. the new CA is added in front of the bundle; the old one still serves;
 *   2. when the API server has had the bundle for settle_s, the new CA signs;
 *   3. keep_s after that every replica serves the new certificate, and the old CA leaves.
 */
#ifndef CERTS_RENEW_H
#define CERTS_RENEW_H
#include "base/buf.h"
#include "base/strs.h"

/* What the Secret holds; all PEM, empty when missing. */
struct renew_state {
	struct buf ca;     /* the bundle, newest CA first */
	struct buf ca_key; /* of the newest CA */
	struct buf cert;   /* the serving certificate */
	struct buf key;    /* its key */
};
#define RENEW_BYTES (256u << 10) /* PEM_BYTES */
#define RENEW_STATE_INIT                                                     \
	((struct renew_state){ BUF_INIT(RENEW_BYTES), BUF_INIT(RENEW_BYTES), \
			       BUF_INIT(RENEW_BYTES), BUF_INIT(RENEW_BYTES) })
/* Wipes the keys. */
void renew_state_release(struct renew_state *s);
MUST_USE int renew_state_copy(const struct renew_state *from, struct renew_state *to,
			      struct err *err);

struct renew_policy {
	const struct strs *names; /* that the serving certificate must be good for */
	int64_t now_s;            /* Unix */
	int64_t ca_life_s, cert_life_s;
	int64_t settle_s, keep_s;
	bool force_ca;  /* a new CA in any case */
	bool published; /* the newest CA is in both webhook configurations now */
};

enum renew_change {
	RENEW_CA = 1,    /* a new CA was added */
	RENEW_CERT = 2,  /* a new serving certificate */
	RENEW_PRUNE = 4, /* an old CA left the bundle, or rubbish did */
};
/*
 * Changes *s to what it should be and sets *changed to a set of enum
 * renew_change, 0 when all is well. On failure s is as it was.
 */
MUST_USE int renew_plan(struct renew_state *s, const struct renew_policy *p, unsigned *changed,
			struct err *err);
/* Whether s can serve at now_s: key and certificate fit, and a CA of the bundle signed it. */
bool renew_usable(const struct renew_state *s, int64_t now_s);
/* Ends, Unix seconds, 0 when there is none. */
int64_t renew_ca_not_after_s(const struct renew_state *s);
#endif
