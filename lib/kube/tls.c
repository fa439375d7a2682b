/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/limits.h"
#include "wire/time.h"

static void free_bio(BIO **b)
{
	BIO_free(*b);
}

static void free_x509(X509 **x)
{
	X509_free(*x);
}

static void free_pkey(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

/* An encrypted key has no passphrase here: never ask the terminal for one. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

static BIO *bio_of(const struct buf *b)
{
	return BIO_new_mem_buf(b->data ? b->data : "", (int)b->len);
}

int tls_check_ca(const struct buf *ca_pem, struct err *err)
{
	__attribute__((cleanup(free_bio))) BIO *bio = bio_of(ca_pem);
	__attribute__((cleanup(free_x509))) X509 *x = NULL;

	if (!bio)
		return err_nomem(err);
	x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
	ERR_clear_error();
	if (!x)
		return err_set(err, FAIL_CONFIG,
			       "unable to load root certificates: unable to parse bytes as PEM "
			       "block");
	return 0;
}

int tls_check_pair(const struct buf *cert_pem, const struct buf *key_pem, struct err *err)
{
	__attribute__((cleanup(free_bio))) BIO *cert_bio = bio_of(cert_pem);
	__attribute__((cleanup(free_bio))) BIO *key_bio = bio_of(key_pem);
	__attribute__((cleanup(free_x509))) X509 *x = NULL;
	__attribute__((cleanup(free_pkey))) EVP_PKEY *key = NULL;
	int match;

	if (!cert_bio || !key_bio)
		return err_nomem(err);
	x = PEM_read_bio_X509(cert_bio, NULL, no_passphrase, NULL);
	key = PEM_read_bio_PrivateKey(key_bio, NULL, no_passphrase, NULL);
	match = x && key && X509_check_private_key(x, key) == 1;
	ERR_clear_error();
	if (!x)
		return err_set(err, FAIL_CONFIG,
			       "tls: failed to find any PEM data in certificate input");
	if (!key)
		return err_set(err, FAIL_CONFIG, "tls: failed to find any PEM data in key input");
	if (!match)
		return err_set(err, FAIL_CONFIG, "tls: private key does not match public key");
	return 0;
}

/* --- Go's words ----------------------------------------------------------- */

static bool is_ip(const char *host)
{
	unsigned char addr[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1;
}

/* Appends the certificate's names of one kind, ", " between; returns how many. */
static size_t list_names(X509 *x, int kind, struct buf *out)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	size_t n = 0;

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		const ASN1_STRING *text = name->type == kind ? name->d.ia5 : NULL;
		char addr[INET6_ADDRSTRLEN] = "";
		const unsigned char *data;
		int len;

		if (!text)
			continue;
		data = ASN1_STRING_get0_data(text);
		len = ASN1_STRING_length(text);
		if (kind == GEN_IPADD) {
			if (!inet_ntop(len == 4 ? AF_INET : AF_INET6, data, addr, sizeof(addr)))
				continue;
			data = (const unsigned char *)addr;
			len = (int)strlen(addr);
		}
		buf_str(out, n++ ? ", " : "");
		buf_add(out, data, (size_t)len);
	}
	GENERAL_NAMES_free(names);
	return n;
}

static void say_names(struct tls_state *s, X509 *x)
{
	AUTO(buf) struct buf names = BUF_INIT(sizeof(s->problem) - 128);
	bool ip = is_ip(s->host);
	size_t n = list_names(x, ip ? GEN_IPADD : GEN_DNS, &names);

	if (n == 0 && ip)
		(void)snprintf(s->problem, sizeof(s->problem),
			       "x509: cannot validate certificate for %s because it doesn't "
			       "contain any IP SANs",
			       s->host);
	else if (n == 0)
		(void)snprintf(s->problem, sizeof(s->problem),
			       "x509: certificate is not valid for any names, but wanted to match "
			       "%s",
			       s->host);
	else
		(void)snprintf(s->problem, sizeof(s->problem),
			       "x509: certificate is valid for %s, not %s", buf_text(&names),
			       s->host);
}

static void asn1_time_text(const ASN1_TIME *t, char out[TIME_TEXT_SIZE])
{
	struct tm tm = { 0 };

	if (t && ASN1_TIME_to_tm(t, &tm) == 1)
		time_format((int64_t)timegm(&tm) * 1000, out);
	else
		(void)snprintf(out, TIME_TEXT_SIZE, "?");
}

static void say_time(struct tls_state *s, X509 *x, bool after)
{
	char now[TIME_TEXT_SIZE], limit[TIME_TEXT_SIZE];

	time_format((int64_t)time(NULL) * 1000, now);
	asn1_time_text(after ? X509_get0_notAfter(x) : X509_get0_notBefore(x), limit);
	(void)snprintf(
		s->problem, sizeof(s->problem),
		"x509: certificate has expired or is not yet valid: current time %s is %s %s", now,
		after ? "after" : "before", limit);
}

static void say_chain(struct tls_state *s, int code, X509 *x)
{
	switch (code) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		if (x) {
			say_time(s, x, code == X509_V_ERR_CERT_HAS_EXPIRED);
			return;
		}
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
	case X509_V_ERR_CERT_UNTRUSTED:
		(void)snprintf(s->problem, sizeof(s->problem),
			       "x509: certificate signed by unknown authority");
		return;
	case X509_V_ERR_INVALID_PURPOSE:
		(void)snprintf(s->problem, sizeof(s->problem),
			       "x509: certificate specifies an incompatible key usage");
		return;
	default:
		break;
	}
	(void)snprintf(s->problem, sizeof(s->problem), "x509: %s",
		       X509_verify_cert_error_string(code));
}

/*
 * Stands in for OpenSSL's own verification only to note why it fails: curl
 * keeps a text of its own that names neither the certificate's names nor its
 * times. The names are compared here as well as in curl, for the words.
 */
static int verify(X509_STORE_CTX *ctx, void *arg)
{
	struct tls_state *s = arg;
	int ok = X509_verify_cert(ctx);
	X509 *leaf = X509_STORE_CTX_get0_cert(ctx);

	s->problem[0] = '\0';
	if (ok != 1)
		say_chain(s, X509_STORE_CTX_get_error(ctx), X509_STORE_CTX_get_current_cert(ctx));
	else if (leaf && (is_ip(s->host) ? X509_check_ip_asc(leaf, s->host, 0)
					 : X509_check_host(leaf, s->host, 0, 0, NULL)) != 1)
		say_names(s, leaf);
	return ok;
}

static CURLcode on_ssl_ctx(CURL *easy, void *ssl_ctx, void *arg)
{
	SSL_CTX *ctx = ssl_ctx;
	X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);

	(void)easy;
	/* A leaf or an intermediate certificate as CA is enough, as in Go. */
	(void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
	SSL_CTX_set_cert_verify_callback(ctx, verify, arg);
	return CURLE_OK;
}

static CURLcode set_blob(CURL *easy, CURLoption option, const struct buf *b)
{
	struct curl_blob blob = { .data = b->data, .len = b->len, .flags = CURL_BLOB_COPY };

	return curl_easy_setopt(easy, option, &blob);
}

int tls_setup(CURL *easy, bool insecure, const struct buf *ca_pem, const struct buf *cert_pem,
	      const struct buf *key_pem, struct tls_state *state, struct err *err)
{
	CURLcode rc = curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

	if (rc == CURLE_OK && insecure) {
		rc = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		if (rc == CURLE_OK)
			rc = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	} else if (rc == CURLE_OK) {
		if (ca_pem->len)
			rc = set_blob(easy, CURLOPT_CAINFO_BLOB, ca_pem);
		if (rc == CURLE_OK)
			rc = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
		if (rc == CURLE_OK)
			rc = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, (void *)state);
	}
	if (rc == CURLE_OK && cert_pem->len) {
		rc = set_blob(easy, CURLOPT_SSLCERT_BLOB, cert_pem);
		if (rc == CURLE_OK)
			rc = set_blob(easy, CURLOPT_SSLKEY_BLOB, key_pem);
	}
	if (rc != CURLE_OK)
		return err_set(err, FAIL_CONFIG, "cannot set up TLS: %s", curl_easy_strerror(rc));
	return 0;
}
