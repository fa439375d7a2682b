/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: how curl's OpenSSL is set up for the API server, and what went wrong in
 * a handshake, in the words that Go's tools use. Keys and certificates are
 * handed over in memory only.
 */
#ifndef KUBE_TLS_H
#define KUBE_TLS_H
#include <curl/curl.h>

#include "base/buf.h"

/* What the last handshake's verification said; lives as long as the transfers. */
struct tls_state {
	char host[256];    /* the name or address that the certificate must hold */
	char problem[512]; /* "" when the chain was fine */
};

/* Pairs a certificate chain with its key. FAIL_CONFIG as Go says it. */
MUST_USE int tls_check_pair(const struct buf *cert_pem, const struct buf *key_pem, struct err *err);
/* That the PEM text holds a certificate. FAIL_CONFIG. */
MUST_USE int tls_check_ca(const struct buf *ca_pem, struct err *err);
/*
 * Options of one transfer. The buffers are copied; empty ones are not used. state gets
 * the verification's result and must outlive the transfer.
 */
MUST_USE int tls_setup(CURL *easy, bool insecure, const struct buf *ca_pem,
		       const struct buf *cert_pem, const struct buf *key_pem,
		       struct tls_state *state, struct err *err);
#endif
