/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "base/utf8.h"

/* strerror_r comes in two shapes; its text may or may not land in the buffer. */
static _Thread_local char os_text[96];

const char *err_os_text(int errno_value)
{
	return strerror_r(errno_value, os_text, sizeof(os_text));
}

/* Copies text to dst (size bytes with the NUL), escaped, cut between characters. */
static size_t copy_visible(char *dst, size_t size, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t left = strlen(text);
	size_t used = 0;

	while (left) {
		size_t len = utf8_len(text, left);
		bool escape = len == 0 || utf8_is_control(text, len);
		size_t need = escape ? 4 : len;

		if (used + need >= size)
			break;
		if (escape) {
			unsigned char c = (unsigned char)*text;

			dst[used++] = '\\';
			dst[used++] = 'x';
			dst[used++] = hex[c >> 4];
			dst[used++] = hex[c & 15];
			len = 1;
		} else {
			memcpy(dst + used, text, len);
			used += len;
		}
		text += len;
		left -= len;
	}
	dst[used] = '\0';
	return used;
}

int err_set(struct err *err, enum fail fail, const char *fmt, ...)
{
	char text[ERR_MSG_SIZE];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a cut message is still a message */
	va_end(ap);
	err->fail = fail;
	err->os = 0;
	err->http = 0;
	(void)copy_visible(err->msg, sizeof(err->msg), text);
	return -1;
}

int err_os(struct err *err, int errno_value, const char *fmt, ...)
{
	char text[ERR_MSG_SIZE];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)err_set(err, FAIL_OS, "%s: %s", text, err_os_text(errno_value));
	err->os = errno_value;
	return -1;
}

int err_nomem(struct err *err)
{
	return err_set(err, FAIL_NOMEM, "out of memory");
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char context[ERR_MSG_SIZE];
	char text[ERR_MSG_SIZE];
	va_list ap;
	size_t used;

	if (!err)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	used = copy_visible(context, sizeof(context) - 2, text);
	context[used++] = ':';
	context[used++] = ' ';
	context[used] = '\0';
	/* The message there is escaped already: move it, do not escape its backslashes anew. */
	(void)snprintf(text, sizeof(text), "%s", err->msg);
	(void)snprintf(err->msg, sizeof(err->msg), "%s", context);
	(void)snprintf(err->msg + used, sizeof(err->msg) - used, "%s", text);
	return -1;
}
