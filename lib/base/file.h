/* SPDX-License-Identifier: Apache-2.0 */
/* file: whole files with a size limit. */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "base/buf.h"

/* Appends the file at path ("-": standard input) to out. FAIL_OS, FAIL_LIMIT or FAIL_NOMEM. */
MUST_USE int file_read(const char *path, struct buf *out, struct err *err);
/* Writes all n bytes to path through a temporary file, fsync and rename; mode as given. */
MUST_USE int file_write(const char *path, const void *data, size_t n, unsigned mode,
			struct err *err);
/* Writes all to fd, through EINTR and short writes. */
MUST_USE int file_write_fd(int fd, const void *data, size_t n, struct err *err);
/* Makes path and its missing parents (mode 0700 for those it makes). */
MUST_USE int file_mkdirs(const char *path, struct err *err);
#endif
