/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: time as a dependency, so that tests and the simulator can set it.
 * Wall time (Unix milliseconds) is for what people and the API read; monotonic
 * milliseconds are for time-outs and ages.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include "base/defs.h"

struct clock {
	int64_t (*wall_ms)(const struct clock *c); /* Unix time, milliseconds */
	int64_t (*mono_ms)(const struct clock *c); /* monotonic, milliseconds */
	void *arg;                                 /* of a test's clock */
};

/* The system's clocks. Static, never freed. */
const struct clock *clock_system(void);

static inline int64_t clock_wall_ms(const struct clock *c)
{
	return c->wall_ms(c);
}

static inline int64_t clock_mono_ms(const struct clock *c)
{
	return c->mono_ms(c);
}
/* Fills n random bytes from the kernel (getrandom); returns 0, or -1 with errno set. */
MUST_USE int clock_random(void *out, size_t n);
#endif
