/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob top: what the pods of a job use, by the metrics API. */
#include "base/limits.h"
#include "cmd.h"
#include "etjob/names.h"
#include "jobinfo.h"
#include "kube/table.h"
#include "wire/quantity.h"

static const struct kube_res pod_metrics = {
	.group = "metrics.k8s.io",
	.version = "v1beta1",
	.plural = "pods",
	.singular = "pod",
	.kind = "PodMetrics",
	.namespaced = true,
};

struct top_opts {
	bool no_headers;
};

static const struct opt options[] = {
	OPT_BOOL(struct top_opts, no_headers, 0, "no-headers",
		 "leave the heads of the columns out"),
	OPT_END,
};

struct found {
	struct pods pods;
	struct err err;
};

static int on_item(void *arg, cJSON *item)
{
	struct found *f = arg;

	return pods_add(&f->pods, item, &f->err);
}

/* Sum over the containers of a pod, in thousandths. */
static int64_t usage(const cJSON *metrics, const char *key)
{
	int64_t sum = 0, milli;
	const cJSON *c;

	json_each (c, json_get(metrics, "containers"))
		if (quantity_get(json_at(c, "usage", key, NULL), &milli))
			sum += milli;
	return sum;
}

static int print(const struct pods *pods, bool headers, struct buf *out, struct err *err)
{
	static const struct table_col cols[] = { { .name = "NAME" },
						 { .name = "CPU(cores)" },
						 { .name = "MEMORY(bytes)" } };
	AUTO(strs) struct strs cells = STRS_INIT;

	for (size_t i = 0; i < pods->n; i++) {
		const cJSON *m = pods->v[i].obj;
		char cpu[48], memory[48];

		(void)snprintf(cpu, sizeof(cpu), "%" PRId64 "m", usage(m, "cpu")); /* always fits */
		(void)snprintf(memory, sizeof(memory), "%" PRId64 "Mi",            /* always fits */
			       usage(m, "memory") / 1000 / (1 << 20));
		if (strs_add(&cells, pods->v[i].name, err) < 0 || strs_add(&cells, cpu, err) < 0 ||
		    strs_add(&cells, memory, err) < 0)
			return -1;
	}
	return table_print(cols, ARRAY_LEN(cols), (const char *const *)cells.v, pods->n, false,
			   headers, out, err);
}

static int show(struct cmd_ctx *ctx, const char *job, struct found *f, bool headers,
		struct err *err)
{
	if (f->err.fail != FAIL_NONE) {
		*err = f->err;
		return -1;
	}
	if (!f->pods.n)
		return err_set(err, FAIL_STATE,
			       "no metrics of job \"%s\" in namespace \"%s\" (yet)", job,
			       ctx_ns(ctx));
	pods_sort(&f->pods);
	return print(&f->pods, headers, &ctx->out, err);
}

static int top_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		   struct err *err)
{
	AUTO(buf) struct buf selector = BUF_INIT(LIMIT_TEXT);
	const struct top_opts *o = opts;
	struct found found = { 0 };
	int rc;

	if (arg_name(args->v[0], err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	buf_printf(&selector, LABEL_JOB "=%s", args->v[0]);
	if (buf_check(&selector, err) < 0)
		return -1;
	const struct kube_list_opts list = { .label_selector = buf_text(&selector),
					     .on_item = on_item,
					     .arg = &found };
	rc = kube_list(ctx->api, &pod_metrics, ctx_ns(ctx), &list, NULL, err);
	if (rc == 0)
		rc = show(ctx, args->v[0], &found, !o->no_headers, err);
	else if (kube_is(err, 404) || kube_is(err, 503))
		rc = err_set(err, FAIL_STATE,
			     "Metrics API not available: it comes with metrics-server");
	pods_release(&found.pods);
	return rc;
}

const struct cmd cmd_top = {
	.name = "top",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Show what the pods of a job use of CPU and memory",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct top_opts),
	.defaults = &(const struct top_opts){ 0 },
	.run = top_run,
};
