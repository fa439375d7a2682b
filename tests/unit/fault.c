/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Test code: the one place with mutable statics, since the wrapped calls carry no context. */
static enum fault_kind armed;
static unsigned countdown;
static bool forever;
static bool fired;

/* True when this call is the one. */
static bool hit(enum fault_kind kind)
{
	if (armed != kind)
		return false;
	if (countdown > 1) {
		countdown--;
		return false;
	}
	if (countdown == 0 && !forever)
		return false;
	countdown = 0;
	fired = true;
	return true;
}

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_send(int fd, const void *from, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t n, int flags);
int __wrap_rename(const char *from, const char *to);
int __wrap_fsync(int fd);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags);

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __real_send(int fd, const void *from, size_t n, int flags);
ssize_t __real_recv(int fd, void *to, size_t n, int flags);
int __real_rename(const char *from, const char *to);
int __real_fsync(int fd);
int __real_open(const char *path, int flags, ...);
ssize_t __real_getrandom(void *to, size_t n, unsigned flags);

static bool no_memory(void)
{
	if (!hit(FAULT_ALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return no_memory() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return no_memory() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return no_memory() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return no_memory() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return no_memory() ? NULL : __real_strndup(s, n);
}

static bool broken(enum fault_kind kind, int errno_value)
{
	if (!hit(kind) && (kind == FAULT_OPEN || kind == FAULT_RENAME || kind == FAULT_FSYNC ||
			   kind == FAULT_RANDOM || !hit(FAULT_EINTR)))
		return false;
	errno = armed == FAULT_EINTR ? EINTR : errno_value;
	return true;
}

static size_t shortened(size_t n)
{
	return n > 1 && hit(FAULT_SHORT) ? 1 : n;
}

ssize_t __wrap_read(int fd, void *to, size_t n)
{
	return broken(FAULT_READ, EIO) ? -1 : __real_read(fd, to, shortened(n));
}

ssize_t __wrap_recv(int fd, void *to, size_t n, int flags)
{
	return broken(FAULT_READ, EIO) ? -1 : __real_recv(fd, to, shortened(n), flags);
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
	return broken(FAULT_WRITE, ENOSPC) ? -1 : __real_write(fd, from, shortened(n));
}

ssize_t __wrap_send(int fd, const void *from, size_t n, int flags)
{
	return broken(FAULT_WRITE, ENOSPC) ? -1 : __real_send(fd, from, shortened(n), flags);
}

int __wrap_rename(const char *from, const char *to)
{
	return broken(FAULT_RENAME, EACCES) ? -1 : __real_rename(from, to);
}

int __wrap_fsync(int fd)
{
	return broken(FAULT_FSYNC, EIO) ? -1 : __real_fsync(fd);
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return broken(FAULT_OPEN, EMFILE) ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags)
{
	return broken(FAULT_RANDOM, ENOSYS) ? -1 : __real_getrandom(to, n, flags);
}

static void arm(enum fault_kind kind, unsigned n, bool all)
{
	cJSON_Hooks hooks = { .malloc_fn = __wrap_malloc, .free_fn = free };

	cJSON_InitHooks(&hooks);
	fired = false;
	countdown = n;
	forever = all;
	armed = kind;
}

void fault_arm(enum fault_kind kind, unsigned n)
{
	arm(kind, n, false);
}

void fault_arm_all(enum fault_kind kind, unsigned n)
{
	arm(kind, n, true);
}

bool fault_disarm(void)
{
	armed = FAULT_NONE;
	return fired;
}
