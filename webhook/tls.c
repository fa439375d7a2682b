/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/tls.h"

#include <gnutls/x509.h>
#include <stdatomic.h>

#define CHAIN_MAX 8 /* certificates of one chain */

struct tls_pair {
	atomic_uint refs;
	gnutls_datum_t certs[CHAIN_MAX]; /* DER, gnutls memory */
	unsigned n;
	struct buf key; /* PEM */
	int64_t not_before_s, not_after_s;
};

static _Thread_local struct tls_store *thread_store;

static void pair_free(struct tls_pair *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < p->n; i++)
		gnutls_free(p->certs[i].data);
	buf_wipe(&p->key);
	free(p);
}

int tls_store_init(struct tls_store *s, struct err *err)
{
	*s = (struct tls_store){ 0 };
	return pthread_mutex_init(&s->lock, NULL) == 0 ? 0 : err_nomem(err);
}

void tls_store_release(struct tls_store *s)
{
	pair_free(s->pair);
	s->pair = NULL;
	pthread_mutex_destroy(&s->lock);
}

static int gnutls_fail(struct err *err, const char *what, int rc)
{
	return err_set(err, rc == GNUTLS_E_MEMORY_ERROR ? FAIL_NOMEM : FAIL_INPUT, "%s: %s", what,
		       gnutls_strerror(rc));
}

/* Imports the key, and fails when it is not the one of the leaf. */
static int check_key(const struct tls_pair *p, gnutls_x509_crt_t leaf, struct err *err)
{
	const gnutls_datum_t pem = { .data = (unsigned char *)p->key.data,
				     .size = (unsigned)p->key.len };
	unsigned char a[64], b[64];
	size_t an = sizeof(a), bn = sizeof(b);
	gnutls_x509_privkey_t key;
	int rc = gnutls_x509_privkey_init(&key);

	if (rc < 0)
		return gnutls_fail(err, "private key", rc);
	rc = gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (rc >= 0)
		rc = gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, a, &an);
	gnutls_x509_privkey_deinit(key);
	if (rc < 0)
		return gnutls_fail(err, "private key", rc);
	rc = gnutls_x509_crt_get_key_id(leaf, GNUTLS_KEYID_USE_SHA256, b, &bn);
	if (rc < 0)
		return gnutls_fail(err, "certificate", rc);
	if (an != bn || memcmp(a, b, an) != 0)
		return err_set(err, FAIL_INPUT,
			       "the private key is not the one of the certificate");
	return 0;
}

static int read_chain(struct tls_pair *p, const struct buf *cert_pem, struct err *err)
{
	const gnutls_datum_t pem = { .data = (unsigned char *)cert_pem->data,
				     .size = (unsigned)cert_pem->len };
	gnutls_x509_crt_t *list = NULL;
	unsigned n = 0;
	int rc = gnutls_x509_crt_list_import2(&list, &n, &pem, GNUTLS_X509_FMT_PEM,
					      GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

	if (rc < 0)
		return gnutls_fail(err, "certificate", rc);
	for (unsigned i = 0; i < n && i < CHAIN_MAX && rc >= 0; i++) {
		rc = gnutls_x509_crt_export2(list[i], GNUTLS_X509_FMT_DER, &p->certs[i]);
		if (rc >= 0)
			p->n = i + 1;
	}
	if (rc < 0)
		rc = gnutls_fail(err, "certificate", rc);
	else if (n > CHAIN_MAX)
		rc = err_set(err, FAIL_LIMIT, "the chain has more than %d certificates", CHAIN_MAX);
	else
		rc = check_key(p, list[0], err);
	if (rc == 0) {
		p->not_before_s = gnutls_x509_crt_get_activation_time(list[0]);
		p->not_after_s = gnutls_x509_crt_get_expiration_time(list[0]);
	}
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	return rc;
}

int tls_store_set(struct tls_store *s, const struct buf *cert_pem, const struct buf *key_pem,
		  struct err *err)
{
	struct tls_pair *p = calloc(1, sizeof(*p)), *old;

	if (!p)
		return err_nomem(err);
	atomic_init(&p->refs, 1);
	p->key = BUF_INIT(1 << 20);
	buf_add(&p->key, key_pem->data, key_pem->len);
	if (buf_check(&p->key, err) < 0 || read_chain(p, cert_pem, err) < 0) {
		pair_free(p);
		return -1;
	}
	pthread_mutex_lock(&s->lock);
	old = s->pair;
	s->pair = p;
	s->not_before_s = p->not_before_s;
	s->not_after_s = p->not_after_s;
	pthread_mutex_unlock(&s->lock);
	pair_free(old);
	return 0;
}

bool tls_store_valid(struct tls_store *s, int64_t now_s, int64_t *not_after_s)
{
	bool valid;

	pthread_mutex_lock(&s->lock);
	valid = s->pair && s->not_before_s <= now_s && now_s < s->not_after_s;
	if (not_after_s)
		*not_after_s = s->not_after_s;
	pthread_mutex_unlock(&s->lock);
	return valid;
}

void tls_thread_use(struct tls_store *s)
{
	thread_store = s;
}

/* Fresh copies, which gnutls frees by itself (DEINIT_ALL): a swap can not pull them away. */
static int hand_out(const struct tls_pair *p, gnutls_pcert_st **pcert, unsigned *n_pcert,
		    gnutls_privkey_t *key)
{
	const gnutls_datum_t pem = { .data = (unsigned char *)p->key.data,
				     .size = (unsigned)p->key.len };
	gnutls_pcert_st *list = gnutls_calloc(p->n, sizeof(*list));
	unsigned n = 0;

	if (!list)
		return -1;
	for (; n < p->n; n++)
		if (gnutls_pcert_import_x509_raw(&list[n], &p->certs[n], GNUTLS_X509_FMT_DER, 0) <
		    0)
			goto fail;
	if (gnutls_privkey_init(key) < 0)
		goto fail;
	if (gnutls_privkey_import_x509_raw(*key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0) < 0) {
		gnutls_privkey_deinit(*key);
		goto fail;
	}
	*pcert = list;
	*n_pcert = n;
	return 0;
fail:
	while (n-- > 0)
		gnutls_pcert_deinit(&list[n]);
	gnutls_free(list);
	return -1;
}

int tls_retrieve(gnutls_session_t session UNUSED, const struct gnutls_cert_retr_st *info UNUSED,
		 gnutls_pcert_st **pcert, unsigned int *n_pcert, gnutls_ocsp_data_st **ocsp,
		 unsigned int *n_ocsp, gnutls_privkey_t *key, unsigned int *flags)
{
	struct tls_store *s = thread_store;
	struct tls_pair *p = NULL;
	int rc;

	if (!s)
		return -1;
	pthread_mutex_lock(&s->lock);
	if (s->pair) {
		p = s->pair;
		atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	if (!p)
		return -1;
	rc = hand_out(p, pcert, n_pcert, key);
	pair_free(p);
	*ocsp = NULL;
	*n_ocsp = 0;
	*flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	return rc;
}
