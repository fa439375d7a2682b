/* SPDX-License-Identifier: Apache-2.0 */
/* verbs: get, create, patch, put, delete and list, synchronous. */
#include "base/limits.h"
#include "kube/client.h"
#include "kube/client_int.h"
#include "wire/url.h"

#define MAX_RESTARTS 3 /* of a list whose continue token expired */

/* Does the request; the JSON answer goes to *out (may be NULL). */
static int exchange(struct kube *k, const struct kube_req *req, cJSON **out, struct err *err)
{
	AUTO(kube_resp) struct kube_resp resp = { 0 };

	if (kube_do(k, req, &resp, err) < 0)
		return -1;
	if (out && !resp.json)
		return err_set(err, FAIL_NET, "the server's answer to %s %s is no JSON object",
			       req->method, req->path);
	if (out)
		*out = TAKE(resp.json);
	return 0;
}

int kube_get(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
	     cJSON **out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);

	if (kube_path(res, ns, name, NULL, &path, err) < 0)
		return -1;
	return exchange(k, &(struct kube_req){ .method = "GET", .path = buf_text(&path) }, out,
			err);
}

int kube_create(struct kube *k, const struct kube_res *res, const char *ns, const cJSON *obj,
		const struct kube_create_opts *opts, cJSON **out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf body = BUF_INIT(LIMIT_ANSWER);

	if (kube_path(res, ns, NULL, NULL, &path, err) < 0 || json_print(obj, &body, err) < 0)
		return -1;
	if (opts && opts->dry_run)
		url_query(&path, "dryRun", "All");
	url_query(&path, "fieldManager", k->field_manager);
	url_query(&path, "fieldValidation", opts && opts->validation ? opts->validation : "Strict");
	if (buf_check(&path, err) < 0 || buf_check(&body, err) < 0)
		return -1;
	return exchange(k,
			&(struct kube_req){ .method = "POST",
					    .path = buf_text(&path),
					    .body = buf_text(&body),
					    .body_bytes = body.len },
			out, err);
}

static const char *patch_type(const char *type)
{
	if (str_eq(type, "json"))
		return "application/json-patch+json";
	if (str_eq(type, "strategic"))
		return "application/strategic-merge-patch+json";
	if (str_eq(type, "apply"))
		return "application/apply-patch+yaml";
	return "application/merge-patch+json";
}

int kube_patch(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
	       const char *sub, const char *type, const cJSON *patch, bool dry_run, cJSON **out,
	       struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf body = BUF_INIT(LIMIT_ANSWER);

	if (kube_path(res, ns, name, sub, &path, err) < 0 || json_print(patch, &body, err) < 0)
		return -1;
	if (dry_run)
		url_query(&path, "dryRun", "All");
	url_query(&path, "fieldManager", k->field_manager);
	if (str_eq(type, "apply"))
		url_query(&path, "force", "true");
	if (buf_check(&path, err) < 0 || buf_check(&body, err) < 0)
		return -1;
	return exchange(k,
			&(struct kube_req){ .method = "PATCH",
					    .path = buf_text(&path),
					    .body = buf_text(&body),
					    .body_bytes = body.len,
					    .content_type = patch_type(type) },
			out, err);
}

int kube_put(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
	     const char *sub, const cJSON *obj, cJSON **out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf body = BUF_INIT(LIMIT_ANSWER);

	if (kube_path(res, ns, name, sub, &path, err) < 0 || json_print(obj, &body, err) < 0)
		return -1;
	url_query(&path, "fieldManager", k->field_manager);
	if (buf_check(&path, err) < 0 || buf_check(&body, err) < 0)
		return -1;
	return exchange(k,
			&(struct kube_req){ .method = "PUT",
					    .path = buf_text(&path),
					    .body = buf_text(&body),
					    .body_bytes = body.len },
			out, err);
}

static int delete_options(const char *propagation, int64_t grace_s, const char *uid,
			  struct buf *body, struct err *err)
{
	AUTO_JSON cJSON *o = cJSON_CreateObject();
	cJSON *pre;

	if (!o)
		return err_nomem(err);
	if (propagation && json_set_str(o, "propagationPolicy", propagation, err) < 0)
		return -1;
	if (grace_s >= 0 && json_set_int(o, "gracePeriodSeconds", grace_s, err) < 0)
		return -1;
	if (uid) {
		pre = json_need_object(o, "preconditions", err);
		if (!pre || json_set_str(pre, "uid", uid, err) < 0)
			return -1;
	}
	return json_print(o, body, err);
}

int kube_delete(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
		const char *propagation, int64_t grace_s, const char *uid, bool dry_run,
		struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf body = BUF_INIT(LIMIT_TEXT);

	if (kube_path(res, ns, name, NULL, &path, err) < 0 ||
	    delete_options(propagation, grace_s, uid, &body, err) < 0)
		return -1;
	if (dry_run)
		url_query(&path, "dryRun", "All");
	if (buf_check(&path, err) < 0 || buf_check(&body, err) < 0)
		return -1;
	return exchange(k,
			&(struct kube_req){ .method = "DELETE",
					    .path = buf_text(&path),
					    .body = buf_text(&body),
					    .body_bytes = body.len },
			NULL, err);
}

/* --- list ----------------------------------------------------------------- */

struct pages {
	const struct kube_list_opts *opts;
	char *token;   /* owned: of the next page, NULL when there is none */
	char *version; /* owned: resourceVersion of the first page */
	size_t items;  /* passed on */
	bool stopped;  /* on_item said so */
	int restarts;
};

static void pages_release(struct pages *p)
{
	free(p->token);
	free(p->version);
}

static int page_path(const struct kube_res *res, const char *ns, const struct pages *p,
		     struct buf *path, struct err *err)
{
	const struct kube_list_opts *o = p->opts;
	char limit[24];

	if (kube_path(res, ns, NULL, NULL, path, err) < 0)
		return -1;
	if (o->label_selector && o->label_selector[0])
		url_query(path, "labelSelector", o->label_selector);
	if (o->field_selector && o->field_selector[0])
		url_query(path, "fieldSelector", o->field_selector);
	(void)snprintf(limit, sizeof(limit), "%" PRId64, o->limit > 0 ? o->limit : 500);
	url_query(path, "limit", limit);
	if (p->token)
		url_query(path, "continue", p->token);
	return buf_check(path, err);
}

/* Items of a list carry neither kind nor apiVersion when the list is of one kind. */
static int name_kind(const struct kube_res *res, cJSON *item, struct err *err)
{
	char version[256];

	if (json_get(item, "kind"))
		return 0;
	(void)snprintf(version, sizeof(version), "%s%s%s", res->group, res->group[0] ? "/" : "",
		       res->version);
	if (json_set_str(item, "apiVersion", version, err) < 0)
		return -1;
	return json_set_str(item, "kind", res->kind, err);
}

/* The end of the JSON value at text[i], by brackets and quotes alone: parsing checks the rest. */
static size_t value_end(const char *text, size_t n, size_t i)
{
	size_t depth = 0;
	bool quoted = false;

	for (; i < n; i++) {
		char c = text[i];

		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (depth == 0)
				return i;
			if (--depth == 0)
				return i + 1;
		} else if (depth == 0 && c == ',') {
			return i;
		}
	}
	return n;
}

static size_t skip_space(const char *text, size_t n, size_t i)
{
	while (i < n && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	return i;
}

/*
 * Finds the array of the member "items" of the object that text is: *from at its "[", *to behind
 * its "]". False when there is none.
 */
static bool find_items(const char *text, size_t n, size_t *from, size_t *to)
{
	size_t i = skip_space(text, n, 0);

	if (i == n || text[i++] != '{')
		return false;
	while ((i = skip_space(text, n, i)) < n && text[i] == '"') {
		const char *close = memchr(text + i + 1, '"', n - i - 1);
		bool items = n - i > 7 && strncmp(text + i, "\"items\"", 7) == 0;

		if (!close)
			return false;
		i = skip_space(text, n, (size_t)(close - text) + 1);
		if (i == n || text[i] != ':')
			return false;
		i = skip_space(text, n, i + 1);
		size_t end = value_end(text, n, i);
		if (items && i < n && text[i] == '[') {
			*from = i;
			*to = end;
			return end > i + 1 && text[end - 1] == ']';
		}
		i = skip_space(text, n, end);
		if (i < n && text[i] == ',')
			i++;
	}
	return false;
}

static int take_item(const struct kube_res *res, struct pages *p, const char *text, size_t n,
		     struct err *err)
{
	cJSON *item = NULL;

	if (json_parse_lenient(text, n, &item, err) < 0)
		return err_wrap(err, "the list of %s", res->plural);
	if (!cJSON_IsObject(item)) {
		cJSON_Delete(item);
		return err_set(err, FAIL_NET, "the list of %s holds what is no object",
			       res->plural);
	}
	if (name_kind(res, item, err) < 0) {
		cJSON_Delete(item);
		return -1;
	}
	p->items++;
	p->stopped = p->opts->on_item(p->opts->arg, item) != 0;
	return 0;
}

/* The elements of an array, one tree at a time; [from, to) holds its brackets. */
static int take_items(const struct kube_res *res, struct pages *p, const char *text, size_t from,
		      size_t to, struct err *err)
{
	size_t last = to - 1, i = skip_space(text, last, from + 1);

	while (i < last && !p->stopped) {
		size_t end = value_end(text, last, i);

		if (take_item(res, p, text + i, end - i, err) < 0)
			return -1;
		i = skip_space(text, last, end);
		if (i == last)
			break;
		if (text[i] != ',')
			return err_set(err, FAIL_NET, "the list of %s is no JSON", res->plural);
		i = skip_space(text, last, i + 1);
		if (i == last)
			return err_set(err, FAIL_NET, "the list of %s is no JSON", res->plural);
	}
	return 0;
}

static int take_meta(struct pages *p, const cJSON *meta, struct err *err)
{
	const char *token = json_get_str(meta, "continue", "");

	free(TAKE(p->token));
	if (token[0] && str_copy(token, &p->token, err) < 0)
		return -1;
	return p->version ? 0
			  : str_copy(json_get_str(meta, "resourceVersion", ""), &p->version, err);
}

/*
 * A page of objects is taken apart as text, and each is parsed alone: trees are some ten times as
 * large as their text, so a page of 500 would need tens of megabytes at once.
 */
static int take_page(const struct kube_res *res, struct pages *p, const struct buf *body,
		     struct err *err)
{
	AUTO(buf) struct buf rest = BUF_INIT(LIMIT_ANSWER);
	const char *text = buf_text(body);
	AUTO_JSON cJSON *page = NULL;
	size_t from = body->len, to = body->len;
	struct err bad = ERR_INIT;
	bool found = find_items(text, body->len, &from, &to);

	/* What is not items must be whole JSON, and comes first: it may be no list at all. */
	buf_add(&rest, text, from);
	if (found)
		buf_str(&rest, "[]");
	buf_add(&rest, text + to, body->len - to);
	if (buf_check(&rest, err) < 0)
		return -1;
	if (json_parse_lenient(buf_text(&rest), rest.len, &page, &bad) < 0 &&
	    bad.fail == FAIL_NOMEM)
		return err_nomem(err);
	if (!json_get(page, "metadata"))
		return err_set(err, FAIL_NET, "the server's list of %s is no list", res->plural);
	if (take_meta(p, json_get(page, "metadata"), err) < 0)
		return -1;
	return found ? take_items(res, p, text, from, to, err) : 0;
}

/*
 * The continue token is too old: begin anew when nothing was passed on yet, else go
 * on with the inconsistent token that the server offers. 0: go on.
 */
static int expired(struct kube *k, struct pages *p, const struct kube_resp *resp, struct err *err)
{
	const char *token = json_get_str(json_get(resp->json, "metadata"), "continue", "");
	char *copy = NULL;

	if (!p->token || resp->http != 410 || p->restarts++ >= MAX_RESTARTS)
		return -1;
	if (p->items > 0 && !token[0])
		return -1;
	if (p->items > 0) {
		if (str_copy(token, &copy, err) < 0)
			return -1;
		if (k->opts.on_warning)
			k->opts.on_warning(k->opts.warning_arg,
					   "the list changed while it was read: its pages may "
					   "not be of one moment");
	}
	free(p->token);
	p->token = copy;
	if (err)
		*err = ERR_INIT;
	return 0;
}

int kube_list(struct kube *k, const struct kube_res *res, const char *ns,
	      const struct kube_list_opts *opts, char **resource_version, struct err *err)
{
	AUTO(pages) struct pages p = { .opts = opts };
	bool more = true;

	while (more) {
		AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
		AUTO(kube_resp) struct kube_resp resp = { 0 };

		if (page_path(res, ns, &p, &path, err) < 0)
			return -1;
		if (kube_do(k,
			    &(struct kube_req){
				    .method = "GET", .path = buf_text(&path), .raw = true },
			    &resp, err) < 0) {
			if (expired(k, &p, &resp, err) < 0)
				return -1;
			continue;
		}
		if (take_page(res, &p, &resp.body, err) < 0)
			return -1;
		more = p.token && !p.stopped;
	}
	if (resource_version)
		*resource_version = TAKE(p.version);
	return 0;
}
