/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob install, uninstall: the embedded manifests, applied on the server's side. */
#include "base/limits.h"
#include "bundle.h"
#include "cmd.h"
#include "embedded.h"
#include "fetch.h"
#include "output.h"
#include "watch.h"

#define INSTALL_WAIT_S 300

struct install_opts {
	const char *dry_run, *output, *image;
	bool wait, yes, keep_crds;
	int64_t timeout_s;
};

/* clang-format off */
static const struct opt install_options[] = {
	OPT_STR(struct install_opts, image, 0, "image", "IMAGE", "image of webhook and controller, instead of the released one"),
	OPT_BOOL(struct install_opts, wait, 0, "wait", "wait until webhook and controller are available"),
	OPT_SECS(struct install_opts, timeout_s, 0, "timeout", "longest wait for each of them, 0 for no limit (default 5m)"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct install_opts, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only print the objects, or let the server check them", .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct install_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "yaml|json|name", .help = "print the objects in this format",
	  .given_offset = SIZE_MAX },
	OPT_END,
};
static const struct opt uninstall_options[] = {
	OPT_BOOL(struct install_opts, keep_crds, 0, "keep-crds", "leave the CRDs, and with them all jobs"),
	OPT_BOOL(struct install_opts, yes, 'y', "yes", "also when there are jobs, which are deleted with the CRDs"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct install_opts, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only say what would be deleted", .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

static const char *object_ns(const cJSON *obj)
{
	return json_get_str(json_get(obj, "metadata"), "namespace", NULL);
}

static const char *object_name(const cJSON *obj)
{
	return json_get_str(json_get(obj, "metadata"), "name", "");
}

static int print_all(struct cmd_ctx *ctx, const struct install_opts *o,
		     const struct yaml_docs *docs, struct err *err)
{
	AUTO_FREE cJSON **all = calloc(docs->n + 1, sizeof(cJSON *));
	struct output output;

	if (!all)
		return err_nomem(err);
	if (!o->image && (!o->output || str_eq(o->output, "yaml"))) {
		buf_add(&ctx->out, embedded_install, embedded_install_bytes);
		return 0;
	}
	for (size_t i = 0; i < docs->n; i++)
		all[i] = docs->v[i].json;
	if (output_parse(o->output ? o->output : "yaml", &output, err) < 0)
		return -1;
	return output_objects(ctx, &output, all, docs->n, false, err);
}

static int apply(struct cmd_ctx *ctx, const cJSON *obj, bool dry_run, struct err *err)
{
	const struct kube_res *res = bundle_res(obj);

	if (!res)
		return err_set(err, FAIL_STATE, "the embedded %s has no place in the API",
			       json_get_str(obj, "kind", ""));
	if (kube_patch(ctx->api, res, object_ns(obj), object_name(obj), NULL, "apply", obj, dry_run,
		       NULL, err) < 0)
		return -1;
	output_name(obj, &ctx->out);
	buf_printf(&ctx->out, " serverside-applied%s\n", dry_run ? " (server dry run)" : "");
	return ctx_flush(ctx, err);
}

static int look_deployment(void *arg, const cJSON *obj, struct buf *line, struct err *err)
{
	const cJSON *status = json_get(obj, "status"), *c;
	int64_t want = json_get_int(json_get(obj, "spec"), "replicas", 1);
	int64_t have = json_get_int(status, "availableReplicas", 0);

	(void)err; /* it may come true at any time */
	if (!obj)
		return 0;
	buf_printf(line, "%s: %" PRId64 " of %" PRId64 " available", (const char *)arg, have, want);
	json_each (c, json_get(status, "conditions"))
		if (str_eq(json_get_str(c, "reason", ""), "FailedCreate"))
			buf_printf(line, ", %s", json_get_str(c, "message", ""));
	return have >= want && json_get_int(status, "updatedReplicas", 0) >= want &&
	       json_get_int(status, "observedGeneration", 0) >=
		       json_get_int(json_get(obj, "metadata"), "generation", 0);
}

/* watch_until looks in the namespace of the configuration; these live in their own. */
static int wait_available(struct cmd_ctx *ctx, const char *name, int64_t timeout_s, struct err *err)
{
	const struct watch_one w = {
		.res = &kube_deployments,
		.ns = BUNDLE_NAMESPACE,
		.name = name,
		.timeout_s = timeout_s,
		.what = name,
		.interrupted = "the installation goes on in the cluster",
		.look = look_deployment,
		.arg = (void *)(uintptr_t)name, /* only read */
	};

	return watch_until(ctx, &w, err);
}

static int no_namespace(const struct cmd_ctx *ctx, struct err *err)
{
	if (!ctx->global.ns || !*ctx->global.ns || str_eq(ctx->global.ns, BUNDLE_NAMESPACE))
		return 0;
	return err_set(err, FAIL_USAGE,
		       "etjob lives in the namespace " BUNDLE_NAMESPACE
		       ": for another one change the manifests (--dry-run -o yaml)");
}

static int install_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	const struct install_opts *o = opts;
	const char *dry = o->dry_run ? o->dry_run : "none";
	int64_t limit = o->timeout_s < 0 ? INSTALL_WAIT_S : o->timeout_s;

	(void)args; /* main refused any */
	if (no_namespace(ctx, err) < 0 || bundle_read(o->image, &docs, err) < 0)
		return -1;
	if (str_eq(dry, "client"))
		return print_all(ctx, o, &docs, err);
	if (o->timeout_s >= 0 && !o->wait)
		return err_set(err, FAIL_USAGE, "--timeout goes with --wait");
	if (o->output)
		return err_set(err, FAIL_USAGE, "-o goes with --dry-run=client");
	if (ctx_api(ctx, err) < 0)
		return -1;
	for (size_t i = 0; i < docs.n; i++) {
		/* A dry run makes no namespace, so what lives in it can not be tried either. */
		if (str_eq(dry, "server") && object_ns(docs.v[i].json))
			continue;
		if (apply(ctx, docs.v[i].json, str_eq(dry, "server"), err) < 0)
			return -1;
	}
	if (!o->wait || !str_eq(dry, "none"))
		return 0;
	if (wait_available(ctx, BUNDLE_WEBHOOK, limit, err) < 0 ||
	    wait_available(ctx, BUNDLE_CONTROLLER, limit, err) < 0)
		return -1;
	ctx_info(ctx, "etjob is installed: try kubectl etjob doctor");
	return 0;
}

static int count_job(void *arg, cJSON *item)
{
	size_t *n = arg;

	(*n)++;
	cJSON_Delete(item);
	return 0;
}

static int no_jobs(struct cmd_ctx *ctx, struct err *err)
{
	size_t jobs = 0;
	const struct kube_list_opts list = { .on_item = count_job, .arg = &jobs };

	if (kube_list(ctx->api, &kube_trainingjobs, NULL, &list, NULL, err) < 0) {
		if (!kube_is(err, 404))
			return -1;
		*err = ERR_INIT; /* the CRD is gone already */
		return 0;
	}
	if (!jobs)
		return 0;
	return err_set(
		err, FAIL_STATE,
		"there are %zu jobs, which would be deleted with the CRDs: give --keep-crds to keep them, "
		"or --yes",
		jobs);
}

static int uninstall_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
			 struct err *err)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	const struct install_opts *o = opts;
	const char *dry = o->dry_run ? o->dry_run : "none";

	(void)args; /* main refused any */
	if (no_namespace(ctx, err) < 0 || bundle_read(NULL, &docs, err) < 0 ||
	    ctx_api(ctx, err) < 0)
		return -1;
	if (!o->keep_crds && !o->yes && str_eq(dry, "none") && no_jobs(ctx, err) < 0)
		return -1;
	for (size_t i = docs.n; i-- > 0;) { /* the last installed goes first */
		const cJSON *obj = docs.v[i].json;
		const struct kube_res *res = bundle_res(obj);

		if (!res || (o->keep_crds && res == &kube_crds))
			continue;
		if (!str_eq(dry, "client") &&
		    kube_delete(ctx->api, res, object_ns(obj), object_name(obj), "Background", -1,
				NULL, str_eq(dry, "server"), err) < 0) {
			if (!kube_is(err, 404))
				return -1;
			*err = ERR_INIT; /* gone is what is wanted */
			continue;
		}
		output_name(obj, &ctx->out);
		buf_printf(&ctx->out, " deleted%s\n",
			   str_eq(dry, "client")   ? " (dry run)"
			   : str_eq(dry, "server") ? " (server dry run)"
						   : "");
		if (ctx_flush(ctx, err) < 0)
			return -1;
	}
	return 0;
}

const struct cmd cmd_install = {
	.name = "install",
	.group = GROUP_CLUSTER,
	.args = "",
	.summary = "Install CRDs, webhook and controller into the cluster",
	.details =
		"Applies the manifests that this program carries, on the server's side; doing it again upgrades. "
		"For GitOps, --dry-run prints them instead.",
	.examples = "kubectl etjob install --wait\n"
		    "kubectl etjob install --dry-run -o yaml > etjob.yaml",
	.nargs = { 0, 0 },
	.opts = install_options,
	.opts_size = sizeof(struct install_opts),
	.defaults = &(const struct install_opts){ .timeout_s = -1 },
	.run = install_run,
};

const struct cmd cmd_uninstall = {
	.name = "uninstall",
	.group = GROUP_CLUSTER,
	.args = "",
	.summary = "Remove CRDs, webhook and controller from the cluster",
	.nargs = { 0, 0 },
	.opts = uninstall_options,
	.opts_size = sizeof(struct install_opts),
	.defaults = &(const struct install_opts){ 0 },
	.run = uninstall_run,
};
