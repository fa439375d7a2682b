/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob submit: make a job from flags or a file; template: only show it. */
#include "base/limits.h"
#include "fetch.h"
#include "follow.h"
#include "output.h"
#include "preflight.h"
#include "report.h"
#include "submit_input.h"
#include "watch.h"

static int check(struct cmd_ctx *ctx, const struct submit_opts *o, const cJSON *job,
		 struct err *err)
{
	struct faults faults = FAULTS_INIT;
	int rc = validate_job(job, &faults, err);

	if (rc == 0)
		rc = report_faults(ctx, &faults, o->file ? FAIL_INPUT : FAIL_USAGE, err);
	faults_release(&faults);
	return rc;
}

/* apiVersion, kind, name, uid of the job, as controller of a child. */
static int own(cJSON *child, const cJSON *job, struct err *err)
{
	const cJSON *meta = json_get(job, "metadata");
	cJSON *list = json_need_array(json_get_mut(child, "metadata"), "ownerReferences", err);
	cJSON *ref = list ? cJSON_CreateObject() : NULL;

	if (!ref)
		return err_nomem(err);
	if (json_append(list, ref, err) < 0 ||
	    json_set_str(ref, "apiVersion", json_get_str(job, "apiVersion", ""), err) < 0 ||
	    json_set_str(ref, "kind", json_get_str(job, "kind", ""), err) < 0 ||
	    json_set_str(ref, "name", json_get_str(meta, "name", ""), err) < 0)
		return -1;
	return json_set_str(ref, "uid", json_get_str(meta, "uid", ""), err);
}

static const struct kube_res *child_res(const cJSON *child)
{
	const char *kind = json_get_str(child, "kind", "");

	return str_eq(kind, "ConfigMap")    ? &kube_configmaps
	       : str_eq(kind, "Deployment") ? &kube_deployments
					    : &kube_services;
}

/* A job whose ConfigMap can not be made is taken back: its pods would never start. */
static int create_children(struct cmd_ctx *ctx, const struct submit_out *out, const char *ns,
			   const cJSON *made, bool dry_run, struct err *err)
{
	const struct kube_create_opts opts = { .dry_run = dry_run };
	const char *name = json_get_str(json_get(made, "metadata"), "name", "");

	for (size_t i = 0; i < out->nchildren; i++) {
		AUTO_JSON cJSON *child = NULL;

		if ((!dry_run && own(out->children[i], made, err) < 0) ||
		    kube_create(ctx->api, child_res(out->children[i]), ns, out->children[i], &opts,
				&child, err) < 0) {
			struct err undo = ERR_INIT;

			if (!dry_run &&
			    kube_delete(ctx->api, &kube_trainingjobs, ns, name, "Background", -1,
					json_get_str(json_get(made, "metadata"), "uid", NULL),
					false, &undo) < 0)
				ctx_note(ctx, "%s", undo.msg);
			else if (!dry_run)
				ctx_note(ctx, "job \"%s\" was taken back", name);
			return -1;
		}
		output_name(out->children[i], &ctx->out);
		buf_str(&ctx->out, dry_run ? " created (server dry run)\n" : " created\n");
	}
	return 0;
}

static int show_documents(struct cmd_ctx *ctx, const struct output *o, const struct submit_out *out,
			  const cJSON *job, struct err *err)
{
	AUTO_FREE cJSON **all = calloc(out->nchildren + 1, sizeof(cJSON *));

	if (!all)
		return err_nomem(err);
	all[0] = (cJSON *)(uintptr_t)job; /* only printed */
	for (size_t i = 0; i < out->nchildren; i++)
		all[i + 1] = out->children[i];
	return output_objects(ctx, o, all, out->nchildren + 1, false, err);
}

static int send_all(struct cmd_ctx *ctx, const struct submit_in *in, const struct submit_out *out,
		    const struct output *o, bool dry_run, struct err *err)
{
	const struct kube_create_opts opts = { .dry_run = dry_run };
	AUTO_JSON cJSON *made = NULL;
	AUTO(buf) struct buf hint = BUF_INIT(LIMIT_TEXT);
	const char *name;

	if (ctx_api(ctx, err) < 0)
		return -1;
	if (!dry_run && !in->o->no_checks && preflight(ctx, out->job, err) < 0)
		return -1;
	if (kube_create(ctx->api, &kube_trainingjobs, in->ns, out->job, &opts, &made, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	name = json_get_str(json_get(made, "metadata"), "name", "");
	if (o->kind == OUT_TABLE) {
		output_name(out->job, &ctx->out);
		buf_cut(&ctx->out,
			ctx->out.len -
				strlen(json_get_str(json_get(out->job, "metadata"), "name", "")));
		buf_printf(&ctx->out, "%s created%s\n", name, dry_run ? " (server dry run)" : "");
	} else if (show_documents(ctx, o, out, made, err) < 0) {
		return -1;
	}
	if (create_children(ctx, out, in->ns, made, dry_run, err) < 0 || ctx_flush(ctx, err) < 0)
		return -1;
	if (dry_run)
		return 0;
	ctx_ns_hint(ctx, &hint);
	ctx_info(ctx, "The Job %s has been submitted successfully", name);
	ctx_info(ctx, "You can run `kubectl etjob get %s%s` to check the job status", name,
		 buf_text(&hint));
	return 0;
}

static int after(struct cmd_ctx *ctx, const struct submit_in *in, struct err *err)
{
	const struct submit_opts *o = in->o;
	enum wait_for target;

	if (o->logs) {
		const struct follow_opts follow = { .name = in->name, .follow = true, .tail = -1 };

		return follow_logs(ctx, &follow, err);
	}
	if (!o->wait)
		return 0;
	if (wait_parse(o->wait, &target, err) < 0)
		return -1;
	return wait_job(ctx, in->name, target, o->timeout_s, err);
}

static int run(struct cmd_ctx *ctx, const struct submit_opts *o, const struct opt_args *args,
	       const char *dry_run, const char *format, struct err *err)
{
	AUTO(submit_input) struct submit_input s = SUBMIT_INPUT_INIT;
	AUTO(submit_out) struct submit_out out = { 0 };
	struct output output;

	if (output_parse(format, &output, err) < 0)
		return -1;
	if (output.kind == OUT_WIDE)
		return err_set(err, FAIL_USAGE,
			       "-o wide is for tables: use json, yaml, name or jsonpath=TEMPLATE");
	if (o->timeout_s && !o->wait)
		return err_set(err, FAIL_USAGE, "--timeout goes with --wait");
	if (o->wait && o->logs)
		return err_set(err, FAIL_USAGE, "give --wait or --logs, not both");
	if ((o->wait || o->logs) && !str_eq(dry_run, "none"))
		return err_set(err, FAIL_USAGE, "--wait and --logs make no sense with --dry-run");
	if (ctx_config(ctx, err) < 0 || submit_input_read(ctx, o, args, &s, err) < 0)
		return -1;
	if ((o->wait || o->logs) && !s.in.name)
		return err_set(err, FAIL_USAGE, "--wait and --logs need a name, not generateName");
	if (submit_build(&s.in, &out, err) < 0 || check(ctx, o, out.job, err) < 0)
		return -1;
	if (str_eq(dry_run, "client")) {
		if (output.kind != OUT_TABLE)
			return show_documents(ctx, &output, &out, out.job, err);
		output_name(out.job, &ctx->out);
		buf_str(&ctx->out, " created (dry run)\n");
		return 0;
	}
	if (send_all(ctx, &s.in, &out, &output, str_eq(dry_run, "server"), err) < 0)
		return -1;
	return after(ctx, &s.in, err);
}

static int submit_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	const struct submit_opts *o = opts;

	return run(ctx, o, args, o->dry_run ? o->dry_run : "none", o->output, err);
}

static int template_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
			struct err *err)
{
	const struct submit_opts *o = opts;

	if (o->wait || o->logs || o->dry_run)
		return err_set(err, FAIL_USAGE,
			       "template only prints: --wait, --logs and --dry-run are for submit");
	return run(ctx, o, args, "client", o->output ? o->output : "yaml", err);
}

const struct cmd cmd_submit = {
	.name = "submit",
	.group = GROUP_JOBS,
	.args = "[etjob] NAME \"COMMAND\" | NAME -- WORD...",
	.summary = "Submit a training job",
	.details =
		"The command is one argument, run by a shell in the launcher, or words after -- that are run "
		"without one. It reaches the process exactly as it was typed. With --name (as in arena) the "
		"first argument is the command.\n\n"
		"In the command, ${workers}, ${gpus}, ${minWorkers} and ${maxWorkers} are environment variables of "
		"the launcher.\n\n"
		"With -f the job is read from a file, and flags change it.",
	.examples =
		"# three workers with a GPU each, one to nine while it trains\n"
		"kubectl etjob submit elastic-training --gpus=1 --workers=3 --min-workers=1 --max-workers=9 "
		"--image=registry.example/train:1 'horovodrun -np $((${workers}*${gpus})) --min-np "
		"$((${minWorkers}*${gpus})) --max-np $((${maxWorkers}*${gpus})) --host-discovery-script "
		"/etc/edl/discover_hosts.sh python /examples/train.py'\n"
		"# from a file, with another image, until it runs\n"
		"kubectl etjob submit -f job.yaml --image=registry.example/train:2 --wait",
	.nargs = { 0, -1 },
	.opts = submit_options,
	.opts_size = sizeof(struct submit_opts),
	.defaults = &submit_defaults,
	.run = submit_run,
};

const struct cmd cmd_template = {
	.name = "template",
	.group = GROUP_FILES,
	.args = "NAME \"COMMAND\" | NAME -- WORD...",
	.summary = "Print what submit would send",
	.details = "Takes the flags of submit; needs no cluster.",
	.examples =
		"# a job for a repository of manifests\n"
		"kubectl etjob template elastic-training --image=registry.example/train:1 --workers=3 "
		"'python train.py' > job.yaml",
	.nargs = { 0, -1 },
	.opts = submit_options,
	.opts_size = sizeof(struct submit_opts),
	.defaults = &submit_defaults,
	.flags = CMD_NO_CLUSTER,
	.run = template_run,
};
