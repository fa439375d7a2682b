/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob version: of this program, and of what runs in the cluster with --server. */
#include "base/limits.h"
#include "output.h"

struct version_opts {
	const char *output;
	bool cluster;
};

/* clang-format off */
static const struct opt options[] = {
	OPT_BOOL(struct version_opts, cluster, 0, "cluster-version", "ask the API server for its version too"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct version_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "json|yaml", .help = "output format", .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

static int server_version(struct cmd_ctx *ctx, struct buf *out, struct err *err)
{
	const struct kube_req req = { .method = "GET", .path = "/version" };
	struct kube_resp resp = { 0 };
	int rc = ctx_api(ctx, err);

	if (rc == 0)
		rc = kube_do(ctx->api, &req, &resp, err);
	if (rc == 0)
		buf_str(out, json_get_str(resp.json, "gitVersion", "unknown"));
	kube_resp_release(&resp);
	return rc;
}

static int version_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	const struct version_opts *o = opts;
	AUTO(buf) struct buf server = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *doc = cJSON_CreateObject();
	struct output output;

	(void)args; /* main refused any */
	if (output_parse(o->output, &output, err) < 0 ||
	    (o->cluster && server_version(ctx, &server, err) < 0))
		return -1;
	if (!doc || json_set_str(doc, "clientVersion", ETJOB_RELEASE, err) < 0 ||
	    (o->cluster && json_set_str(doc, "serverVersion", buf_text(&server), err) < 0))
		return err_nomem(err);
	if (output.kind != OUT_TABLE)
		return output_object(ctx, &output, doc, err);
	buf_printf(&ctx->out, "Client Version: %s\n", ETJOB_RELEASE);
	if (o->cluster)
		buf_printf(&ctx->out, "Server Version: %s\n", buf_text(&server));
	return 0;
}

const struct cmd cmd_version = {
	.name = "version",
	.group = GROUP_OTHER,
	.args = "",
	.summary = "Print the version",
	.nargs = { 0, 0 },
	.opts = options,
	.opts_size = sizeof(struct version_opts),
	.defaults = &(const struct version_opts){ 0 },
	.run = version_run,
};
