/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/renew.h"

#include "certs/issue.h"
#include "certs/pem.h"

void renew_state_release(struct renew_state *s)
{
	buf_release(&s->ca);
	buf_wipe(&s->ca_key);
	buf_release(&s->cert);
	buf_wipe(&s->key);
}

int renew_state_copy(const struct renew_state *from, struct renew_state *to, struct err *err)
{
	AUTO(renew_state) struct renew_state s = RENEW_STATE_INIT;

	buf_add(&s.ca, buf_text(&from->ca), from->ca.len);
	buf_add(&s.ca_key, buf_text(&from->ca_key), from->ca_key.len);
	buf_add(&s.cert, buf_text(&from->cert), from->cert.len);
	buf_add(&s.key, buf_text(&from->key), from->key.len);
	if (buf_check(&s.ca, err) < 0 || buf_check(&s.ca_key, err) < 0 ||
	    buf_check(&s.cert, err) < 0 || buf_check(&s.key, err) < 0)
		return -1;
	renew_state_release(to);
	*to = s;
	s = RENEW_STATE_INIT;
	return 0;
}

static bool valid_at(const X509 *cert, int64_t now_s)
{
	return pem_not_before_s(cert) <= now_s && now_s < pem_not_after_s(cert);
}

/* Over two thirds of its life, or not begun (our clock went back). */
static bool due(const X509 *cert, int64_t now_s)
{
	int64_t from = pem_not_before_s(cert), to = pem_not_after_s(cert);

	return now_s < from || now_s >= from + (to - from) / 3 * 2;
}

/* Seconds since it was made. */
static int64_t age(const X509 *cert, int64_t now_s)
{
	return now_s - (pem_not_before_s(cert) + ISSUE_BACKDATE_S);
}

/* The CA of the bundle that signed the certificate and is valid, or -1. */
static ptrdiff_t issuer_of(X509 *cert, const struct pem_certs *cas, int64_t now_s)
{
	for (size_t i = 0; i < cas->n; i++)
		if (valid_at(cas->v[i], now_s) && pem_signed_by(cert, cas->v[i]))
			return (ptrdiff_t)i;
	return -1;
}

/* The serving certificate with a fitting key, or NULL; the caller frees it. */
static X509 *serving(const struct renew_state *s)
{
	AUTO_X509 X509 *cert = pem_cert(&s->cert);
	AUTO_PKEY EVP_PKEY *key = pem_key(&s->key);

	if (!cert || !key || !X509_check_private_key(cert, key))
		return NULL;
	return TAKE(cert);
}

bool renew_usable(const struct renew_state *s, int64_t now_s)
{
	AUTO_X509 X509 *cert = serving(s);
	AUTO(pem_certs) struct pem_certs cas;

	pem_certs_read(&s->ca, &cas);
	return cert && valid_at(cert, now_s) && issuer_of(cert, &cas, now_s) >= 0;
}

int64_t renew_ca_not_after_s(const struct renew_state *s)
{
	AUTO_X509 X509 *ca = pem_cert(&s->ca);

	return ca ? pem_not_after_s(ca) : 0;
}

/* Whether the newest CA can sign for a while yet. */
static bool ca_good(const struct renew_state *s, const struct pem_certs *cas, int64_t now_s)
{
	AUTO_PKEY EVP_PKEY *key = pem_key(&s->ca_key);

	return cas->n && key && X509_check_private_key(cas->v[0], key) && !due(cas->v[0], now_s);
}

/* Writes the CAs of the bundle that are still good, n at most, behind what is in out. */
static int keep_cas(const struct pem_certs *cas, size_t n, int64_t now_s, struct buf *out,
		    struct err *err)
{
	for (size_t i = 0; i < cas->n && i < n; i++)
		if (valid_at(cas->v[i], now_s) && pem_add_cert(out, cas->v[i], err) < 0)
			return -1;
	return 0;
}

static int new_ca(struct renew_state *s, const struct renew_policy *p, const struct pem_certs *cas,
		  struct err *err)
{
	buf_clear(&s->ca);
	buf_wipe(&s->ca_key);
	if (issue_ca(p->now_s, p->ca_life_s, &s->ca, &s->ca_key, err) < 0)
		return -1;
	return keep_cas(cas, PEM_CERTS_MAX - 1, p->now_s, &s->ca, err);
}

static int new_cert(struct renew_state *s, const struct renew_policy *p, struct err *err)
{
	buf_clear(&s->cert);
	buf_wipe(&s->key);
	return issue_server(p->names, p->now_s, p->cert_life_s, &s->ca, &s->ca_key, &s->cert,
			    &s->key, err);
}

/* Whether a new serving certificate is needed; cas is the bundle as it is now. */
static bool cert_needed(const struct renew_state *s, const struct renew_policy *p,
			const struct pem_certs *cas, bool has_issuer, bool newest)
{
	AUTO_X509 X509 *cert = serving(s);
	/* The API server knows the newest CA, so what it signs is trusted. */
	bool settled = p->published && cas->n && age(cas->v[0], p->now_s) >= p->settle_s;

	if (!cert || !has_issuer || !valid_at(cert, p->now_s) || !pem_covers(cert, p->names))
		return true; /* nothing to lose */
	if (!newest)
		return settled;
	return due(cert, p->now_s);
}

static int prune(struct renew_state *s, const struct renew_policy *p, const struct pem_certs *cas,
		 size_t keep, unsigned *changed, struct err *err)
{
	AUTO(buf) struct buf bundle = BUF_INIT(RENEW_BYTES);

	if (keep_cas(cas, keep, p->now_s, &bundle, err) < 0)
		return -1;
	if (bundle.len == s->ca.len && memcmp(buf_text(&bundle), buf_text(&s->ca), bundle.len) == 0)
		return 0;
	buf_clear(&s->ca);
	buf_add(&s->ca, buf_text(&bundle), bundle.len);
	*changed |= RENEW_PRUNE;
	return buf_check(&s->ca, err);
}

static int plan(struct renew_state *s, const struct renew_policy *p, unsigned *changed,
		struct err *err)
{
	AUTO(pem_certs) struct pem_certs old, cas;
	AUTO_X509 X509 *cert = serving(s);
	ptrdiff_t issuer;
	bool done;

	pem_certs_read(&s->ca, &old);
	cas = (struct pem_certs){ 0 };
	if (p->force_ca || !ca_good(s, &old, p->now_s)) {
		if (new_ca(s, p, &old, err) < 0)
			return -1;
		*changed |= RENEW_CA;
	}
	pem_certs_read(&s->ca, &cas);
	issuer = cert ? issuer_of(cert, &cas, p->now_s) : -1;
	if (cert_needed(s, p, &cas, issuer >= 0, issuer == 0)) {
		if (new_cert(s, p, err) < 0)
			return -1;
		*changed |= RENEW_CERT;
		return 0;
	}
	/* All replicas serve what the newest CA signed: the older ones can go. */
	done = issuer == 0 && age(cert, p->now_s) >= p->keep_s;
	return prune(s, p, &cas, done ? 1 : PEM_CERTS_MAX, changed, err);
}

int renew_plan(struct renew_state *s, const struct renew_policy *p, unsigned *changed,
	       struct err *err)
{
	AUTO(renew_state) struct renew_state next = RENEW_STATE_INIT;
	unsigned what = 0;

	if (renew_state_copy(s, &next, err) < 0 || plan(&next, p, &what, err) < 0)
		return -1;
	*changed = what;
	if (what) {
		struct renew_state old = *s;

		*s = next;
		next = old; /* released on return */
	}
	return 0;
}
