/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch: -w of get and list. On a terminal the table is drawn over the last
 * one; elsewhere a changed row is a line. Two informers; drawing waits a moment
 * so that a burst of changes is one picture.
 */
#include "base/limits.h"
#include "etjob/names.h"
#include "fetch.h"
#include "kube/informer.h"
#include "list.h"
#include "list_row.h"
#include "output.h"
#include "watch.h"

#define SETTLE_MS 100  /* a burst of events is drawn once */
#define REDRAW_MS 1000 /* durations go on on a terminal */

struct watching {
	struct cmd_ctx *ctx;
	const struct list_opts *o;
	struct output output;
	struct informer *jobs, *pods;
	struct timer *timer;
	struct map last; /* ns/name -> the row printed last, owned */
	size_t drawn;    /* lines on the terminal */
	bool heads, over;
	struct err err;
};

static void stop(struct watching *w, const struct err *err)
{
	if (err && w->err.fail == FAIL_NONE)
		w->err = *err;
	w->over = true;
	loop_stop(w->ctx->loop);
}

static int tallies(struct watching *w, struct map *out, struct err *err)
{
	struct map_entry *e;

	map_each (informer_store(w->pods), e)
		if (tally_add(out, e->value, err) < 0)
			return -1;
	return 0;
}

static int make_rows(struct watching *w, struct rows *rows, struct err *err)
{
	AUTO(map) struct map all = MAP_INIT(tally_free);
	struct map_entry *e;

	if (tallies(w, &all, err) < 0)
		return -1;
	map_each (informer_store(w->jobs), e)
		if (rows_add(rows, e->value, map_get(&all, e->key), w->o->sort_by,
			     clock_wall_ms(w->ctx->clock), err) < 0)
			return -1;
	rows_sort(rows);
	return 0;
}

static int draw_terminal(struct watching *w, const struct rows *rows, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_ANSWER);

	if (rows->n &&
	    rows_print(rows, w->o->all, w->output.kind == OUT_WIDE, true, &text, err) < 0)
		return -1;
	if (w->drawn)
		buf_printf(&w->ctx->out, "\033[%zuA", w->drawn);
	w->drawn =
		rows_cut(buf_text(&text), ctx_width(w->ctx->out_fd, 80), "\033[K\n", &w->ctx->out);
	buf_str(&w->ctx->out, "\033[J");
	return 0;
}

/* A row's text without what only time changes. */
static int fingerprint(const struct row *row, char **out, struct err *err)
{
	AUTO(buf) struct buf b = BUF_INIT(LIMIT_TEXT);

	for (size_t c = 0; c < ROW_COLS; c++)
		if (c != ROW_DURATION && c != ROW_AGE)
			buf_printf(&b, "%s\t", row->cell[c]);
	return buf_finish(&b, out, err);
}

/* Always laid out with the heads, so that later rows stand under them; printed once. */
static int print_row(struct watching *w, const struct rows *one, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	bool heads = !w->heads && !w->o->no_headers;
	const char *row;

	if (rows_print(one, w->o->all, w->output.kind == OUT_WIDE, true, &text, err) < 0 ||
	    buf_check(&text, err) < 0)
		return -1;
	row = strchr(buf_text(&text), '\n');
	buf_str(&w->ctx->out, heads || !row ? buf_text(&text) : row + 1);
	return 0;
}

static int print_changed(struct watching *w, struct rows *rows, struct err *err)
{
	for (size_t i = 0; i < rows->n; i++) {
		AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
		AUTO_FREE char *now = NULL;
		struct rows one = { .v = &rows->v[i], .n = 1 };

		buf_printf(&key, "%s/%s", rows->v[i].cell[ROW_NAMESPACE],
			   rows->v[i].cell[ROW_NAME]);
		if (buf_check(&key, err) < 0)
			return -1;
		if (fingerprint(&rows->v[i], &now, err) < 0)
			return -1;
		if (str_eq(map_get(&w->last, buf_text(&key)), now))
			continue;
		if (map_put(&w->last, buf_text(&key), now, err) < 0)
			return -1;
		(void)TAKE(now);
		if (print_row(w, &one, err) < 0)
			return -1;
		w->heads = true;
	}
	return 0;
}

static bool all_over(const struct watching *w, const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (!rows->v[i].finished)
			return false;
	return rows->n > 0 || w->o->name != NULL || w->heads || w->drawn;
}

static void draw(void *arg)
{
	AUTO(rows) struct rows rows = { 0 };
	struct watching *w = arg;
	struct err err = ERR_INIT;

	w->timer = NULL;
	if (!informer_synced(w->jobs) || !informer_synced(w->pods))
		return;
	if (make_rows(w, &rows, &err) < 0 ||
	    (w->ctx->out_tty ? draw_terminal(w, &rows, &err) : print_changed(w, &rows, &err)) < 0 ||
	    ctx_flush(w->ctx, &err) < 0) {
		stop(w, &err);
		return;
	}
	if (all_over(w, &rows)) {
		stop(w, NULL);
		return;
	}
	if (w->ctx->out_tty && !(w->timer = loop_after(w->ctx->loop, REDRAW_MS, draw, w))) {
		(void)err_nomem(&err);
		stop(w, &err);
	}
}

static void soon(struct watching *w)
{
	struct err err = ERR_INIT;

	if (w->timer && !w->ctx->out_tty)
		return;
	loop_cancel(w->ctx->loop, w->timer);
	if (!(w->timer = loop_after(w->ctx->loop, SETTLE_MS, draw, w))) {
		(void)err_nomem(&err);
		stop(w, &err);
	}
}

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	(void)old;
	(void)now;
	soon(arg);
}

static void on_sync(void *arg)
{
	struct watching *w = arg;
	struct err err = ERR_INIT;

	if (w->o->name && informer_synced(w->jobs) && !informer_store(w->jobs)->count &&
	    !w->heads && !w->drawn) {
		(void)fetch_not_found(&err, &kube_trainingjobs, w->o->name);
		stop(w, &err);
		return;
	}
	soon(w);
}

static void on_error(void *arg, const struct err *err)
{
	struct watching *w = arg;
	bool synced = w->jobs && w->pods && informer_synced(w->jobs) && informer_synced(w->pods);

	if (watch_fatal(err, synced))
		stop(w, err);
}

static int start(struct watching *w, const char *field, const char *label, struct err *err)
{
	const struct informer_opts jobs = {
		.res = &kube_trainingjobs,
		.ns = w->o->all ? NULL : ctx_ns(w->ctx),
		.label_selector = w->o->selector,
		.field_selector = field,
		.on_change = on_change,
		.on_sync = on_sync,
		.on_error = on_error,
		.arg = w,
	};
	struct informer_opts pods = jobs;

	pods.res = &kube_pods;
	pods.label_selector = label;
	pods.field_selector = NULL;
	if (informer_new(w->ctx->api, &jobs, &w->jobs, err) < 0)
		return -1;
	return informer_new(w->ctx->api, &pods, &w->pods, err);
}

int list_watch(struct cmd_ctx *ctx, const struct list_opts *o, struct err *err)
{
	AUTO(buf) struct buf field = BUF_INIT(LIMIT_TEXT), label = BUF_INIT(LIMIT_TEXT);
	struct watching w = { .ctx = ctx, .o = o, .last = MAP_INIT(free) };
	int rc = -1;

	if (output_parse(o->output, &w.output, err) < 0)
		return -1;
	if (w.output.kind != OUT_TABLE && w.output.kind != OUT_WIDE)
		return err_set(err, FAIL_USAGE, "-w shows a table: leave -o out, or use -o wide");
	if (o->name)
		buf_printf(&field, "metadata.name=%s", o->name);
	buf_str(&label, LABEL_GROUP "=" ETJOB_GROUP);
	if (o->name)
		buf_printf(&label, "," LABEL_JOB "=%s", o->name);
	if (buf_check(&field, err) < 0 || buf_check(&label, err) < 0)
		return -1;
	if (ctx_api(ctx, err) == 0 && ctx_catch(ctx, err) == 0 &&
	    start(&w, o->name ? buf_text(&field) : o->field_selector, buf_text(&label), err) == 0)
		rc = loop_run(ctx->loop, err);
	loop_cancel(ctx->loop, w.timer);
	informer_free(w.jobs);
	informer_free(w.pods);
	map_release(&w.last);
	if (rc == 0 && w.err.fail != FAIL_NONE) {
		*err = w.err;
		rc = -1;
	}
	return rc == 0 && ctx->caught ? err_set(err, FAIL_CANCELED, "%s", "") : rc;
}
