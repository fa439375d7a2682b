/* SPDX-License-Identifier: Apache-2.0 */
/* pem: certificates and keys read from PEM, and what they say. OpenSSL behind a narrow door. */
#ifndef CERTS_PEM_H
#define CERTS_PEM_H
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/buf.h"
#include "base/strs.h"

#define PEM_CERTS_MAX 16       /* certificates of one bundle */
#define PEM_BYTES (256u << 10) /* of a bundle or a key */

struct pem_certs {
	X509 *v[PEM_CERTS_MAX]; /* owned */
	size_t n;
};
void pem_certs_release(struct pem_certs *c);
/* Reads what parses and leaves the rest out: a bundle with one broken part is better than none. */
void pem_certs_read(const struct buf *text, struct pem_certs *out);
/* The first certificate, or NULL; the caller X509_free()s it. */
X509 *pem_cert(const struct buf *text);
/* The private key, or NULL; the caller EVP_PKEY_free()s it. Never asks for a passphrase. */
EVP_PKEY *pem_key(const struct buf *text);
MUST_USE int pem_add_cert(struct buf *out, X509 *cert, struct err *err);
/* PKCS#8, not encrypted. */
MUST_USE int pem_add_key(struct buf *out, EVP_PKEY *key, struct err *err);

int64_t pem_not_before_s(const X509 *cert); /* Unix seconds */
int64_t pem_not_after_s(const X509 *cert);
/* Whether the certificate is good for every one of names (DNS names and IP addresses). */
bool pem_covers(X509 *cert, const struct strs *names);
/* Whether ca's key signed cert. */
bool pem_signed_by(X509 *cert, X509 *ca);

static inline void pem_x509_free(X509 **p)
{
	X509_free(*p);
}
static inline void pem_pkey_free(EVP_PKEY **p)
{
	EVP_PKEY_free(*p);
}
#define AUTO_X509 __attribute__((cleanup(pem_x509_free)))
#define AUTO_PKEY __attribute__((cleanup(pem_pkey_free)))
/* FAIL_INPUT with OpenSSL's own first reason. Returns -1. */
int pem_fail(struct err *err, const char *what);
#endif
