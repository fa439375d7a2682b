/* SPDX-License-Identifier: Apache-2.0 */
/* serve: /healthz, /readyz and /metrics over plain HTTP, on the controller's own loop. */
#ifndef CONTROLLER_SERVE_H
#define CONTROLLER_SERVE_H
#include "base/buf.h"
#include "kube/loop.h"

struct serve;

struct serve_opts {
	/* Both append a text; ready returns whether the answer is 200 or 503. */
	bool (*ready)(void *arg, struct buf *out);
	void (*metrics)(void *arg, struct buf *out);
	void *arg;
};

/* listen: "HOST:PORT", ":PORT" (all addresses) or "[V6]:PORT". FAIL_USAGE, FAIL_OS. */
MUST_USE int serve_new(struct loop *loop, const char *listen, const struct serve_opts *opts,
		       struct serve **out, struct err *err);
void serve_free(struct serve *s);
DEFINE_AUTO_PTR(serve, struct serve);
#endif
