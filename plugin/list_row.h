/* SPDX-License-Identifier: Apache-2.0 */
/* list_row: what list shows of a job, small enough to keep for thousands of them. */
#ifndef PLUGIN_LIST_ROW_H
#define PLUGIN_LIST_ROW_H
#include "base/map.h"
#include "jobinfo.h"

/* What the pods of one job add up to. */
struct tally {
	int64_t gpus_allocated, ready, pending, bad;
	bool launcher, launcher_pending;
	char *node;   /* owned: of the launcher */
	char *reason; /* owned: of the first pod in trouble */
};
void tally_free(void *t);
/* Adds a pod to its job's tally in a map of "ns/job". */
MUST_USE int tally_add(struct map *tallies, const cJSON *pod, struct err *err);

enum row_col {
	ROW_NAMESPACE,
	ROW_NAME,
	ROW_STATUS,
	ROW_TRAINER,
	ROW_DURATION,
	ROW_GPU_REQUESTED,
	ROW_GPU_ALLOCATED,
	ROW_NODE,
	ROW_WORKERS,
	ROW_MIN,
	ROW_MAX,
	ROW_RESTARTS,
	ROW_AGE,
	ROW_REASON,
	ROW_COLS,
};
struct row {
	char *cell[ROW_COLS]; /* owned */
	char *sort;           /* owned: the value of --sort-by */
	bool sort_number;
	double number;
	bool finished;
};
struct rows {
	struct row *v;
	size_t n, size;
};
void rows_release(struct rows *r);
/* tally NULL: no pods. sort_by: a JSONPath as kubectl's --sort-by, or NULL. */
MUST_USE int rows_add(struct rows *r, const cJSON *job, const struct tally *tally,
		      const char *sort_by, int64_t now_ms, struct err *err);
void rows_sort(struct rows *r);
/* With a namespace column when all is set. */
MUST_USE int rows_print(const struct rows *r, bool all, bool wide, bool headers, struct buf *out,
			struct err *err);
/*
 * Lines cut to the width of a terminal, so that each stays one line there; `end` after each.
 * Returns their number.
 */
size_t rows_cut(const char *text, size_t width, const char *end, struct buf *out);
#endif
