/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_len(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* A byte of w with its high bit set wherever the byte is below k (k <= 0x80). */
static uint64_t below(uint64_t w, uint64_t k)
{
	return (w - 0x0101010101010101u * k) & ~w;
}

size_t utf8_plain(const char *s, size_t n)
{
	const uint64_t high = 0x8080808080808080u;
	size_t i = 0;

	/* Eight at a time: any byte below 0x20, from 0x80 up, or one of the two ends it. */
	for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t w, ends;

		memcpy(&w, s + i, sizeof(w));
		ends = (w | below(w, 0x20) | below(w ^ 0x2222222222222222u, 1) |
			below(w ^ 0x5c5c5c5c5c5c5c5cu, 1)) &
		       high;
		if (!ends)
			continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		/* A borrow may mark bytes after the first that ends it, never one before. */
		return i + (size_t)__builtin_ctzll(ends) / 8;
#else
		break;
#endif
	}
	while (i < n && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x80 && s[i] != '"' &&
	       s[i] != '\\')
		i++;
	return i;
}

bool utf8_is_control(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	return len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

size_t utf8_put(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | (cp >> 6));
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | (cp >> 12));
		out[1] = (char)(0x80 | ((cp >> 6) & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (cp >> 18));
	out[1] = (char)(0x80 | ((cp >> 12) & 0x3f));
	out[2] = (char)(0x80 | ((cp >> 6) & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}
