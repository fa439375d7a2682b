/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index: informers over TrainingJobs, ScaleOuts and ScaleIns that keep the
 * present snapshot in a cell. Everything here runs in the loop's thread; other
 * threads see only the cell. Changes are published together at the end of a
 * turn; when building takes long (many thousand jobs), at most a tenth of the time goes into it.
 */
#ifndef WEBHOOK_INDEX_H
#define WEBHOOK_INDEX_H
#include "base/log.h"
#include "kube/informer.h"
#include "webhook/metrics.h"
#include "webhook/reserve.h"

struct index_opts {
	struct snap_cell *cell;
	struct reserve *reserve;
	struct metrics *metrics;
	const struct log *log;
	void (*on_publish)(void *arg); /* after each new snapshot; may be NULL */
	void *arg;
};
struct index;
/* Starts at once. */
MUST_USE int index_new(struct kube *k, const struct index_opts *opts, struct index **out,
		       struct err *err);
void index_free(struct index *i);
DEFINE_AUTO_PTR(index, struct index);
/* All three first lists were taken over, and published. Any thread. */
bool index_synced(const struct index *i);
/* What the last snapshot holds. Any thread. */
void index_counts(const struct index *i, size_t *jobs, size_t *scalers);
#endif
