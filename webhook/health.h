/* SPDX-License-Identifier: Apache-2.0 */
/* health: the plain port with /healthz, /readyz and /metrics. */
#ifndef WEBHOOK_HEALTH_H
#define WEBHOOK_HEALTH_H
#include "base/buf.h"
#include "base/err.h"

struct health_opts {
	const char *listen; /* "[HOST]:PORT" */
	/* Both are called in the port's thread. NULL text: all is well; else static text with the
	 * reason. */
	const char *(*alive)(void *arg);
	const char *(*ready)(void *arg);
	void (*metrics)(void *arg, struct buf *out);
	void *arg;
};
struct health;
MUST_USE int health_start(const struct health_opts *opts, struct health **out, struct err *err);
/* NULL is fine. */
void health_free(struct health *h);
#endif
