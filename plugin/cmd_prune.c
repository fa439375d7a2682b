/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob prune: delete jobs that ended long ago; never one that still lives. */
#include "base/limits.h"
#include "fetch.h"
#include "jobinfo.h"
#include "wire/time.h"

struct prune_opts {
	int64_t since_s;
	bool all, dry_run, yes;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_SECS(struct prune_opts, since_s, 0, "since", "jobs that ended at least this long ago (required)"),
	OPT_BOOL(struct prune_opts, all, 'A', "all-namespaces", "in all namespaces"),
	OPT_BOOL(struct prune_opts, dry_run, 0, "dry-run", "only say what would be deleted"),
	OPT_BOOL(struct prune_opts, yes, 'y', "yes", "do not ask"),
	OPT_END,
};
/* clang-format on */

struct pruning {
	struct cmd_ctx *ctx;
	int64_t before_ms;
	struct strs ns, names, uids;
	struct err err;
};

static void pruning_release(struct pruning *p)
{
	strs_release(&p->ns);
	strs_release(&p->names);
	strs_release(&p->uids);
}

static int on_item(void *arg, cJSON *item)
{
	struct pruning *p = arg;
	struct jobinfo j;
	int64_t start = 0, end;
	int rc = 0;

	jobinfo_view(item, NULL, 0, clock_wall_ms(p->ctx->clock), &j);
	if (!time_get(json_get_str(json_get(item, "status"), "startTime", NULL), &start))
		start = j.job.created_ms;
	end = start + j.duration_s * 1000;
	if (job_finished(&j.job) && !j.job.deleting && start && end <= p->before_ms &&
	    (strs_add(&p->ns, j.job.ns, &p->err) < 0 ||
	     strs_add(&p->names, j.job.name, &p->err) < 0 ||
	     strs_add(&p->uids, j.job.uid, &p->err) < 0))
		rc = -1;
	cJSON_Delete(item);
	return rc;
}

/* Reads a line: true when it begins with y. */
static bool confirmed(struct cmd_ctx *ctx, size_t n)
{
	char answer[16] = "";

	ctx_note(ctx, "Delete %zu finished job%s? [y/N]", n, n == 1 ? "" : "s");
	ssize_t got = read(STDIN_FILENO, answer, sizeof(answer) - 1);
	return got > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

static void delete_each(struct pruning *p, bool dry_run)
{
	for (size_t i = 0; i < p->names.n; i++) {
		struct err err = ERR_INIT;

		if (!dry_run &&
		    kube_delete(p->ctx->api, &kube_trainingjobs, p->ns.v[i], p->names.v[i],
				"Background", -1, p->uids.v[i], false, &err) < 0) {
			if (!kube_is(&err, 404)) /* gone meanwhile is what was wanted */
				ctx_fail(p->ctx, &err);
			continue;
		}
		buf_printf(&p->ctx->out,
			   "trainingjob.kai.alibabacloud.com \"%s\" deleted from %s namespace%s\n",
			   p->names.v[i], p->ns.v[i], dry_run ? " (dry run)" : "");
	}
}

static int prune_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		     struct err *err)
{
	const struct prune_opts *o = opts;
	AUTO(pruning) struct pruning p = { .ctx = ctx };
	const struct kube_list_opts list = { .on_item = on_item, .arg = &p };

	(void)args; /* main refused any */
	if (o->since_s < 0)
		return err_set(err, FAIL_USAGE, "--since is required: --since=7d");
	if (ctx_api(ctx, err) < 0)
		return -1;
	p.before_ms = clock_wall_ms(ctx->clock) - o->since_s * 1000;
	if (kube_list(ctx->api, &kube_trainingjobs, o->all ? NULL : ctx_ns(ctx), &list, NULL, err) <
	    0) {
		fetch_hint(ctx, err);
		return -1;
	}
	if (p.err.fail != FAIL_NONE) {
		*err = p.err;
		return -1;
	}
	if (!p.names.n) {
		ctx_note(ctx, "No finished jobs to delete");
		return 0;
	}
	for (size_t i = 0; !o->dry_run && !o->yes && i < p.names.n; i++)
		ctx_note(ctx, "%s/%s", p.ns.v[i], p.names.v[i]);
	if (!o->dry_run && !o->yes && !confirmed(ctx, p.names.n))
		return err_set(err, FAIL_STATE, "nothing was deleted: answer y, or give --yes");
	delete_each(&p, o->dry_run);
	return 0;
}

const struct cmd cmd_prune = {
	.name = "prune",
	.group = GROUP_JOBS,
	.args = "",
	.summary = "Delete jobs that ended long ago",
	.details =
		"Only jobs that succeeded or failed; a job that waits, runs, scales or is suspended is never "
		"taken. Asks before it deletes unless --yes is given.",
	.examples = "kubectl etjob prune --since=7d -A --dry-run",
	.nargs = { 0, 0 },
	.opts = options,
	.opts_size = sizeof(struct prune_opts),
	.defaults = &(const struct prune_opts){ .since_s = -1 },
	.run = prune_run,
};
