/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history_svg: workers over time as a step line with the bounds as dashed lines,
 * and a numbered list of what caused each change below. Black on white, no
 * script, no font of its own: it reads well on paper.
 */
#include "base/limits.h"
#include "history.h"
#include "wire/time.h"

#define W 900.0
#define LEFT 56.0
#define RIGHT 24.0
#define TOP 56.0
#define PLOT_H 280.0
#define LINE_H 18.0

static void xml(struct buf *out, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			buf_str(out, "&lt;");
			break;
		case '>':
			buf_str(out, "&gt;");
			break;
		case '&':
			buf_str(out, "&amp;");
			break;
		case '"':
			buf_str(out, "&quot;");
			break;
		default: /* XML 1.0 has no control characters */
			buf_char(out, (unsigned char)*s < 0x20 ? ' ' : *s);
		}
	}
}

struct scale {
	const struct history *h;
	double top; /* workers at the top of the plot */
};

static double x_of(const struct scale *s, int64_t at_ms)
{
	int64_t start = s->h->v[0].at_ms;

	return LEFT + (W - LEFT - RIGHT) * (double)(at_ms - start) / (double)(s->h->end_ms - start);
}

static double y_of(const struct scale *s, double workers)
{
	return TOP + PLOT_H - PLOT_H * workers / s->top;
}

/* A whole step that gives at most 8 lines. */
static int64_t tick(double top)
{
	static const int64_t steps[] = { 1, 2, 5 };

	for (int64_t base = 1;; base *= 10)
		for (size_t i = 0; i < ARRAY_LEN(steps); i++)
			if (top / (double)(base * steps[i]) <= 8.0)
				return base * steps[i];
}

static void grid(const struct scale *s, struct buf *out)
{
	int64_t step = tick(s->top), span = (s->h->end_ms - s->h->v[0].at_ms) / 1000;
	char text[TIME_TEXT_SIZE];

	for (int64_t w = 0; (double)w <= s->top; w += step) {
		double y = y_of(s, (double)w);

		buf_printf(
			out,
			"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%" PRId64 "</text>\n",
			LEFT, y, W - RIGHT, y, LEFT - 8, y + 4, w);
	}
	for (int i = 0; i <= 4; i++) {
		double x = LEFT + (W - LEFT - RIGHT) * i / 4;

		duration_human(span * i / 4, text);
		buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x,
			   TOP + PLOT_H + 20,
			   i == 0   ? "start"
			   : i == 4 ? "end"
				    : "middle",
			   i ? text : "0");
	}
}

static void bound(const struct scale *s, const char *name, int64_t workers, struct buf *out)
{
	double y = y_of(s, (double)workers);

	buf_printf(out,
		   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#666\" "
		   "stroke-dasharray=\"6 4\"/>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" "
		   "fill=\"#666\">%s %" PRId64 "</text>\n",
		   LEFT, y, W - RIGHT, y, W - RIGHT - 4, y - 4, name, workers);
}

static void curve(const struct scale *s, struct buf *out)
{
	const struct history *h = s->h;

	buf_printf(out, "<path fill=\"none\" stroke=\"#000\" stroke-width=\"2.5\" d=\"M%.1f %.1f",
		   x_of(s, h->v[0].at_ms), y_of(s, (double)h->v[0].to));
	for (size_t i = 1; i < h->n; i++)
		buf_printf(out, "H%.1fV%.1f", x_of(s, h->v[i].at_ms), y_of(s, (double)h->v[i].to));
	buf_printf(out, "H%.1f\"/>\n", W - RIGHT);
	for (size_t i = 1; i < h->n; i++)
		buf_printf(
			out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"8\" fill=\"#fff\" stroke=\"#000\"/>\n"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"10\">%zu</text>\n",
			x_of(s, h->v[i].at_ms), y_of(s, (double)h->v[i].to), x_of(s, h->v[i].at_ms),
			y_of(s, (double)h->v[i].to) + 3.5, i);
}

static void legend(const struct history *h, struct buf *out)
{
	double y = TOP + PLOT_H + 56;
	char time[TIME_TEXT_SIZE];

	for (size_t i = 1; i < h->n; i++, y += LINE_H) {
		time_format(h->v[i].at_ms, time);
		buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\">%zu. %s  %" PRId64 " to %" PRId64 "  ",
			   LEFT, y, i, time, h->v[i].from, h->v[i].to);
		xml(out, h->v[i].cause);
		if (*h->v[i].result) {
			buf_str(out, ": ");
			xml(out, h->v[i].result);
		}
		buf_str(out, "</text>\n");
	}
}

int history_svg(const struct history *h, struct buf *out, struct err *err)
{
	bool bounded = h->job.max != INT32_MAX && h->job.max <= h->most * 4;
	struct scale s = { .h = h, .top = (double)(bounded ? h->job.max : h->most) + 0.5 };
	double height = TOP + PLOT_H + 56 + LINE_H * (double)h->n;

	if (bounded && h->most > h->job.max)
		s.top = (double)h->most + 0.5;
	buf_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
		"%.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<title>Workers of ",
		W, height, W, height);
	xml(out, h->job.name);
	buf_str(out, " over time</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	buf_printf(out,
		   "<text x=\"%.1f\" y=\"28\" font-size=\"16\" font-weight=\"bold\">Workers of ",
		   LEFT);
	xml(out, h->job.ns);
	buf_char(out, '/');
	xml(out, h->job.name);
	buf_str(out, "</text>\n");
	grid(&s, out);
	if (bounded)
		bound(&s, "max", h->job.max, out);
	bound(&s, "min", h->job.min, out);
	curve(&s, out);
	legend(h, out);
	buf_str(out, "</svg>\n");
	return buf_check(out, err);
}
