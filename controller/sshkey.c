/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/sshkey.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "wire/base64.h"

#define KEY_TYPE "ecdsa-sha2-nistp256"
#define CURVE "nistp256"
#define POINT_BYTES 65 /* 0x04, x, y */

/* A string of the SSH wire format: length, bytes. */
static void wire_add(struct buf *out, const void *data, size_t n)
{
	unsigned char head[4] = { (unsigned char)(n >> 24), (unsigned char)(n >> 16),
				  (unsigned char)(n >> 8), (unsigned char)n };

	buf_add(out, head, sizeof(head));
	buf_add(out, data, n);
}

static int public_text(EVP_PKEY *key, struct buf *out, struct err *err)
{
	AUTO(buf) struct buf wire = BUF_INIT(1024);
	unsigned char point[POINT_BYTES];
	size_t n = 0;

	if (EVP_PKEY_get_octet_string_param(key, "pub", point, sizeof(point), &n) != 1 ||
	    n != sizeof(point) || point[0] != 0x04)
		return err_set(err, FAIL_STATE, "OpenSSL gives no public key");
	wire_add(&wire, KEY_TYPE, strlen(KEY_TYPE));
	wire_add(&wire, CURVE, strlen(CURVE));
	wire_add(&wire, point, n);
	if (buf_check(&wire, err) < 0)
		return -1;
	buf_str(out, KEY_TYPE " ");
	base64_encode(out, wire.data, wire.len);
	buf_str(out, " etjob\n");
	return buf_check(out, err);
}

static int private_text(EVP_PKEY *key, struct buf *out, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	long n;
	int rc;

	if (!bio)
		return err_nomem(err);
	if (PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
		BIO_free(bio);
		return err_set(err, FAIL_STATE, "OpenSSL can not write the private key");
	}
	n = BIO_get_mem_data(bio, &text);
	/* In one piece, so that no half of it stays behind in memory that was moved. */
	buf_reserve(out, n > 0 ? (size_t)n : 0);
	buf_add(out, text, n > 0 ? (size_t)n : 0);
	rc = buf_check(out, err);
	BIO_free(bio);
	return rc;
}

int sshkey_make(struct buf *private_pem, struct buf *public_line, struct err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	int rc;

	if (!key)
		return err_set(err, FAIL_STATE, "OpenSSL can not make a P-256 key");
	rc = public_text(key, public_line, err) < 0 ? -1 : private_text(key, private_pem, err);
	EVP_PKEY_free(key);
	return rc;
}
