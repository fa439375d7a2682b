/* SPDX-License-Identifier: Apache-2.0 */
/* preflight: warnings before a job is made. */
#ifndef PLUGIN_PREFLIGHT_H
#define PLUGIN_PREFLIGHT_H
#include "cmd.h"

/*
 * Warns about a quota that is too small and nodes without enough GPUs, in one round trip. What
 * may not be read is left out. -1 only when the server can not be reached.
 */
MUST_USE int preflight(struct cmd_ctx *ctx, const cJSON *job, struct err *err);
#endif
