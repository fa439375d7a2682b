/* SPDX-License-Identifier: Apache-2.0 */
/* app: the running webhook: its loop, its parts, and its end. */
#ifndef WEBHOOK_APP_H
#define WEBHOOK_APP_H
#include "base/log.h"
#include "webhook/options.h"

/*
 * Serves until a signal comes in on signal_fd (a signalfd of SIGTERM and SIGINT, blocked in
 * all threads), then drains. A second signal ends it at once. Returns 0 when it was told to end.
 */
MUST_USE int app_run(const struct options *o, int signal_fd, const struct log *log,
		     struct err *err);
#endif
