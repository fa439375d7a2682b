/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *data, size_t n)
{
	const unsigned char *s = data;

	buf_reserve(out, n / 3 * 4 + (n % 3 ? 4 : 0));
	for (; n; n -= n < 3 ? n : 3, s += 3) {
		uint32_t group = (uint32_t)s[0] << 16;

		if (n > 1)
			group |= (uint32_t)s[1] << 8;
		if (n > 2)
			group |= s[2];
		buf_add(out,
			(const char[]){ alphabet[group >> 18], alphabet[(group >> 12) & 63],
					n > 1 ? alphabet[(group >> 6) & 63] : '=',
					n > 2 ? alphabet[group & 63] : '=' },
			4);
	}
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

static int bad(size_t at, struct err *err)
{
	/* Not the text itself: it may be a secret. */
	return err_set(err, FAIL_INPUT, "illegal base64 data at input byte %zu", at);
}

int base64_decode(const char *text, size_t n, struct buf *out, struct err *err)
{
	uint32_t group = 0;
	unsigned have = 0; /* characters of the group, padding included */
	unsigned padding = 0;
	size_t before = out->len;

	for (size_t i = 0; i < n; i++) {
		int value = value_of(text[i]);

		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=' && have >= 2) {
			value = 0;
			padding++;
		} else if (value < 0 || padding) {
			buf_cut(out, before);
			return bad(i, err);
		}
		group = group << 6 | (uint32_t)value;
		if (++have < 4)
			continue;
		buf_add(out, (const char[]){ (char)(group >> 16), (char)(group >> 8), (char)group },
			3 - padding);
		group = 0;
		have = 0;
	}
	if (have) {
		buf_cut(out, before);
		return bad(n, err);
	}
	return buf_check(out, err);
}
