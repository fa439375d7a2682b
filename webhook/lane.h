/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane: the thread for what takes long: large bodies, and reviews that wait for
 * the index. Its exchanges are suspended in libmicrohttpd meanwhile.
 */
#ifndef WEBHOOK_LANE_H
#define WEBHOOK_LANE_H
#include "base/err.h"

struct exchange;
struct lane;
struct snap_cell;
MUST_USE int lane_new(struct snap_cell *cell, struct lane **out, struct err *err);
/* Answers what it still has, then ends the thread. NULL is fine. */
void lane_free(struct lane *l);
/* Takes x until it resumes it. Any thread. */
void lane_push(struct lane *l, struct exchange *x);
/* There is a new snapshot. Any thread. */
void lane_index_moved(struct lane *l);
#endif
