/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <sys/random.h>

static int64_t ms_of(clockid_t id)
{
	struct timespec t = { 0 };

	(void)clock_gettime(id, &t); /* these two clocks always exist */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t wall_ms(const struct clock *c)
{
	(void)c;
	return ms_of(CLOCK_REALTIME);
}

static int64_t mono_ms(const struct clock *c)
{
	(void)c;
	return ms_of(CLOCK_MONOTONIC);
}

const struct clock *clock_system(void)
{
	static const struct clock system_clock = { .wall_ms = wall_ms, .mono_ms = mono_ms };

	return &system_clock;
}

int clock_random(void *out, size_t n)
{
	unsigned char *to = out;

	while (n) {
		ssize_t got = getrandom(to, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		to += got;
		n -= (size_t)got;
	}
	return 0;
}
