/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/issue.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "certs/pem.h"

#define SERIAL_BYTES 16

static int set_serial(X509 *cert, struct err *err)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *n;
	int ok;

	if (clock_random(bytes, sizeof(bytes)) < 0)
		return err_set(err, FAIL_OS, "no random bytes");
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, and of full length */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
	BN_free(n);
	return ok ? 0 : pem_fail(err, "cannot set a serial number");
}

static int set_life(X509 *cert, int64_t from_s, int64_t to_s, struct err *err)
{
	if (ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)from_s) &&
	    ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)to_s))
		return 0;
	return pem_fail(err, "cannot set the life of a certificate");
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value, struct err *err)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
	return ok ? 0 : pem_fail(err, "cannot add an extension");
}

static int set_name(X509_NAME *name, const char *common, struct err *err)
{
	if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common, -1,
				       -1, 0))
		return 0;
	return pem_fail(err, "cannot set a subject");
}

static int begin(X509 **out, EVP_PKEY **key_out, const char *common, struct err *err)
{
	AUTO_X509 X509 *cert = X509_new();
	AUTO_PKEY EVP_PKEY *key = EVP_EC_gen("P-256");

	if (!cert || !key || !X509_set_version(cert, X509_VERSION_3) || !X509_set_pubkey(cert, key))
		return pem_fail(err, "cannot make a key");
	if (set_serial(cert, err) < 0 || set_name(X509_get_subject_name(cert), common, err) < 0)
		return -1;
	*out = TAKE(cert);
	*key_out = TAKE(key);
	return 0;
}

int issue_ca(int64_t now_s, int64_t life_s, struct buf *cert_pem, struct buf *key_pem,
	     struct err *err)
{
	AUTO_X509 X509 *cert = NULL;
	AUTO_PKEY EVP_PKEY *key = NULL;
	char common[64];

	/* Each CA has a name of its own, so that a chain is never built over the wrong one. */
	snprintf(common, sizeof(common), "etjob-webhook-ca@%" PRId64, now_s);
	if (begin(&cert, &key, common, err) < 0 ||
	    set_life(cert, now_s - ISSUE_BACKDATE_S, now_s + life_s, err) < 0)
		return -1;
	if (!X509_set_issuer_name(cert, X509_get_subject_name(cert)))
		return pem_fail(err, "cannot set an issuer");
	if (add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0", err) <
		    0 ||
	    add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign", err) < 0 ||
	    add_extension(cert, cert, NID_subject_key_identifier, "hash", err) < 0)
		return -1;
	if (!X509_sign(cert, key, EVP_sha256()))
		return pem_fail(err, "cannot sign the CA");
	if (pem_add_cert(cert_pem, cert, err) < 0)
		return -1;
	return pem_add_key(key_pem, key, err);
}

static int add_names(X509 *cert, X509 *ca, const struct strs *names, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(64 << 10);
	unsigned char address[16];

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->v[i];
		bool ip = inet_pton(AF_INET, name, address) == 1 ||
			  inet_pton(AF_INET6, name, address) == 1;

		/* OpenSSL reads commas and colons of this text as its own. */
		if (!ip && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789-.*")])
			return err_set(err, FAIL_INPUT, "\"%s\" is no DNS name or IP address",
				       name);
		buf_printf(&text, "%s%s:%s", i ? "," : "", ip ? "IP" : "DNS", name);
	}
	if (buf_check(&text, err) < 0)
		return -1;
	return add_extension(cert, ca, NID_subject_alt_name, buf_text(&text), err);
}

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int issue_server(const struct strs *names, int64_t now_s, int64_t life_s, const struct buf *ca_pem,
		 const struct buf *ca_key_pem, struct buf *cert_pem, struct buf *key_pem,
		 struct err *err)
{
	AUTO_X509 X509 *cert = NULL, *ca = pem_cert(ca_pem);
	AUTO_PKEY EVP_PKEY *key = NULL, *ca_key = pem_key(ca_key_pem);

	if (!ca || !ca_key || !X509_check_private_key(ca, ca_key))
		return err_set(err, FAIL_INPUT, "the CA and its key do not parse or do not match");
	if (!names->n)
		return err_set(err, FAIL_INPUT, "a server certificate needs a DNS name");
	/* The full name is in the SAN; a CN holds at most 64 bytes. */
	if (begin(&cert, &key, "etjob-webhook", err) < 0 ||
	    set_life(cert, now_s - ISSUE_BACKDATE_S, at_most(now_s + life_s, pem_not_after_s(ca)),
		     err) < 0)
		return -1;
	if (!X509_set_issuer_name(cert, X509_get_subject_name(ca)))
		return pem_fail(err, "cannot set an issuer");
	if (add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE", err) < 0 ||
	    add_extension(cert, ca, NID_key_usage, "critical,digitalSignature", err) < 0 ||
	    add_extension(cert, ca, NID_ext_key_usage, "serverAuth", err) < 0 ||
	    add_extension(cert, ca, NID_subject_key_identifier, "hash", err) < 0 ||
	    add_extension(cert, ca, NID_authority_key_identifier, "keyid", err) < 0 ||
	    add_names(cert, ca, names, err) < 0)
		return -1;
	if (!X509_sign(cert, ca_key, EVP_sha256()))
		return pem_fail(err, "cannot sign the certificate");
	if (pem_add_cert(cert_pem, cert, err) < 0)
		return -1;
	return pem_add_key(key_pem, key, err);
}
