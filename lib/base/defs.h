/* SPDX-License-Identifier: Apache-2.0 */
/*
 * defs: the attributes and cleanup macros that every file uses.
 * The only header that everybody includes (through the others).
 */
#ifndef BASE_DEFS_H
#define BASE_DEFS_H
/* clang-format off */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* clang-format on */

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/*
 * Ownership that the compiler keeps: `AUTO(buf) struct buf b = BUF_INIT(64);`
 * calls buf_release(&b) when b goes out of scope. `AUTO_PTR(job) struct job *j`
 * calls job_free(j). AUTO_FREE is free(), AUTO_CLOSE is close() of a descriptor
 * that is not negative. TAKE(p) moves a pointer out and leaves NULL.
 */
#define AUTO(stem) __attribute__((cleanup(stem##_release)))
#define AUTO_FREE __attribute__((cleanup(auto_free)))
#define AUTO_CLOSE __attribute__((cleanup(auto_close)))
#define AUTO_FILE __attribute__((cleanup(auto_fclose)))
#define TAKE(p)                             \
	(__extension__({                    \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	}))
/* Makes the cleanup function for AUTO_PTR(stem) from stem_free(). */
#define DEFINE_AUTO_PTR(stem, type)                   \
	static inline void stem##_auto_free(type **p) \
	{                                             \
		stem##_free(*p);                      \
	}                                             \
	struct stem##_auto_ptr_needs_semicolon
#define AUTO_PTR(stem) __attribute__((cleanup(stem##_auto_free)))

static inline void auto_free(void *p)
{
	void **pp = (void **)p;

	free(*pp);
}

static inline void auto_close(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* nothing was written through it that matters here */
}

static inline void auto_fclose(FILE **f)
{
	if (*f)
		(void)fclose(*f); /* read side only; writers close by hand and check */
}

/* Overflow-checked sizes: true when the sum or product fits. */
static inline bool size_add(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool size_mul(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline bool str_eq(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

#include "base/banned.h"
#endif
