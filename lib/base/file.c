/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/strs.h"

/* Reads fd to its end into out. */
static int read_all(int fd, struct buf *out, struct err *err)
{
	char chunk[32768];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(err, errno, "read");
		if (n == 0)
			return buf_check(out, err);
		buf_add(out, chunk, (size_t)n);
		if (buf_check(out, err) < 0)
			return -1;
	}
}

int file_read(const char *path, struct buf *out, struct err *err)
{
	AUTO_CLOSE int fd = -1;

	if (strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, out, err) < 0 ? err_wrap(err, "standard input") : 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_os(err, errno, "cannot open \"%s\"", path);
	return read_all(fd, out, err) < 0 ? err_wrap(err, "\"%s\"", path) : 0;
}

int file_write_fd(int fd, const void *data, size_t n, struct err *err)
{
	const char *from = data;

	while (n) {
		ssize_t done = write(fd, from, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_os(err, errno, "write");
		from += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Fills and syncs the new file; closes fd in any case. */
static int fill(int fd, const void *data, size_t n, unsigned mode, struct err *err)
{
	int rc = file_write_fd(fd, data, n, err);

	if (rc == 0 && fchmod(fd, (mode_t)mode) < 0)
		rc = err_os(err, errno, "chmod");
	if (rc == 0 && fsync(fd) < 0)
		rc = err_os(err, errno, "fsync");
	if (close(fd) < 0 && rc == 0)
		rc = err_os(err, errno, "close");
	return rc;
}

int file_write(const char *path, const void *data, size_t n, unsigned mode, struct err *err)
{
	AUTO(buf) struct buf temporary = BUF_INIT(4096);
	int fd;

	buf_printf(&temporary, "%s.XXXXXX", path);
	if (buf_check(&temporary, err) < 0)
		return err_wrap(err, "\"%s\"", path);
	fd = mkostemp(temporary.data, O_CLOEXEC);
	if (fd < 0)
		return err_os(err, errno, "cannot create a file beside \"%s\"", path);
	if (fill(fd, data, n, mode, err) < 0) {
		(void)unlink(temporary.data); /* the first error is the one to tell */
		return err_wrap(err, "\"%s\"", path);
	}
	if (rename(temporary.data, path) < 0) {
		(void)err_os(err, errno, "cannot replace \"%s\"", path);
		(void)unlink(temporary.data);
		return -1;
	}
	return 0;
}

int file_mkdirs(const char *path, struct err *err)
{
	AUTO_FREE char *copy = NULL;

	if (str_copy(path, &copy, err) < 0)
		return -1;
	for (char *end = copy + 1; *copy; end++) {
		char saved = *end;

		if (saved != '/' && saved != '\0')
			continue;
		*end = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return err_os(err, errno, "cannot make folder \"%s\"", copy);
		*end = saved;
		if (!saved)
			break;
	}
	return 0;
}
