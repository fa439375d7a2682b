/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: parallel GETs over the one loop. */
#include "fetch.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "wire/url.h"

void fetch_release(struct fetch *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cJSON_Delete(f[i].json);
		f[i].json = NULL;
	}
}

static void on_done(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct fetch *f = arg;

	f->done = true;
	f->err = *err;
	if (err->fail == FAIL_NONE) {
		f->json = TAKE(resp->json);
		if (!f->json)
			(void)err_set(&f->err, FAIL_NET, "the server's answer is no JSON");
	}
}

static int start(struct cmd_ctx *ctx, struct fetch *f, struct kube_call **call, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	struct kube_req req = { .method = "GET", .on_done = on_done, .arg = f };
	char limit[32];

	if (kube_path(f->res, f->ns, f->name, NULL, &path, err) < 0)
		return -1;
	if (f->label_selector)
		url_query(&path, "labelSelector", f->label_selector);
	if (f->limit) {
		(void)snprintf(limit, sizeof(limit), "%" PRId64, f->limit); /* always fits */
		url_query(&path, "limit", limit);
	}
	if (buf_check(&path, err) < 0)
		return -1;
	req.path = buf_text(&path);
	return kube_start(ctx->api, &req, call, err);
}

int fetch_all(struct cmd_ctx *ctx, struct fetch *v, size_t n, struct err *err)
{
	AUTO_FREE struct kube_call **calls = calloc(n + 1, sizeof(struct kube_call *));
	int rc = 0;

	if (!calls)
		return err_nomem(err);
	if (ctx_api(ctx, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = start(ctx, &v[i], &calls[i], err);
	for (size_t i = 0; i < n; i++) {
		while (rc == 0 && !v[i].done)
			rc = loop_once(ctx->loop, 1000, err);
		if (rc < 0 && calls[i] && !v[i].done)
			kube_cancel(ctx->api, calls[i]);
	}
	return rc;
}

int fetch_pods(cJSON *list, struct pods *pods, struct err *err)
{
	cJSON *items = json_get_mut(list, "items");

	while (items && items->child)
		if (pods_add(pods, cJSON_DetachItemViaPointer(items, items->child), err) < 0)
			return -1;
	pods_sort(pods);
	return 0;
}

int fetch_job(struct cmd_ctx *ctx, const char *name, cJSON **job, struct pods *pods,
	      struct err *err)
{
	AUTO(buf) struct buf selector = BUF_INIT(LIMIT_TEXT);
	int rc;

	if (ctx_api(ctx, err) < 0)
		return -1;
	buf_printf(&selector, LABEL_JOB "=%s", name);
	if (buf_check(&selector, err) < 0)
		return -1;
	struct fetch f[] = {
		{ .res = &kube_trainingjobs, .ns = ctx_ns(ctx), .name = name },
		{ .res = &kube_pods, .ns = ctx_ns(ctx), .label_selector = buf_text(&selector) },
	};
	rc = fetch_all(ctx, f, ARRAY_LEN(f), err);
	if (rc == 0 && f[0].err.fail != FAIL_NONE) {
		*err = f[0].err;
		fetch_hint(ctx, err);
		rc = -1;
	}
	if (rc == 0 && f[1].err.fail != FAIL_NONE && f[1].err.fail != FAIL_HTTP) {
		*err = f[1].err; /* half an answer is worse than none; a missing right is not */
		rc = -1;
	}
	if (rc == 0 && f[1].err.fail != FAIL_NONE)
		ctx_warn(ctx, "the pods are not shown: %s", f[1].err.msg);
	else if (rc == 0)
		rc = fetch_pods(f[1].json, pods, err);
	if (rc == 0)
		*job = TAKE(f[0].json);
	fetch_release(f, ARRAY_LEN(f));
	return rc;
}

void fetch_hint(struct cmd_ctx *ctx, const struct err *err)
{
	if (kube_is(err, 404) && strstr(err->msg, "could not find the requested resource"))
		ctx_info(
			ctx,
			"Is etjob installed in this cluster? Install it with kubectl etjob install");
}

int fetch_not_found(struct err *err, const struct kube_res *res, const char *name)
{
	(void)err_set(err, FAIL_HTTP, "Error from server (NotFound): %s.%s \"%s\" not found",
		      res->plural, res->group, name);
	if (err)
		err->http = 404;
	return -1;
}
