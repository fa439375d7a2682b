/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/utf8.h"

static const char hex[] = "0123456789abcdef";

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->cap);
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->size);
	buf_release(b);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->fail = FAIL_NONE;
	if (b->data)
		b->data[0] = '\0';
}

/* Makes room for n more bytes and the NUL; false when that fails, now or before. */
static bool room(struct buf *b, size_t n)
{
	size_t need, size;
	char *data;

	if (b->fail != FAIL_NONE)
		return false;
	if (n > b->cap - b->len || !size_add(b->len + 1, n, &need)) {
		b->fail = FAIL_LIMIT;
		return false;
	}
	if (need <= b->size)
		return true;
	size = b->size < 32 ? 64 : b->size * 2;
	if (size < need)
		size = need;
	if (size > b->cap && b->cap >= need - 1)
		size = b->cap + 1;
	data = realloc(b->data, size);
	if (!data) {
		b->fail = FAIL_NOMEM;
		return false;
	}
	if (!b->data)
		data[0] = '\0';
	b->data = data;
	b->size = size;
	return true;
}

void buf_reserve(struct buf *b, size_t n)
{
	(void)room(b, n); /* a failure latches */
}

void buf_add(struct buf *b, const void *src, size_t n)
{
	if (!room(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, src, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	if (!room(b, 0))
		return;
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, b->size - b->len, fmt, ap);
	if (n < 0) {
		b->fail = FAIL_NOMEM; /* glibc has no other reason for our formats */
		b->data[b->len] = '\0';
	} else if ((size_t)n < b->size - b->len) {
		b->len += (size_t)n;
		if (b->len > b->cap) {
			b->len -= (size_t)n;
			b->fail = FAIL_LIMIT;
		}
	} else {
		b->data[b->len] = '\0';
		if (room(b, (size_t)n)) {
			(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
			b->len += (size_t)n;
		}
	}
	b->data[b->len] = '\0';
	va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

/* The letter of JSON's two-character escapes, or 0. */
static char short_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return '"';
	case '\\':
		return '\\';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

void buf_json(struct buf *b, const char *s, size_t n)
{
	size_t start = 0;
	size_t i = 0;

	buf_char(b, '"');
	while ((i += utf8_plain(s + i, n - i)) < n) {
		unsigned char c = (unsigned char)s[i];
		size_t len = utf8_len(s + i, n - i);

		if (len && c >= 0x20 && c != '"' && c != '\\') {
			i += len;
			continue;
		}
		buf_add(b, s + start, i - start);
		if (!len)
			buf_str(b, "\xef\xbf\xbd"); /* no UTF-8: U+FFFD, as Go prints it */
		else if (short_escape(c))
			buf_add(b, (const char[]){ '\\', short_escape(c) }, 2);
		else
			buf_add(b, (const char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] },
				6);
		start = ++i;
	}
	buf_add(b, s + start, n - start);
	buf_char(b, '"');
}

void buf_visible(struct buf *b, const char *s, size_t n)
{
	while (n) {
		size_t len = utf8_len(s, n);
		size_t bad = len ? len : 1;

		if (len && !utf8_is_control(s, len)) {
			buf_add(b, s, len);
		} else {
			for (size_t i = 0; i < bad; i++) {
				unsigned char c = (unsigned char)s[i];

				buf_add(b, (const char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] },
					4);
			}
		}
		s += bad;
		n -= bad;
	}
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

void buf_cut(struct buf *b, size_t n)
{
	if (n >= b->len)
		return;
	b->len = n;
	b->data[n] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
	if (n > b->len)
		n = b->len;
	if (!n)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

int buf_check(const struct buf *b, struct err *err)
{
	if (b->fail == FAIL_NONE)
		return 0;
	if (b->fail == FAIL_LIMIT)
		return err_set(err, FAIL_LIMIT, "larger than the limit of %zu bytes", b->cap);
	return err_nomem(err);
}

int buf_finish(struct buf *b, char **out, struct err *err)
{
	if (room(b, 0))
		*out = TAKE(b->data);
	if (buf_check(b, err) < 0)
		return -1;
	buf_release(b);
	return 0;
}
