/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

int pem_fail(struct err *err, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_error());

	ERR_clear_error();
	return err_set(err, FAIL_INPUT, "%s: %s", what, why ? why : "OpenSSL gives no reason");
}

static BIO *bio_over(const struct buf *text)
{
	if (!text->len || text->len > PEM_BYTES)
		return NULL;
	return BIO_new_mem_buf(text->data, (int)text->len);
}

static int no_passphrase(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *arg UNUSED)
{
	return -1; /* a server has nobody to ask */
}

void pem_certs_release(struct pem_certs *c)
{
	while (c->n > 0)
		X509_free(c->v[--c->n]);
}

void pem_certs_read(const struct buf *text, struct pem_certs *out)
{
	BIO *bio = bio_over(text);
	X509 *cert;

	*out = (struct pem_certs){ 0 };
	while (bio && out->n < PEM_CERTS_MAX) {
		cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
		if (cert)
			out->v[out->n++] = cert;
		else if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
			break;
		ERR_clear_error();
	}
	ERR_clear_error();
	BIO_free(bio);
}

X509 *pem_cert(const struct buf *text)
{
	BIO *bio = bio_over(text);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;

	ERR_clear_error();
	BIO_free(bio);
	return cert;
}

EVP_PKEY *pem_key(const struct buf *text)
{
	BIO *bio = bio_over(text);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;

	ERR_clear_error();
	BIO_free(bio);
	return key;
}

static int add_bio(struct buf *out, BIO *bio, struct err *err)
{
	char *data;
	long n = BIO_get_mem_data(bio, &data);

	buf_add(out, data, n > 0 ? (size_t)n : 0);
	return buf_check(out, err);
}

int pem_add_cert(struct buf *out, X509 *cert, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int rc;

	if (bio && PEM_write_bio_X509(bio, cert))
		rc = add_bio(out, bio, err);
	else
		rc = pem_fail(err, "cannot write a certificate");
	BIO_free(bio);
	return rc;
}

int pem_add_key(struct buf *out, EVP_PKEY *key, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_secmem()); /* wiped when it is freed */
	int rc;

	if (bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL))
		rc = add_bio(out, bio, err);
	else
		rc = pem_fail(err, "cannot write a private key");
	BIO_free(bio);
	return rc;
}

static int64_t seconds(const ASN1_TIME *t)
{
	struct tm tm = { 0 };

	return t && ASN1_TIME_to_tm(t, &tm) ? (int64_t)timegm(&tm) : 0;
}

int64_t pem_not_before_s(const X509 *cert)
{
	return seconds(X509_get0_notBefore(cert));
}

int64_t pem_not_after_s(const X509 *cert)
{
	return seconds(X509_get0_notAfter(cert));
}

bool pem_covers(X509 *cert, const struct strs *names)
{
	unsigned char address[16];

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->v[i];
		bool ip = inet_pton(AF_INET, name, address) == 1 ||
			  inet_pton(AF_INET6, name, address) == 1;

		if (ip ? X509_check_ip_asc(cert, name, 0) != 1
		       : X509_check_host(cert, name, 0, 0, NULL) != 1)
			return false;
	}
	return true;
}

bool pem_signed_by(X509 *cert, X509 *ca)
{
	EVP_PKEY *key = X509_get0_pubkey(ca);
	bool ok = key &&
		  X509_NAME_cmp(X509_get_issuer_name(cert), X509_get_subject_name(ca)) == 0 &&
		  X509_verify(cert, key) == 1;

	ERR_clear_error();
	return ok;
}
