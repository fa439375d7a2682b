/* SPDX-License-Identifier: Apache-2.0 */
/* show: a job on one screen. */
#ifndef PLUGIN_SHOW_H
#define PLUGIN_SHOW_H
#include "jobinfo.h"

/* arena's layout of get, and what arena does not show. */
MUST_USE int show_job(const struct jobinfo *j, bool wide, int64_t now_ms, struct buf *out,
		      struct err *err);
#endif
