/* SPDX-License-Identifier: Apache-2.0 */
/* renew: what becomes of the certificates as time passes, or jumps. */
#include "certs/issue.h"
#include "certs/pem.h"
#include "certs/renew.h"
#include "unit.h"

#define DAY INT64_C(86400)
#define NOW INT64_C(1800000000)

struct fixture {
	struct strs names;
	struct renew_policy p;
	struct renew_state s;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = ERR_INIT;

	assert_non_null(f);
	f->s = RENEW_STATE_INIT;
	unit_assert_ok(strs_add(&f->names, "etjob-webhook.etjob-system.svc", &err), &err);
	f->p = (struct renew_policy){ .names = &f->names,
				      .now_s = NOW,
				      .ca_life_s = 3650 * DAY,
				      .cert_life_s = 90 * DAY,
				      .settle_s = 120,
				      .keep_s = 3600,
				      .published = true };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	renew_state_release(&f->s);
	strs_release(&f->names);
	free(f);
	return 0;
}

static unsigned plan(struct fixture *f)
{
	struct err err = ERR_INIT;
	unsigned changed = 99;

	unit_assert_ok(renew_plan(&f->s, &f->p, &changed, &err), &err);
	assert_true(renew_usable(&f->s, f->p.now_s));
	return changed;
}

static size_t cas(const struct fixture *f)
{
	struct pem_certs c;
	size_t n;

	pem_certs_read(&f->s.ca, &c);
	n = c.n;
	pem_certs_release(&c);
	return n;
}

/* Which CA of the bundle signed the serving certificate. */
static int signer(const struct fixture *f)
{
	AUTO(pem_certs) struct pem_certs c;
	AUTO_X509 X509 *cert = pem_cert(&f->s.cert);

	pem_certs_read(&f->s.ca, &c);
	for (size_t i = 0; i < c.n; i++)
		if (pem_signed_by(cert, c.v[i]))
			return (int)i;
	return -1;
}

static void nothing_becomes_a_ca_and_a_certificate(void **state)
{
	struct fixture *f = *state;
	AUTO_X509 X509 *cert = NULL, *ca = NULL;

	assert_false(renew_usable(&f->s, NOW));
	assert_int_equal(plan(f), RENEW_CA | RENEW_CERT);
	assert_int_equal(cas(f), 1);
	cert = pem_cert(&f->s.cert);
	ca = pem_cert(&f->s.ca);
	assert_int_equal(pem_not_before_s(cert), NOW - ISSUE_BACKDATE_S);
	assert_int_equal(pem_not_after_s(cert), NOW + 90 * DAY);
	assert_int_equal(pem_not_after_s(ca), NOW + 3650 * DAY);
	assert_int_equal(renew_ca_not_after_s(&f->s), NOW + 3650 * DAY);
	assert_true(pem_covers(cert, &f->names));
	assert_int_equal(plan(f), 0);
}

static void a_certificate_is_renewed_at_two_thirds(void **state)
{
	struct fixture *f = *state;

	plan(f);
	f->p.now_s = NOW + 59 * DAY;
	assert_int_equal(plan(f), 0);
	f->p.now_s = NOW + 61 * DAY;
	assert_int_equal(plan(f), RENEW_CERT);
	assert_int_equal(cas(f), 1);
	assert_int_equal(plan(f), 0);
}

static void a_ca_rolls_over_in_steps(void **state)
{
	struct fixture *f = *state;

	plan(f);
	f->p.now_s = NOW + 2400 * DAY;
	plan(f); /* a certificate of today, from the old CA */
	f->p.now_s = NOW + 2440 * DAY;
	f->p.published = false; /* the configurations do not have the new one yet */
	assert_int_equal(plan(f), RENEW_CA);
	assert_int_equal(cas(f), 2);
	assert_int_equal(signer(f), 1);
	f->p.now_s += 100;
	f->p.published = true;
	assert_int_equal(plan(f), 0); /* API servers may not have seen it */
	assert_int_equal(signer(f), 1);
	f->p.now_s += 20;
	f->p.published = false;
	assert_int_equal(plan(f), 0); /* somebody took it away */
	f->p.published = true;
	assert_int_equal(plan(f), RENEW_CERT);
	assert_int_equal(signer(f), 0);
	assert_int_equal(cas(f), 2); /* other replicas may serve the old certificate */
	f->p.now_s += 3599;
	assert_int_equal(plan(f), 0);
	f->p.now_s += 1;
	assert_int_equal(plan(f), RENEW_PRUNE);
	assert_int_equal(cas(f), 1);
	assert_int_equal(plan(f), 0);
}

static void a_forced_ca_keeps_the_certificate(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *before = NULL;

	plan(f);
	before = strdup(buf_text(&f->s.cert));
	f->p.force_ca = true;
	assert_int_equal(plan(f), RENEW_CA);
	assert_string_equal(buf_text(&f->s.cert), before);
	assert_int_equal(cas(f), 2);
}

static void a_clock_that_jumps_forward_gives_new_ones(void **state)
{
	struct fixture *f = *state;

	plan(f);
	f->p.now_s = NOW + 91 * DAY; /* past the certificate's end */
	assert_false(renew_usable(&f->s, f->p.now_s));
	assert_int_equal(plan(f), RENEW_CERT);
	f->p.now_s = NOW + 4000 * DAY; /* past the CA's end */
	assert_int_equal(plan(f), RENEW_CA | RENEW_CERT);
	assert_int_equal(cas(f), 1);
}

static void a_clock_that_jumps_back_gives_new_ones(void **state)
{
	struct fixture *f = *state;

	plan(f);
	f->p.now_s = NOW - 1000; /* within the hour that certificates are backdated */
	assert_int_equal(plan(f), 0);
	f->p.now_s = NOW - 2 * DAY;
	assert_false(renew_usable(&f->s, f->p.now_s));
	assert_int_equal(plan(f), RENEW_CA | RENEW_CERT);
	/* and when it is put right again */
	f->p.now_s = NOW;
	assert_int_equal(plan(f), 0);
}

static void put(struct buf *b, const char *text)
{
	buf_clear(b);
	buf_str(b, text);
}

static void broken_parts_are_made_anew(void **state)
{
	static const struct {
		size_t part; /* offset in struct renew_state */
		unsigned changed;
	} rows[] = {
		{ offsetof(struct renew_state, cert), RENEW_CERT },
		{ offsetof(struct renew_state, key), RENEW_CERT },
		{ offsetof(struct renew_state, ca_key), RENEW_CA },
		{ offsetof(struct renew_state, ca), RENEW_CA | RENEW_CERT },
	};
	static const char *const rubbish[] = {
		"",
		"rubbish",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t r = 0; r < ARRAY_LEN(rubbish); r++) {
			renew_state_release(&f->s);
			f->s = RENEW_STATE_INIT;
			plan(f);
			put((struct buf *)(void *)((char *)&f->s + rows[i].part), rubbish[r]);
			assert_int_equal(plan(f), rows[i].changed);
			assert_int_equal(plan(f), 0);
		}
}

static void rubbish_in_a_bundle_is_taken_out(void **state)
{
	struct fixture *f = *state;

	plan(f);
	buf_str(&f->s.ca, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
	assert_int_equal(plan(f), RENEW_PRUNE);
	assert_int_equal(plan(f), 0);
}

static void another_key_or_name_gives_a_new_certificate(void **state)
{
	struct fixture *f = *state;
	AUTO(renew_state) struct renew_state other = RENEW_STATE_INIT;
	struct err err = ERR_INIT;
	unsigned changed;

	plan(f);
	unit_assert_ok(renew_plan(&other, &f->p, &changed, &err), &err);
	put(&f->s.key, buf_text(&other.key));
	assert_int_equal(plan(f), RENEW_CERT);
	put(&f->s.cert, buf_text(&other.cert)); /* signed by a CA that is not in the bundle */
	put(&f->s.key, buf_text(&other.key));
	assert_int_equal(plan(f), RENEW_CERT);
	unit_assert_ok(strs_add(&f->names, "10.1.2.3", &err), &err);
	assert_int_equal(plan(f), RENEW_CERT);
	assert_int_equal(plan(f), 0);
}

static void a_certificate_does_not_outlive_its_ca(void **state)
{
	struct fixture *f = *state;
	AUTO_X509 X509 *cert = NULL;

	f->p.ca_life_s = 30 * DAY;
	plan(f);
	cert = pem_cert(&f->s.cert);
	assert_int_equal(pem_not_after_s(cert), NOW + 30 * DAY);
}

static void names_that_are_none_are_refused(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	unsigned changed = 99;

	unit_assert_ok(strs_add(&f->names, "a,DNS:evil", &err), &err);
	unit_assert_fails(renew_plan(&f->s, &f->p, &changed, &err), &err, FAIL_INPUT,
			  "\"a,DNS:evil\" is no DNS name or IP address");
	assert_int_equal(changed, 99);
	assert_int_equal(f->s.ca.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_becomes_a_ca_and_a_certificate, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_certificate_is_renewed_at_two_thirds, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_ca_rolls_over_in_steps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_forced_ca_keeps_the_certificate, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_clock_that_jumps_forward_gives_new_ones, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_clock_that_jumps_back_gives_new_ones, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(broken_parts_are_made_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rubbish_in_a_bundle_is_taken_out, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_key_or_name_gives_a_new_certificate, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_certificate_does_not_outlive_its_ca, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_none_are_refused, set_up, tear_down),
	};

	UNIT_MAIN(tests);
}
