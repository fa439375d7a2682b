/* SPDX-License-Identifier: Apache-2.0 */
/* preflight: what will keep a job's pods waiting, said before it is made. */
#include "preflight.h"

#include "base/limits.h"
#include "fetch.h"
#include "wire/quantity.h"

#define PREFLIGHT_NODES 200 /* a page; with more nodes nothing is said */

/* Largest number of GPUs on one node that takes pods, in whole ones. */
static int64_t most_gpus(const cJSON *nodes)
{
	int64_t most = 0, milli;
	const cJSON *node;

	json_each (node, json_get(nodes, "items")) {
		const cJSON *free_ = json_at(node, "status", "allocatable", "nvidia.com/gpu", NULL);

		if (!json_get_bool(json_get(node, "spec"), "unschedulable", false) &&
		    quantity_get(free_, &milli) && milli / 1000 > most)
			most = milli / 1000;
	}
	return most;
}

static void check_nodes(struct cmd_ctx *ctx, const struct job *job, const cJSON *nodes)
{
	int64_t most = most_gpus(nodes);

	if (json_get_str(json_get(nodes, "metadata"), "continue", "")[0] || most >= job->gpus)
		return; /* not all nodes were seen, or one is large enough */
	if (most == 0)
		ctx_warn(ctx, "no node has a GPU: the workers will stay Pending");
	else
		ctx_warn(ctx,
			 "no node has %" PRId64 " GPUs (the largest has %" PRId64
			 "): the workers will stay Pending",
			 job->gpus, most);
}

static void check_quota(struct cmd_ctx *ctx, const struct job *job, const cJSON *quota)
{
	const char *name = json_get_str(json_get(quota, "metadata"), "name", "");
	const struct {
		const char *key;
		int64_t need;
	} rows[] = { { "requests.nvidia.com/gpu", job->gpus * job->replicas },
		     { "pods", job->replicas + 1 },
		     { "count/trainingjobs.kai.alibabacloud.com", 1 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t hard, used = 0;

		if (!rows[i].need ||
		    !quantity_get(json_at(quota, "status", "hard", rows[i].key, NULL), &hard))
			continue;
		(void)quantity_get(json_at(quota, "status", "used", rows[i].key, NULL), &used);
		if ((hard - used) / 1000 < rows[i].need)
			ctx_warn(ctx,
				 "quota \"%s\" leaves %" PRId64 " of %s, the job needs %" PRId64
				 ": some pods will not be made",
				 name, hard > used ? (hard - used) / 1000 : 0, rows[i].key,
				 rows[i].need);
	}
}

int preflight(struct cmd_ctx *ctx, const cJSON *obj, struct err *err)
{
	struct fetch f[] = {
		{ .res = &kube_resourcequotas, .ns = ctx_ns(ctx) },
		{ .res = &kube_nodes, .limit = PREFLIGHT_NODES },
	};
	const cJSON *quota;
	struct job job;
	int rc;

	job_view(obj, &job);
	rc = fetch_all(ctx, f, job.gpus > 0 ? 2 : 1, err);
	if (rc == 0 && f[0].err.fail == FAIL_NET) { /* the server can not be reached at all */
		*err = f[0].err;
		rc = -1;
	}
	/* Who may not read quotas or nodes gets no such warning: the job itself is no worse. */
	json_each (quota, json_get(f[0].json, "items"))
		check_quota(ctx, &job, quota);
	if (f[1].json)
		check_nodes(ctx, &job, f[1].json);
	fetch_release(f, ARRAY_LEN(f));
	return rc;
}
