/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob history: workers over time, with the cause of each change. */
#include "base/file.h"
#include "base/limits.h"
#include "cmd.h"
#include "fetch.h"
#include "history.h"
#include "kube/table.h"
#include "wire/time.h"

struct history_opts {
	const char *output, *file;
};

/* clang-format off */
static const struct opt options[] = {
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(struct history_opts, output, const char *), .letter = 'o',
	  .name = "output", .arg = "FORMAT", .values = "chart|table|svg", .help = "chart, table, or a picture",
	  .given_offset = SIZE_MAX },
	OPT_STR(struct history_opts, file, 0, "file", "FILE", "write to this file instead of standard output"),
	OPT_END,
};
/* clang-format on */

enum { COLS = 4 };

static int table(const struct history *h, struct buf *out, struct err *err)
{
	static const struct table_col cols[COLS] = {
		{ .name = "TIME" }, { .name = "WORKERS" }, { .name = "CAUSE" }, { .name = "RESULT" }
	};
	AUTO(strs) struct strs cells = STRS_INIT;

	for (size_t i = 0; i < h->n; i++) {
		char time[TIME_TEXT_SIZE], workers[64];

		time_format(h->v[i].at_ms, time);
		(void)snprintf(workers, sizeof(workers), "%" PRId64 " -> %" PRId64, h->v[i].from,
			       h->v[i].to); /* always fits */
		if (strs_add(&cells, time, err) < 0 || strs_add(&cells, workers, err) < 0 ||
		    strs_add(&cells, h->v[i].cause, err) < 0 ||
		    strs_add(&cells, h->v[i].result, err) < 0)
			return -1;
	}
	return table_print(cols, COLS, (const char *const *)cells.v, h->n, false, true, out, err);
}

static int draw(struct cmd_ctx *ctx, const struct history_opts *o, const struct history *h,
		struct buf *out, struct err *err)
{
	size_t width = ctx_width(ctx->out_fd, 80);

	if (str_eq(o->output, "svg"))
		return history_svg(h, out, err);
	if (!str_eq(o->output, "table")) {
		if (history_chart(h, width < 200 ? width : 200, ctx->utf8, out, err) < 0)
			return -1;
		buf_char(out, '\n');
	}
	return table(h, out, err);
}

static int history_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		       struct err *err)
{
	const struct history_opts *o = opts;
	AUTO(history) struct history h = { 0 };
	AUTO(buf) struct buf out = BUF_INIT(LIMIT_ANSWER);
	AUTO_JSON cJSON *job = NULL;

	if (arg_name(args->v[0], err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	if (kube_get(ctx->api, &kube_trainingjobs, ctx_ns(ctx), args->v[0], &job, err) < 0) {
		fetch_hint(ctx, err);
		return -1;
	}
	if (history_read(job, clock_wall_ms(ctx->clock), &h, err) < 0 ||
	    draw(ctx, o, &h, &out, err) < 0)
		return -1;
	if (o->file)
		return file_write(o->file, out.data, out.len, 0644, err);
	buf_add(&ctx->out, buf_text(&out), out.len);
	return 0;
}

const struct cmd cmd_history = {
	.name = "history",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Show the number of workers over time, and why it changed",
	.examples = "kubectl etjob history elastic-training\n"
		    "kubectl etjob history elastic-training -o svg --file=workers.svg",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct history_opts),
	.defaults = &(const struct history_opts){ .output = "chart" },
	.run = history_run,
};
