/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/bundle.h"

#include "certs/renew.h"
#include "wire/base64.h"
#include "wire/patch.h"

static const struct kube_res *const kinds[2] = { &kube_mutatingwebhooks, &kube_validatingwebhooks };

static bool webhook_holds(const cJSON *webhook, const struct buf *ca)
{
	AUTO(buf) struct buf has = BUF_INIT(RENEW_BYTES);
	const char *text = json_get_str(json_get(webhook, "clientConfig"), "caBundle", "");

	if (base64_decode(text, strlen(text), &has, NULL) < 0)
		return false;
	return has.len == ca->len && memcmp(buf_text(&has), buf_text(ca), ca->len) == 0;
}

bool bundle_holds(const cJSON *config, const struct buf *ca)
{
	const cJSON *w;

	json_each (w, json_get(config, "webhooks"))
		if (!webhook_holds(w, ca))
			return false;
	return true;
}

/* *out is NULL when there is none. */
static int get(struct kube *k, const struct kube_res *res, const char *name, cJSON **out,
	       struct err *err)
{
	struct err why = ERR_INIT;

	if (kube_get(k, res, NULL, name, out, &why) == 0 || kube_is(&why, 404))
		return 0;
	*err = why;
	return -1;
}

int bundle_published(struct kube *k, const char *config, const struct buf *ca, bool *published,
		     struct err *err)
{
	bool all = true;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		AUTO_JSON cJSON *obj = NULL;

		if (get(k, kinds[i], config, &obj, err) < 0)
			return -1;
		all = all && (!obj || bundle_holds(obj, ca));
	}
	*published = all;
	return 0;
}

/* A test of the name guards each change: the list may have been reordered meanwhile. */
static int add_op(struct patch *p, const cJSON *webhook, size_t i, const char *bundle,
		  struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(256), path = BUF_INIT(256);
	bool has = json_get(webhook, "clientConfig");
	cJSON *value;

	buf_printf(&name, "/webhooks/%zu/name", i);
	buf_printf(&path, "/webhooks/%zu/clientConfig/caBundle", i);
	if (!has || buf_check(&name, err) < 0 || buf_check(&path, err) < 0)
		return has ? -1 : err_set(err, FAIL_INPUT, "webhook %zu has no clientConfig", i);
	value = cJSON_CreateString(json_get_str(webhook, "name", ""));
	if (!value)
		return err_nomem(err);
	if (patch_test(p, buf_text(&name), value, err) < 0)
		return -1;
	value = cJSON_CreateString(bundle);
	return value ? patch_add(p, buf_text(&path), value, err) : err_nomem(err);
}

static int publish(struct kube *k, const struct kube_res *res, const char *config,
		   const struct buf *ca, const char *bundle, const struct log *log, struct err *err)
{
	AUTO(patch) struct patch p = PATCH_INIT;
	AUTO_JSON cJSON *obj = NULL;
	const cJSON *w;
	size_t i = 0;

	if (get(k, res, config, &obj, err) < 0)
		return -1;
	json_each (w, json_get(obj, "webhooks")) {
		if (!webhook_holds(w, ca) && add_op(&p, w, i, bundle, err) < 0)
			return -1;
		i++;
	}
	if (!patch_len(&p))
		return 0;
	if (kube_patch(k, res, NULL, config, NULL, "json", p.ops, false, NULL, err) < 0)
		return -1;
	log_event(log, LOG_INFO, "put the CA bundle into a webhook configuration", "kind",
		  res->kind, "name", config, NULL);
	return 0;
}

int bundle_publish(struct kube *k, const char *config, const struct buf *ca, const struct log *log,
		   struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(2 * RENEW_BYTES);

	base64_encode(&text, buf_text(ca), ca->len);
	if (buf_check(&text, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (publish(k, kinds[i], config, ca, buf_text(&text), log, err) < 0)
			return -1;
	return 0;
}
