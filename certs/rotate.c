/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/rotate.h"

#include "certs/bundle.h"
#include "certs/pem.h"
#include "certs/renew.h"
#include "kube/informer.h"
#include "wire/base64.h"

#define TRIES 4       /* another replica may write at the same moment */
#define PLAN_MS 60000 /* what did not change is thought about this often: time passes */

struct rotate {
	struct kube *kube;
	struct rotate_opts opts;
	struct renew_state mine; /* what this replica serves and knows */
	struct buf installed;    /* the certificate that was handed to opts.install */
	struct informer *configs[2];
	char *seen;          /* owned: resourceVersion of the Secret that was found good */
	int64_t plan_due_ms; /* when it is thought about again */
	int64_t due_ms, retry_ms;
	bool failing;
};

/* --- the Secret ------------------------------------------------------------------- */

static void secret_get(const cJSON *secret, const char *key, struct buf *out)
{
	const char *text = json_get_str(json_get(secret, "data"), key, "");

	/* What is no base64 is as good as missing. */
	if (base64_decode(text, strlen(text), out, NULL) < 0)
		buf_clear(out);
}

static void secret_read(const cJSON *secret, struct renew_state *out)
{
	secret_get(secret, "ca.crt", &out->ca);
	secret_get(secret, "ca.key", &out->ca_key);
	secret_get(secret, "tls.crt", &out->cert);
	secret_get(secret, "tls.key", &out->key);
}

static int secret_set(cJSON *data, const char *key, const struct buf *value, struct err *err)
{
	struct buf text = BUF_INIT(2 * RENEW_BYTES);
	int rc;

	base64_encode(&text, buf_text(value), value->len);
	rc = buf_check(&text, err);
	if (rc == 0)
		rc = json_set_str(data, key, buf_text(&text), err);
	buf_wipe(&text);
	return rc;
}

static int secret_fill(const struct rotate *r, const struct renew_state *s, cJSON *secret,
		       struct err *err)
{
	cJSON *meta, *data;

	if (json_set_str(secret, "apiVersion", "v1", err) < 0 ||
	    json_set_str(secret, "kind", "Secret", err) < 0)
		return -1;
	meta = json_need_object(secret, "metadata", err);
	if (!meta || json_set_str(meta, "name", r->opts.secret, err) < 0 ||
	    json_set_str(meta, "namespace", r->opts.ns, err) < 0)
		return -1;
	json_del(secret, "data");
	data = json_need_object(secret, "data", err);
	if (!data || secret_set(data, "ca.crt", &s->ca, err) < 0 ||
	    secret_set(data, "ca.key", &s->ca_key, err) < 0 ||
	    secret_set(data, "tls.crt", &s->cert, err) < 0 ||
	    secret_set(data, "tls.key", &s->key, err) < 0)
		return -1;
	return 0;
}

/* Creates the Secret, or replaces the one that was read (its resourceVersion guards it). */
static int secret_write(struct rotate *r, const struct renew_state *s, const cJSON *read,
			struct err *err)
{
	AUTO_JSON cJSON *secret = read ? json_copy(read, err) : cJSON_CreateObject();

	if (!secret)
		return err_nomem(err);
	if (secret_fill(r, s, secret, err) < 0)
		return -1;
	if (read)
		return kube_put(r->kube, &kube_secrets, r->opts.ns, r->opts.secret, NULL, secret,
				NULL, err);
	return kube_create(r->kube, &kube_secrets, r->opts.ns, secret,
			   &(const struct kube_create_opts){ .validation = "Strict" }, NULL, err);
}

/* --- a look ------------------------------------------------------------------------- */

static void log_changes(const struct rotate *r, unsigned changed)
{
	if (changed & RENEW_CA)
		log_event(r->opts.log, LOG_INFO, "made a new CA", "secret", r->opts.secret, NULL);
	if (changed & RENEW_CERT)
		log_event(r->opts.log, LOG_INFO, "made a new serving certificate", "secret",
			  r->opts.secret, NULL);
	if (changed & RENEW_PRUNE)
		log_event(r->opts.log, LOG_INFO, "took an old CA out of the bundle", "secret",
			  r->opts.secret, NULL);
}

/* The Secret is the one that was found good a moment ago. */
static bool known_good(const struct rotate *r, const cJSON *secret)
{
	const char *rv = json_get_str(json_get(secret, "metadata"), "resourceVersion", NULL);

	return str_eq(rv, r->seen) && clock_mono_ms(r->opts.clock) < r->plan_due_ms;
}

/* Nothing was to be done. While a CA rolls over, each look is a thought. */
static void remember(struct rotate *r, const cJSON *secret, const struct renew_state *s)
{
	const char *rv = json_get_str(json_get(secret, "metadata"), "resourceVersion", NULL);
	AUTO(pem_certs) struct pem_certs cas;

	free(TAKE(r->seen));
	pem_certs_read(&s->ca, &cas);
	if (!rv || cas.n > 1)
		return;
	r->seen = strdup(rv); /* without memory the next look is a thought, too */
	r->plan_due_ms = clock_mono_ms(r->opts.clock) + PLAN_MS;
}

/* Brings the Secret to what it should be, and *state with it; 1 when another replica was faster. */
static int settle_secret(struct rotate *r, struct renew_state *state, struct err *err)
{
	AUTO_JSON cJSON *secret = NULL;
	struct renew_policy p = {
		.names = r->opts.names,
		.now_s = clock_wall_ms(r->opts.clock) / 1000,
		.ca_life_s = r->opts.ca_life_s,
		.cert_life_s = r->opts.cert_life_s,
		.settle_s = r->opts.settle_s,
		.keep_s = r->opts.keep_s,
	};
	struct err get = ERR_INIT;
	unsigned changed;

	if (kube_get(r->kube, &kube_secrets, r->opts.ns, r->opts.secret, &secret, &get) < 0 &&
	    !kube_is(&get, 404)) {
		*err = get;
		return -1;
	}
	if (known_good(r, secret))
		return renew_state_copy(&r->mine, state, err);
	if (secret)
		secret_read(secret, state);
	if (!renew_usable(state, p.now_s) && renew_usable(&r->mine, p.now_s)) {
		/* Gone or broken, but we still serve: keep what clients trust, and roll over. */
		log_event(r->opts.log, LOG_WARN,
			  "the Secret with the certificates is gone or unusable: written anew",
			  "secret", r->opts.secret, NULL);
		if (renew_state_copy(&r->mine, state, err) < 0)
			return -1;
		p.force_ca = true;
	}
	if (bundle_published(r->kube, r->opts.config, &state->ca, &p.published, err) < 0 ||
	    renew_plan(state, &p, &changed, err) < 0)
		return -1;
	if (!changed) {
		remember(r, secret, state);
		return 0;
	}
	if (secret_write(r, state, secret, err) < 0)
		return kube_is(err, 409) ? 1 : -1;
	log_changes(r, changed);
	return 0;
}

static int install(struct rotate *r, const struct renew_state *s, struct err *err)
{
	if (r->installed.len == s->cert.len &&
	    memcmp(buf_text(&r->installed), buf_text(&s->cert), s->cert.len) == 0)
		return 0;
	if (r->opts.install(r->opts.arg, &s->cert, &s->key, err) < 0)
		return -1;
	buf_clear(&r->installed);
	buf_add(&r->installed, buf_text(&s->cert), s->cert.len);
	return buf_check(&r->installed, err);
}

static int look(struct rotate *r, struct err *err)
{
	int rc = 1;

	for (int i = 0; i < TRIES && rc == 1; i++) {
		AUTO(renew_state) struct renew_state state = RENEW_STATE_INIT;

		*err = ERR_INIT;
		rc = settle_secret(r, &state, err);
		if (rc != 0)
			continue;
		if (renew_state_copy(&state, &r->mine, err) < 0 || install(r, &state, err) < 0)
			return -1;
		return bundle_publish(r->kube, r->opts.config, &state.ca, r->opts.log, err);
	}
	return -1;
}

void rotate_look(struct rotate *r)
{
	struct err err = ERR_INIT;
	int64_t next = ROTATE_CHECK_MS;
	int rc;

	r->due_ms = INT64_MAX; /* a change that is seen during the look makes another one due */
	rc = look(r, &err);
	if (rc < 0) {
		log_event(r->opts.log, LOG_ERROR, "certificates could not be looked after", "error",
			  err.msg, "serving",
			  renew_usable(&r->mine, clock_wall_ms(r->opts.clock) / 1000) ? "yes"
										      : "no",
			  NULL);
		r->retry_ms = r->retry_ms ? r->retry_ms * 2 : ROTATE_RETRY_MS;
		if (r->retry_ms > ROTATE_CHECK_MS)
			r->retry_ms = ROTATE_CHECK_MS;
		next = r->retry_ms;
	} else {
		r->retry_ms = 0;
	}
	next += clock_mono_ms(r->opts.clock);
	if (next < r->due_ms)
		r->due_ms = next;
	r->opts.on_look(r->opts.arg, rc < 0, renew_ca_not_after_s(&r->mine));
}

/* --- life ----------------------------------------------------------------------------- */

/* Somebody touched a configuration: maybe its bundle is gone. Our own patches come by here, too. */
static void on_config(void *arg, const cJSON *old UNUSED, const cJSON *now)
{
	struct rotate *r = arg;

	if (!now || !bundle_holds(now, &r->mine.ca))
		r->due_ms = 0;
}

int rotate_new(struct kube *k, const struct rotate_opts *opts, struct rotate **out, struct err *err)
{
	static const struct kube_res *const res[2] = { &kube_mutatingwebhooks,
						       &kube_validatingwebhooks };
	AUTO(buf) struct buf selector = BUF_INIT(1024);
	struct rotate *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(err);
	r->kube = k;
	r->opts = *opts;
	r->mine = RENEW_STATE_INIT;
	r->installed = BUF_INIT(RENEW_BYTES);
	buf_printf(&selector, "metadata.name=%s", opts->config);
	for (size_t i = 0; i < ARRAY_LEN(res); i++) {
		const struct informer_opts o = {
			.res = res[i],
			.field_selector = buf_text(&selector),
			.on_change = on_config,
			.arg = r,
		};

		if (informer_new(k, &o, &r->configs[i], err) < 0) {
			rotate_free(r);
			return -1;
		}
	}
	*out = r;
	return 0;
}

void rotate_free(struct rotate *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < ARRAY_LEN(r->configs); i++)
		informer_free(r->configs[i]);
	renew_state_release(&r->mine);
	buf_release(&r->installed);
	free(r->seen);
	free(r);
}

int64_t rotate_due_ms(const struct rotate *r)
{
	return r->due_ms;
}
