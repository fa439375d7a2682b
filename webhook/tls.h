/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: the serving certificate, swapped while connections are open. Each
 * handshake takes the newest; sessions that run keep what they began with.
 */
#ifndef WEBHOOK_TLS_H
#define WEBHOOK_TLS_H
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <pthread.h>

#include "base/buf.h"

struct tls_pair; /* an immutable certificate chain and its key */
struct tls_store {
	pthread_mutex_t lock;
	struct tls_pair *pair;             /* owned; NULL: none yet, handshakes fail */
	int64_t not_before_s, not_after_s; /* Unix seconds of the leaf; 0 without one */
};

MUST_USE int tls_store_init(struct tls_store *s, struct err *err);
/* Wipes the key. */
void tls_store_release(struct tls_store *s);
/*
 * Puts a chain (leaf first) and its private key, both PEM, in place. FAIL_INPUT
 * when one does not parse or they do not belong together; what was there stays.
 */
MUST_USE int tls_store_set(struct tls_store *s, const struct buf *cert_pem,
			   const struct buf *key_pem, struct err *err);
/* Whether there is a certificate that is valid at now_s; not_after_s may be NULL. */
bool tls_store_valid(struct tls_store *s, int64_t now_s, int64_t *not_after_s);

/* The store that handshakes of the calling thread use (gnutls hands its callback no argument). */
void tls_thread_use(struct tls_store *s);
/* gnutls_certificate_retrieve_function3 over the thread's store. */
int tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
		 gnutls_pcert_st **pcert, unsigned int *n_pcert, gnutls_ocsp_data_st **ocsp,
		 unsigned int *n_ocsp, gnutls_privkey_t *key, unsigned int *flags);
/*
 * TLS 1.2 and 1.3. AES-128 first, as API servers ask for anyway: with SHA-256 a handshake takes a
 * fifth less than with AES-256 and SHA-384.
 */
#define TLS_PRIORITY                                                          \
	"SECURE128:-CIPHER-ALL:+AES-128-GCM:+CHACHA20-POLY1305:+AES-256-GCM:" \
	"-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"
#endif
