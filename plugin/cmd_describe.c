/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob describe: everything of a job on one page, in two round trips. */
#include "base/limits.h"
#include "etjob/names.h"
#include "events.h"
#include "fetch.h"
#include "show.h"

static void conditions(const cJSON *obj, struct buf *out)
{
	const cJSON *c, *list = json_at(obj, "status", "conditions", NULL);

	if (!json_len(list))
		return;
	buf_str(out, "\nConditions:\n");
	json_each (c, list) {
		const char *message = json_get_str(c, "message", "");

		buf_printf(out, "  %-16s %-6s %s  ", json_get_str(c, "type", ""),
			   json_get_str(c, "status", ""),
			   json_get_str(c, "lastTransitionTime", ""));
		buf_visible(out, json_get_str(c, "reason", ""),
			    strlen(json_get_str(c, "reason", "")));
		if (*message) {
			buf_str(out, ": ");
			buf_visible(out, message, strlen(message));
		}
		buf_char(out, '\n');
	}
}

static void containers(const char *role, const cJSON *template_, struct buf *out)
{
	const cJSON *c, *e;

	json_each (c, json_at(template_, "spec", "containers", NULL)) {
		AUTO(buf) struct buf command = BUF_INIT(LIMIT_OBJECT);

		buf_printf(out, "\n%s container %s:\n  Image:    %s\n", role,
			   json_get_str(c, "name", ""), json_get_str(c, "image", ""));
		json_each (e, json_get(c, "command"))
			buf_printf(&command, "%s%s", command.len ? " " : "",
				   json_str(e) ? json_str(e) : "");
		if (command.len) {
			buf_str(out, "  Command:  ");
			buf_visible(out, buf_text(&command), command.len);
			buf_char(out, '\n');
		}
		json_each (e, json_at(c, "resources", "limits", NULL))
			buf_printf(out, "  Limit:    %s %s\n", e->string ? e->string : "",
				   json_str(e) ? json_str(e) : "");
	}
}

/* ScaleOuts and ScaleIns of this job. */
static void scalers(const char *kind, const cJSON *list, const char *job, struct buf *out)
{
	const cJSON *item;

	json_each (item, json_get(list, "items")) {
		AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
		const char *phase = json_get_str(json_get(item, "status"), "phase", "Pending");
		struct scaler s;

		scaler_view(item, &s);
		if (!str_eq(s.job, job))
			continue;
		scaler_reason(item, &why);
		buf_printf(out, "  %-8s %-30s %+" PRId64 "  %-14s %s\n", kind, s.name,
			   str_eq(kind, KIND_SCALEIN)
				   ? -json_get_int(json_at(item, "spec", "toDelete", NULL), "count",
						   (int64_t)json_len(s.pod_names))
				   : s.count,
			   *phase ? phase : "Pending", buf_text(&why));
	}
}

static int events(const cJSON *list, const char *job, int64_t now_ms, struct buf *out,
		  struct err *err)
{
	AUTO_FREE const cJSON **v = calloc(json_len(json_get(list, "items")) + 1, sizeof(cJSON *));
	const cJSON *e;
	size_t n = 0;

	if (!v)
		return err_nomem(err);
	json_each (e, json_get(list, "items"))
		if (events_about(e, job))
			v[n++] = e;
	if (!n)
		return 0;
	buf_str(out, "\nEvents:\n");
	return events_print(v, n, now_ms, true, out, err);
}

enum { JOB, PODS, OUTS, INS, EVENTS, ALL };

static int page(struct cmd_ctx *ctx, struct fetch *f, struct pods *pods, struct err *err)
{
	int64_t now = clock_wall_ms(ctx->clock);
	struct buf *out = &ctx->out;
	struct jobinfo j;

	jobinfo_view(f[JOB].json, pods->v, pods->n, now, &j);
	if (show_job(&j, true, now, out, err) < 0)
		return -1;
	if (json_len(json_get(f[OUTS].json, "items")) + json_len(json_get(f[INS].json, "items"))) {
		AUTO(buf) struct buf rows = BUF_INIT(LIMIT_ANSWER);

		scalers(KIND_SCALEOUT, f[OUTS].json, j.job.name, &rows);
		scalers(KIND_SCALEIN, f[INS].json, j.job.name, &rows);
		if (rows.len)
			buf_printf(out, "\nScalers:\n%s", buf_text(&rows));
	}
	conditions(f[JOB].json, out);
	containers("Launcher", j.job.launcher_template, out);
	containers("Worker", j.job.worker_template, out);
	return f[EVENTS].json ? events(f[EVENTS].json, j.job.name, now, out, err) : 0;
}

static int describe_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
			struct err *err)
{
	static const char *const names[ALL] = { "job", "pods", "scale-outs", "scale-ins",
						"events" };
	AUTO(buf) struct buf selector = BUF_INIT(LIMIT_TEXT);
	AUTO(pods) struct pods pods = { 0 };
	const char *name = args->v[0];
	int rc;

	(void)opts; /* it has none */
	if (arg_name(name, err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	buf_printf(&selector, LABEL_JOB "=%s", name);
	if (buf_check(&selector, err) < 0)
		return -1;
	struct fetch f[ALL] = {
		[JOB] = { .res = &kube_trainingjobs, .ns = ctx_ns(ctx), .name = name },
		[PODS] = { .res = &kube_pods,
			   .ns = ctx_ns(ctx),
			   .label_selector = buf_text(&selector) },
		[OUTS] = { .res = &kube_scaleouts, .ns = ctx_ns(ctx) },
		[INS] = { .res = &kube_scaleins, .ns = ctx_ns(ctx) },
		[EVENTS] = { .res = &kube_events, .ns = ctx_ns(ctx) },
	};
	rc = fetch_all(ctx, f, ALL, err);
	if (rc == 0 && f[JOB].err.fail != FAIL_NONE) {
		*err = f[JOB].err;
		fetch_hint(ctx, err);
		rc = -1;
	}
	for (int i = PODS; rc == 0 && i < ALL; i++) {
		if (f[i].err.fail == FAIL_HTTP) {
			ctx_warn(ctx, "the %s are not shown: %s", names[i], f[i].err.msg);
		} else if (f[i].err.fail != FAIL_NONE) {
			*err = f[i].err;
			rc = -1;
		}
	}
	if (rc == 0 && f[PODS].json)
		rc = fetch_pods(f[PODS].json, &pods, err);
	if (rc == 0)
		rc = page(ctx, f, &pods, err);
	fetch_release(f, ALL);
	return rc;
}

const struct cmd cmd_describe = {
	.name = "describe",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Show everything of a job: pods, scalings, conditions, events",
	.nargs = { 1, 1 },
	.run = describe_run,
};
