/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault: makes the nth call of a kind fail, in code that is linked with the
 * test (the linker wraps the functions). One at a time, for single-threaded
 * tests; a sweep arms 1, 2, 3 ... until nothing fires:
 *
 *	for (unsigned n = 1, fired = 1; fired; n++) {
 *		fault_arm(FAULT_ALLOC, n);
 *		rc = thing(&err);
 *		fired = fault_disarm();
 *		assert_int_equal(rc, fired ? -1 : 0);
 *	}
 */
#ifndef FAULT_H
#define FAULT_H
#include "base/defs.h"

enum fault_kind {
	FAULT_NONE,
	FAULT_ALLOC,  /* malloc, calloc, realloc, reallocarray, strdup, strndup, cJSON's too */
	FAULT_READ,   /* read and recv: EIO */
	FAULT_WRITE,  /* write and send: ENOSPC */
	FAULT_OPEN,   /* open: EMFILE */
	FAULT_RENAME, /* EACCES */
	FAULT_FSYNC,  /* EIO */
	FAULT_RANDOM, /* getrandom: ENOSYS */
	FAULT_SHORT,  /* read, recv, write and send move one byte: no failure */
	FAULT_EINTR,  /* the same calls are interrupted once: no failure */
};

/* The nth call of the kind from here on fails, once. */
void fault_arm(enum fault_kind kind, unsigned n);
/* The nth call and all later ones fail. */
void fault_arm_all(enum fault_kind kind, unsigned n);
/* Ends it; true when a call failed. */
bool fault_disarm(void);
#endif
