/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a whole program, libraries and all: makes the nth call of a
 * kind fail. It is told by the environment:
 *	FAULT_PROGRAM  name of the program that it is for; others are left alone
 *	FAULT_KIND     alloc, read, write, open, connect, rename, fsync or random
 *	FAULT_AT       n, from 1; FAULT_ALL=1: all later calls too
 *	FAULT_FIRED    a file that is made when a call failed
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { NONE, ALLOC, READ, WRITE, OPEN, CONNECT, RENAME, FSYNC, RANDOM };

static enum kind armed;
static bool all;
static atomic_long countdown;
static const char *fired_path;

static enum kind kind_of(const char *word)
{
	static const char *const words[] = { "none",    "alloc",  "read",  "write", "open",
					     "connect", "rename", "fsync", "random" };

	for (int i = 0; word && i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (strcmp(word, words[i]) == 0)
			return (enum kind)i;
	return NONE;
}

__attribute__((constructor)) static void set_up(void)
{
	const char *program = getenv("FAULT_PROGRAM");
	const char *at = getenv("FAULT_AT");

	if (!program || !at || strcmp(program, program_invocation_short_name) != 0)
		return;
	fired_path = getenv("FAULT_FIRED");
	all = getenv("FAULT_ALL") != NULL;
	atomic_store(&countdown, strtol(at, NULL, 10));
	armed = kind_of(getenv("FAULT_KIND"));
}

static bool hit(enum kind kind, int errno_value)
{
	long left;

	if (armed != kind)
		return false;
	left = atomic_fetch_sub(&countdown, 1);
	if (left > 1 || (left < 1 && !all))
		return false;
	if (fired_path && left == 1) {
		long fd = syscall(SYS_openat, AT_FDCWD, fired_path, O_CREAT | O_WRONLY, 0600);

		if (fd >= 0)
			(void)syscall(SYS_close, fd);
	}
	errno = errno_value;
	return true;
}

/* --- memory -------------------------------------------------------------- */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return hit(ALLOC, ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return hit(ALLOC, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return hit(ALLOC, ENOMEM) ? NULL : __libc_realloc(p, n);
}

/* --- files and sockets ----------------------------------------------------- */

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *to, size_t n)
{
	return hit(READ, EIO) ? -1 : NEXT(read)(fd, to, n);
}

ssize_t recv(int fd, void *to, size_t n, int flags)
{
	return hit(READ, ECONNRESET) ? -1 : NEXT(recv)(fd, to, n, flags);
}

ssize_t write(int fd, const void *from, size_t n)
{
	return hit(WRITE, ENOSPC) ? -1 : NEXT(write)(fd, from, n);
}

ssize_t send(int fd, const void *from, size_t n, int flags)
{
	return hit(WRITE, EPIPE) ? -1 : NEXT(send)(fd, from, n, flags);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return hit(OPEN, EMFILE) ? -1 : NEXT(open)(path, flags, mode);
}

int connect(int fd, const struct sockaddr *to, socklen_t n)
{
	return hit(CONNECT, ENETUNREACH) ? -1 : NEXT(connect)(fd, to, n);
}

int rename(const char *from, const char *to)
{
	return hit(RENAME, EACCES) ? -1 : NEXT(rename)(from, to);
}

int fsync(int fd)
{
	return hit(FSYNC, EIO) ? -1 : NEXT(fsync)(fd);
}

ssize_t getrandom(void *to, size_t n, unsigned flags)
{
	return hit(RANDOM, ENOSYS) ? -1 : NEXT(getrandom)(to, n, flags);
}
