/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob doctor: is etjob well in this cluster, and if not, what to do. */
#include "bundle.h"
#include "doctor.h"
#include "output.h"

struct doctor_opts {
	const char *output;
};

/* clang-format off */
static const struct opt options[] = {
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct doctor_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "text|json|yaml", .help = "format of the report",
	  .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

static void print(struct cmd_ctx *ctx, const cJSON *findings)
{
	const cJSON *f;

	json_each (f, findings) {
		const char *status = json_get_str(f, "status", ""),
			   *fix = json_get_str(f, "fix", NULL);
		const char *color = !ctx->color                ? ""
				    : str_eq(status, "ok")     ? "\033[32m"
				    : str_eq(status, "failed") ? "\033[31m"
							       : "\033[33m";

		buf_printf(&ctx->out, "%s%-8s%s %-12s ", color, status, *color ? "\033[0m" : "",
			   json_get_str(f, "check", ""));
		buf_visible(&ctx->out, json_get_str(f, "message", ""),
			    strlen(json_get_str(f, "message", "")));
		buf_char(&ctx->out, '\n');
		if (fix)
			buf_printf(&ctx->out, "%22s-> %s\n", "", fix);
	}
}

static int look(struct doctor *d, struct err *err)
{
	static int (*const looks[])(struct doctor *, struct err *) = {
		doctor_server, doctor_crds,   doctor_webhook, doctor_controller,
		doctor_probe,  doctor_rights, doctor_others,
	};

	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		if (looks[i](d, err) < 0)
			return -1;
	return 0;
}

static int doctor_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	const struct doctor_opts *o = opts;
	struct doctor d = { .ctx = ctx };
	struct output output;
	int rc = -1;

	(void)args; /* main refused any */
	if (output_parse(str_eq(o->output, "text") ? NULL : o->output, &output, err) < 0)
		return -1;
	if (!(d.findings = cJSON_CreateArray()))
		return err_nomem(err);
	if (bundle_read(NULL, &d.bundle, err) == 0 && ctx_api(ctx, err) == 0)
		rc = look(&d, err);
	if (rc == 0 && output.kind == OUT_TABLE) {
		print(ctx, d.findings);
	} else if (rc == 0) {
		AUTO_JSON cJSON *doc = cJSON_CreateObject();

		rc = doc ? json_set(doc, "findings", TAKE(d.findings), err) : err_nomem(err);
		if (rc == 0)
			rc = output_object(ctx, &output, doc, err);
	}
	if (rc == 0 && d.failed)
		ctx->status = 1;
	cJSON_Delete(d.findings);
	yaml_docs_release(&d.bundle);
	return rc;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.group = GROUP_CLUSTER,
	.args = "",
	.summary = "Find out what is wrong with etjob in this cluster, and how to mend it",
	.details =
		"Looks at the server, the CRDs, the webhook with its certificate and the way to it, the controller, "
		"your rights, and at et-operator beside ours. Changes nothing: its probes are dry runs. Exit status "
		"1 when something is wrong.",
	.nargs = { 0, 0 },
	.opts = options,
	.opts_size = sizeof(struct doctor_opts),
	.defaults = &(const struct doctor_opts){ .output = "text" },
	.run = doctor_run,
};
