/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/answer.h"

#include "base/limits.h"
#include "wire/base64.h"

#define WARNING_BYTES 256   /* of one, as the API server counts */
#define WARNINGS_BYTES 4096 /* of all */
#define CAUSES_MAX 50

/* Cuts at a character, not inside of one. */
static size_t cut_utf8(const char *s, size_t n, size_t max)
{
	if (n <= max)
		return n;
	n = max;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static int add_text(cJSON *object, const char *key, const char *s, size_t max, struct err *err)
{
	AUTO_FREE char *text = strndup(s, cut_utf8(s, strlen(s), max));

	return text ? json_set_str(object, key, text, err) : err_nomem(err);
}

static int add_warnings(cJSON *response, const struct strs *warnings, struct err *err)
{
	size_t bytes = 0;
	cJSON *list;

	if (!warnings->n)
		return 0;
	list = json_need_array(response, "warnings", err);
	if (!list)
		return -1;
	for (size_t i = 0; i < warnings->n; i++) {
		const char *s = warnings->v[i];
		size_t n = cut_utf8(s, strlen(s), WARNING_BYTES);
		AUTO_FREE char *text = NULL;

		bytes += n;
		if (bytes > WARNINGS_BYTES)
			break;
		text = strndup(s, n);
		if (!text)
			return err_nomem(err);
		if (json_append_str(list, text, err) < 0)
			return -1;
	}
	return 0;
}

static int add_causes(cJSON *details, const struct faults *f, struct err *err)
{
	cJSON *causes = json_need_array(details, "causes", err);
	size_t bytes = 0;

	for (size_t i = 0; causes && i < f->n && i < CAUSES_MAX; i++) {
		cJSON *c;

		bytes += strlen(f->v[i].field) + strlen(f->v[i].message);
		if (i && bytes > LIMIT_MESSAGE)
			break;
		c = cJSON_CreateObject();
		if (!c)
			return err_nomem(err);
		if (json_append(causes, c, err) < 0 ||
		    json_set_str(c, "reason", "FieldValueInvalid", err) < 0 ||
		    add_text(c, "message", f->v[i].message, LIMIT_MESSAGE, err) < 0 ||
		    add_text(c, "field", f->v[i].field, LIMIT_MESSAGE, err) < 0)
			return -1;
	}
	return causes ? 0 : -1;
}

static const char *reason_of(const struct faults *f, int code)
{
	switch (code) {
	case 409:
		/* kubectl and client libraries know what to do about a name that is there */
		return str_eq(f->v[0].rule, "name-taken") ? "AlreadyExists" : "Conflict";
	case 403:
		return "Forbidden";
	default:
		return "Invalid";
	}
}

static int add_status(cJSON *response, const struct answer *a, struct err *err)
{
	AUTO(buf) struct buf message = BUF_INIT(LIMIT_MESSAGE + 64);
	cJSON *status = json_need_object(response, "status", err);
	int code = faults_code(a->faults);
	cJSON *details;

	faults_message(a->faults, &message);
	if (!status || buf_check(&message, err) < 0 ||
	    json_set_str(status, "status", "Failure", err) < 0 ||
	    add_text(status, "message", buf_text(&message), LIMIT_MESSAGE, err) < 0 ||
	    json_set_str(status, "reason", reason_of(a->faults, code), err) < 0 ||
	    json_set_int(status, "code", code, err) < 0)
		return -1;
	details = json_need_object(status, "details", err);
	if (!details || add_text(details, "name", a->name, 512, err) < 0 ||
	    add_text(details, "kind", a->kind, 512, err) < 0)
		return -1;
	return add_causes(details, a->faults, err);
}

static int add_patch(cJSON *response, const struct patch *p, struct err *err)
{
	AUTO(buf) struct buf ops = BUF_INIT(LIMIT_REVIEW);
	AUTO(buf) struct buf text = BUF_INIT(2 * LIMIT_REVIEW);

	if (json_print(p->ops, &ops, err) < 0)
		return -1;
	base64_encode(&text, buf_text(&ops), ops.len);
	if (buf_check(&text, err) < 0 || json_set_str(response, "patch", buf_text(&text), err) < 0)
		return -1;
	return json_set_str(response, "patchType", "JSONPatch", err);
}

/* {apiVersion, kind, response: {uid, allowed}}; *response is borrowed from the root. */
static cJSON *answer_new(const char *uid, bool allowed, cJSON **response, struct err *err)
{
	cJSON *root = cJSON_CreateObject();

	if (!root) {
		err_nomem(err);
		return NULL;
	}
	if (json_set_str(root, "apiVersion", "admission.k8s.io/v1", err) < 0 ||
	    json_set_str(root, "kind", "AdmissionReview", err) < 0)
		goto fail;
	*response = json_need_object(root, "response", err);
	if (!*response || json_set_str(*response, "uid", uid, err) < 0 ||
	    json_set_bool(*response, "allowed", allowed, err) < 0)
		goto fail;
	return root;
fail:
	cJSON_Delete(root);
	return NULL;
}

int answer_write(const struct answer *a, struct buf *out, struct err *err)
{
	cJSON *response = NULL;
	AUTO_JSON cJSON *root = answer_new(a->uid, a->faults->n == 0, &response, err);

	if (!root)
		return -1;
	if (a->faults->n) {
		if (add_status(response, a, err) < 0)
			return -1;
	} else if (a->patch && patch_len(a->patch)) {
		if (add_patch(response, a->patch, err) < 0)
			return -1;
	}
	if (add_warnings(response, &a->faults->warnings, err) < 0)
		return -1;
	return json_print(root, out, err);
}

int answer_unreadable(const char *uid, const char *why, struct buf *out, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);
	cJSON *response = NULL, *status;
	AUTO_JSON cJSON *root = answer_new(uid, false, &response, err);

	if (!root)
		return -1;
	buf_str(&text, why);
	status = json_need_object(response, "status", err);
	if (!status || buf_check(&text, err) < 0 ||
	    json_set_str(status, "status", "Failure", err) < 0 ||
	    json_set_str(status, "message", buf_text(&text), err) < 0 ||
	    json_set_str(status, "reason", "BadRequest", err) < 0 ||
	    json_set_int(status, "code", 400, err) < 0)
		return -1;
	return json_print(root, out, err);
}
