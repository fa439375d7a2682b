/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob delete: remove jobs with all that belongs to them. */
#include "base/limits.h"
#include "fetch.h"
#include "output.h"
#include "watch.h"

struct delete_opts {
	const char *selector, *dry_run, *output;
	bool all, wait, ignore_not_found;
	int64_t timeout_s, grace_s;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_STR(struct delete_opts, selector, 'l', "selector", "LABELS", "all jobs with these labels"),
	OPT_BOOL(struct delete_opts, all, 0, "all", "all jobs of the namespace"),
	OPT_BOOL(struct delete_opts, wait, 0, "wait", "wait until the jobs are gone"),
	OPT_SECS(struct delete_opts, timeout_s, 0, "timeout", "longest wait for each job, 0 for no limit"),
	OPT_BOOL(struct delete_opts, ignore_not_found, 0, "ignore-not-found", "a job that is not there is no error"),
	OPT_INT(struct delete_opts, grace_s, 0, "grace-period", "SECONDS", -1, INT32_MAX,
		"time for the object to end, -1 for its own"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct delete_opts, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only say what would be deleted", .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct delete_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "name", .help = "print only the name",
	  .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

struct found {
	struct strs *names;
	struct err err;
};

static int on_item(void *arg, cJSON *item)
{
	struct found *f = arg;
	int rc = strs_add(f->names, json_get_str(json_get(item, "metadata"), "name", ""), &f->err);

	cJSON_Delete(item);
	return rc;
}

static int find(struct cmd_ctx *ctx, const struct delete_opts *o, struct strs *names,
		struct err *err)
{
	struct found found = { .names = names };
	const struct kube_list_opts list = { .label_selector = o->selector,
					     .on_item = on_item,
					     .arg = &found };

	if (kube_list(ctx->api, &kube_trainingjobs, ctx_ns(ctx), &list, NULL, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	if (found.err.fail != FAIL_NONE) {
		*err = found.err;
		return -1;
	}
	if (!names->n)
		ctx_note(ctx, "No resources found");
	return 0;
}

static int delete_one(struct cmd_ctx *ctx, const struct delete_opts *o, const char *name,
		      struct err *err)
{
	const char *dry = o->dry_run ? o->dry_run : "none";

	if (arg_name(name, err) < 0)
		return -1;
	if (str_eq(dry, "client")) {
		if (kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, NULL, err) < 0)
			return -1;
	} else if (kube_delete(ctx->api, &kube_trainingjobs, ctx_ns(ctx), name, "Background",
			       o->grace_s, NULL, str_eq(dry, "server"), err) < 0) {
		return -1;
	}
	if (o->output)
		buf_printf(&ctx->out, "trainingjob.kai.alibabacloud.com/%s\n", name);
	else
		buf_printf(&ctx->out, "trainingjob.kai.alibabacloud.com \"%s\" deleted%s\n", name,
			   str_eq(dry, "client")   ? " (dry run)"
			   : str_eq(dry, "server") ? " (server dry run)"
						   : "");
	if (ctx_flush(ctx, err) < 0)
		return -1;
	if (!str_eq(dry, "none"))
		return 0;
	if (o->wait && wait_job(ctx, name, WAIT_DELETED, o->timeout_s, err) < 0)
		return -1;
	ctx_info(ctx, "The Job %s has been deleted successfully", name);
	return 0;
}

static int delete_all(struct cmd_ctx *ctx, const struct delete_opts *o, const char *const *names,
		      size_t n, struct err *err)
{
	bool timed_out = false;

	for (size_t i = 0; i < n; i++) {
		struct err e = ERR_INIT;

		if (delete_one(ctx, o, names[i], &e) == 0)
			continue;
		if (o->ignore_not_found && kube_is(&e, 404))
			continue;
		if (e.fail == FAIL_CANCELED || e.fail == FAIL_NET || n == 1) {
			*err = e;
			if (e.fail == FAIL_HTTP)
				fetch_hint(ctx, err);
			return -1;
		}
		timed_out = timed_out || e.fail == FAIL_TIMEOUT;
		ctx_fail(ctx, &e);
	}
	if (timed_out)
		ctx->status = EXIT_TIMEOUT;
	return 0;
}

static int delete_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	AUTO(strs) struct strs found = STRS_INIT;
	const struct delete_opts *o = opts;
	bool many = o->all || o->selector;

	if (many && args->n)
		return err_set(err, FAIL_USAGE, "give names, or --all, or -l LABELS");
	if (o->all && o->selector)
		return err_set(err, FAIL_USAGE, "give --all or -l LABELS, not both");
	if (o->timeout_s && !o->wait)
		return err_set(err, FAIL_USAGE, "--timeout goes with --wait");
	if (!many && !args->n)
		return err_set(err, FAIL_USAGE, "delete needs NAME..., or -l LABELS, or --all");
	for (size_t i = 0; i < args->n; i++)
		if (arg_name(args->v[i], err) < 0)
			return -1;
	if (ctx_api(ctx, err) < 0 || (many && find(ctx, o, &found, err) < 0))
		return -1;
	return delete_all(ctx, o, many ? (const char *const *)found.v : args->v,
			  many ? found.n : args->n, err);
}

const struct cmd cmd_delete = {
	.name = "delete",
	.aliases = "rm",
	.group = GROUP_JOBS,
	.args = "NAME... | -l LABELS | --all",
	.summary = "Delete jobs with all that belongs to them",
	.details =
		"Every name is tried, also after one that can not be deleted; then the exit status is 1.",
	.examples = "kubectl etjob delete elastic-training",
	.nargs = { 0, -1 },
	.opts = options,
	.opts_size = sizeof(struct delete_opts),
	.defaults = &(const struct delete_opts){ .grace_s = -1 },
	.run = delete_run,
};
