/* SPDX-License-Identifier: Apache-2.0 */
/* events: what happened to a job, its pods and its scalers. */
#ifndef PLUGIN_EVENTS_H
#define PLUGIN_EVENTS_H
#include "cmd.h"
#include "wire/json.h"

/* Whether an event is about the job, one of its pods, or one of its scalers. */
bool events_about(const cJSON *event, const char *job);
/* When it was last seen, Unix ms, 0 when it does not say. */
int64_t events_time(const cJSON *event);
/* Rows of n events, oldest first (sorted in place). */
MUST_USE int events_print(const cJSON **v, size_t n, int64_t now_ms, bool headers, struct buf *out,
			  struct err *err);
#endif
