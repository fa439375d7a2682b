/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: what went wrong, on the caller's stack.
 * No allocation and nothing to free, so it works when memory is out.
 * Convention: a function returns 0 (or a count) on success and -1 on failure,
 * and returns -1 if and only if it set err. It is set once, at the deepest
 * point, with a fact; above, err_wrap() adds context. Messages are one line
 * without a full stop; foreign text goes in quotes.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H
#include <stdarg.h>

#include "base/defs.h"

enum fail {
	FAIL_NONE = 0,
	FAIL_NOMEM,    /* memory is out */
	FAIL_LIMIT,    /* a limit of base/limits.h was reached */
	FAIL_USAGE,    /* wrong flags or arguments: exit status 2 */
	FAIL_INPUT,    /* a file, a document or a value that does not parse or validate */
	FAIL_OS,       /* a system call failed; err.os is errno */
	FAIL_NET,      /* no answer: connect, TLS, reset, time-out */
	FAIL_TIMEOUT,  /* a deadline passed: exit status 124 where the user set it */
	FAIL_HTTP,     /* the server answered with an error; err.http is the status */
	FAIL_CONFIG,   /* kubeconfig or credentials */
	FAIL_CANCELED, /* interrupted by a signal or by the caller */
	FAIL_STATE,    /* the thing asked for can not be done now (job finished...) */
};

#define ERR_MSG_SIZE 1024
struct err {
	enum fail fail;
	int os;                 /* errno for FAIL_OS, else 0 */
	int http;               /* HTTP status for FAIL_HTTP, else 0 */
	char msg[ERR_MSG_SIZE]; /* NUL-terminated UTF-8, control characters escaped, cut at the end
				 */
};
#define ERR_INIT ((struct err){ .fail = FAIL_NONE })

/* Sets err (which may be NULL) and returns -1. Control characters are escaped as \xNN. */
PRINTF(3, 4) int err_set(struct err *err, enum fail fail, const char *fmt, ...);
/* FAIL_OS with ": <text of errno_value>" appended. Returns -1. */
PRINTF(3, 4) int err_os(struct err *err, int errno_value, const char *fmt, ...);
/* FAIL_NOMEM, "out of memory". Returns -1. */
int err_nomem(struct err *err);
/* Puts "<context>: " before the message that is there. Returns -1. */
PRINTF(2, 3) int err_wrap(struct err *err, const char *fmt, ...);
/* The text of an errno, thread-safe; never NULL; valid until the thread's next call. */
const char *err_os_text(int errno_value);
#endif
