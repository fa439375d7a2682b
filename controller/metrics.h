/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the engine's figures in Prometheus' text format. */
#ifndef CONTROLLER_METRICS_H
#define CONTROLLER_METRICS_H
#include "controller/engine.h"

struct metrics_extra {
	bool leader, synced;
	uint64_t api_requests;  /* all, lists and watches too */
	int64_t oldest_news_ms; /* of the informer that was silent for longest; -1: none yet */
};

/* Appends the text of /metrics. */
void metrics_print(const struct engine *e, const struct metrics_extra *extra, struct buf *out);
#endif
