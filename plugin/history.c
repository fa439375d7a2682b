/* SPDX-License-Identifier: Apache-2.0 */
/* history: from status.scaleHistory to pictures. */
#include "history.h"

#include "base/limits.h"
#include "wire/time.h"

#define ROWS_MAX 12
#define LABEL_WIDTH 6

void history_release(struct history *h)
{
	free(h->v);
	*h = (struct history){ 0 };
}

static int order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static int64_t begin_ms(const struct job *job)
{
	int64_t at;

	return time_get(json_get_str(json_get(job->obj, "status"), "startTime", NULL), &at)
		       ? at
		       : job->created_ms;
}

int history_read(const cJSON *obj, int64_t now_ms, struct history *out, struct err *err)
{
	const cJSON *list = json_at(obj, "status", "scaleHistory", NULL), *e;
	struct history h = { .end_ms = now_ms };
	int64_t end;

	if (!(h.v = calloc(json_len(list) + 1, sizeof(*h.v))))
		return err_nomem(err);
	job_view(obj, &h.job);
	h.v[h.n++] = (struct change){ .at_ms = begin_ms(&h.job), .cause = "started", .result = "" };
	json_each (e, list) {
		struct change c = { .from = json_get_int(e, "from", 0),
				    .to = json_get_int(e, "to", 0),
				    .cause = json_get_str(e, "cause", ""),
				    .result = json_get_str(e, "result", "") };

		if (time_get(json_get_str(e, "time", NULL), &c.at_ms))
			h.v[h.n++] = c;
	}
	qsort(h.v + 1, h.n - 1, sizeof(*h.v), order);
	if (h.n > 1 && h.v[1].at_ms < h.v[0].at_ms)
		h.v[0].at_ms = h.v[1].at_ms; /* the clock of another machine */
	h.v[0].to = h.n > 1 ? h.v[1].from : h.job.target;
	if (h.n > 1 && h.v[1].from == 0) { /* the controller records the start itself */
		memmove(h.v, h.v + 1, (h.n - 1) * sizeof(*h.v));
		h.n--;
	}
	if (job_finished(&h.job) &&
	    time_get(json_get_str(json_get(obj, "status"), "completionTime", NULL), &end))
		h.end_ms = end;
	if (h.end_ms <= h.v[0].at_ms)
		h.end_ms = h.v[0].at_ms + 1000;
	for (size_t i = 0; i < h.n; i++)
		h.most = h.v[i].to > h.most ? h.v[i].to : h.most;
	if (h.most < 1)
		h.most = 1;
	*out = h;
	return 0;
}

int64_t history_at(const struct history *h, int64_t at_ms)
{
	int64_t workers = h->v[0].to;

	for (size_t i = 0; i < h->n && h->v[i].at_ms <= at_ms; i++)
		workers = h->v[i].to;
	return workers;
}

/* Most workers in a column, so that a short peak is still seen. */
static int64_t column(const struct history *h, size_t i, size_t width)
{
	int64_t span = h->end_ms - h->v[0].at_ms;
	int64_t a = h->v[0].at_ms + span * (int64_t)i / (int64_t)width;
	int64_t b = h->v[0].at_ms + span * (int64_t)(i + 1) / (int64_t)width;
	int64_t most = history_at(h, a);

	for (size_t k = 0; k < h->n; k++)
		if (h->v[k].at_ms > a && h->v[k].at_ms < b && h->v[k].to > most)
			most = h->v[k].to;
	return most;
}

int history_chart(const struct history *h, size_t width, bool utf8, struct buf *out,
		  struct err *err)
{
	size_t cols = width > LABEL_WIDTH + 12 ? width - LABEL_WIDTH - 2 : 10;
	int64_t rows = h->most < ROWS_MAX ? h->most : ROWS_MAX;
	char span[TIME_TEXT_SIZE];

	for (int64_t r = rows; r > 0; r--) {
		int64_t level = (h->most * r + rows - 1) / rows; /* workers at the top of the row */
		int64_t below = (h->most * (r - 1) + rows - 1) / rows;

		buf_printf(out, "%*" PRId64 " %s", LABEL_WIDTH - 1, level, utf8 ? "\u2502" : "|");
		size_t end = out->len;
		for (size_t i = 0; i < cols; i++) {
			int64_t w = column(h, i, cols);

			buf_str(out, w >= level  ? (utf8 ? "\u2588" : "#")
				     : w > below ? (utf8 ? "\u2584" : "+")
						 : " ");
			if (w > below)
				end = out->len;
		}
		buf_cut(out, out->len > end ? end : out->len);
		buf_char(out, '\n');
	}
	buf_printf(out, "%*s %s", LABEL_WIDTH - 1, "0", utf8 ? "\u2514" : "+");
	for (size_t i = 0; i < cols; i++)
		buf_str(out, utf8 ? "\u2500" : "-");
	duration_human((h->end_ms - h->v[0].at_ms) / 1000, span);
	buf_printf(out, "\n%*s 0%*s\n", LABEL_WIDTH, "", (int)(cols - 1), span);
	return buf_check(out, err);
}
