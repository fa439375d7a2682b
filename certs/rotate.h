/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate: self-managed certificates: the state lies in a Secret that all
 * replicas share, the CA bundle goes into both webhook configurations. Runs in
 * the loop's thread. What a replica holds in memory survives an API server that is
 * away, and a Secret that was deleted or filled with rubbish: then the CA rolls over.
 */
#ifndef CERTS_ROTATE_H
#define CERTS_ROTATE_H
#include "base/log.h"
#include "base/strs.h"
#include "kube/client.h"

#define ROTATE_CHECK_MS 10000 /* between two looks; three small reads */
#define ROTATE_RETRY_MS 2000  /* after a failure, doubled up to ROTATE_CHECK_MS */

struct rotate_opts {
	const struct clock *clock;
	const struct log *log;
	const char *ns, *secret; /* of the Secret */
	const char *config;      /* name of both webhook configurations */
	const struct strs *names;
	int64_t ca_life_s, cert_life_s;
	int64_t settle_s, keep_s; /* as in struct renew_policy */
	/* Puts a certificate and its key in place; called with each one that is new. */
	int (*install)(void *arg, const struct buf *cert, const struct buf *key, struct err *err);
	/* After each look: failed or not, and the end of the CA (Unix seconds, 0: none). */
	void (*on_look)(void *arg, bool failed, int64_t ca_not_after_s);
	void *arg;
};

struct rotate;
/* All of opts is borrowed until rotate_free. */
MUST_USE int rotate_new(struct kube *k, const struct rotate_opts *opts, struct rotate **out,
			struct err *err);
/* Wipes the keys. NULL is fine. */
void rotate_free(struct rotate *r);
/* Monotonic milliseconds of the next look; it is now when somebody touched a configuration. */
int64_t rotate_due_ms(const struct rotate *r);
/* Looks, and does what is due; turns the loop meanwhile. Failures are logged and tried again. */
void rotate_look(struct rotate *r);
#endif
