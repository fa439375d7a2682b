/* SPDX-License-Identifier: Apache-2.0 */
/* history: the number of workers over time, as a list, a chart for a terminal, or an SVG. Pure. */
#ifndef PLUGIN_HISTORY_H
#define PLUGIN_HISTORY_H
#include "base/strs.h"
#include "etjob/job.h"

struct change {
	int64_t at_ms;
	int64_t from, to;
	const char *cause, *result; /* borrowed, "" when absent */
};
struct history {
	struct change *v; /* owned, oldest first; the first is the start of the job */
	size_t n;
	int64_t end_ms; /* of the picture: the job's end, or now */
	int64_t most;   /* workers at the highest point */
	struct job job;
};
void history_release(struct history *h);
MUST_USE int history_read(const cJSON *obj, int64_t now_ms, struct history *out, struct err *err);
/* Workers meant at a time. */
int64_t history_at(const struct history *h, int64_t at_ms);
/* A chart of width columns, in block characters or in ASCII. */
MUST_USE int history_chart(const struct history *h, size_t width, bool utf8, struct buf *out,
			   struct err *err);
/* A picture that also prints well in black and white. */
MUST_USE int history_svg(const struct history *h, struct buf *out, struct err *err);
#endif
