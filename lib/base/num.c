/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#define SECOND INT64_C(1000000000)

/* How much of a bad text goes into a message. */
static int shown(size_t len)
{
	return len > 64 ? 64 : (int)len;
}

int num_parse(const char *text, size_t len, int64_t min, int64_t max, int64_t *out, struct err *err)
{
	size_t i = 0;
	bool negative = false;
	int64_t n = 0;

	if (len && (text[0] == '-' || text[0] == '+'))
		negative = text[i++] == '-';
	if (i == len)
		return err_set(err, FAIL_INPUT, "\"%.*s\" is not a whole number", shown(len), text);
	for (; i < len; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9)
			return err_set(err, FAIL_INPUT, "\"%.*s\" is not a whole number",
				       shown(len), text);
		/* Counts down for negative numbers, so that INT64_MIN fits. */
		if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
		    __builtin_add_overflow(n, (int64_t)(negative ? -digit : digit), &n))
			goto range;
	}
	if (n < min || n > max)
		goto range;
	*out = n;
	return 0;
range:
	return err_set(err, FAIL_INPUT, "%.*s is not between %" PRId64 " and %" PRId64, shown(len),
		       text, min, max);
}

/* Nanoseconds of the unit at s (n bytes left) and its length; 0 when there is none. */
static int64_t unit_of(const char *s, size_t n, size_t *len)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "\xc2\xb5s", 1000 }, /* micro sign */
		{ "\xce\xbcs", 1000 }, /* Greek mu */
		{ "ms", 1000000 },
		{ "s", SECOND },
		{ "m", 60 * SECOND },
		{ "h", 3600 * SECOND },
		{ "d", 86400 * SECOND },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		*len = strlen(units[i].name);
		if (n >= *len && memcmp(s, units[i].name, *len) == 0)
			return units[i].ns;
	}
	return 0;
}

/* One "1.5h" at *pos; adds it to *total. False when it is none or does not fit. */
static bool add_part(const char *s, size_t n, size_t *pos, int64_t *total)
{
	size_t i = *pos;
	size_t unit_len = 0;
	size_t digits = 0;
	int64_t whole = 0;
	int64_t fraction = 0;
	int64_t scale = 1;
	int64_t unit;

	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++)
		if (__builtin_mul_overflow(whole, (int64_t)10, &whole) ||
		    __builtin_add_overflow(whole, (int64_t)(s[i] - '0'), &whole))
			return false;
	if (i < n && s[i] == '.') {
		for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++) {
			if (scale >= SECOND)
				continue; /* below what a nanosecond can show */
			fraction = fraction * 10 + (s[i] - '0');
			scale *= 10;
		}
	}
	unit = digits ? unit_of(s + i, n - i, &unit_len) : 0;
	if (!unit || __builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, (int64_t)((__int128)fraction * unit / scale), &whole) ||
	    __builtin_add_overflow(*total, whole, total))
		return false;
	*pos = i + unit_len;
	return true;
}

int num_duration(const char *text, size_t len, int64_t *nanoseconds, struct err *err)
{
	size_t i = len && (text[0] == '-' || text[0] == '+');
	int64_t total = 0;
	bool ok = i < len;

	if (len - i == 1 && text[i] == '0')
		i = len;
	while (ok && i < len)
		ok = add_part(text, len, &i, &total);
	if (!ok)
		return err_set(err, FAIL_INPUT,
			       "\"%.*s\" is not a duration (examples: 90s, 10m, 1h30m)", shown(len),
			       text);
	*nanoseconds = text[0] == '-' ? -total : total;
	return 0;
}

int num_seconds(const char *text, size_t len, int64_t *seconds, struct err *err)
{
	int64_t ns;

	if (num_parse(text, len, INT64_MIN, INT64_MAX, seconds, NULL) == 0)
		return 0;
	if (num_duration(text, len, &ns, err) < 0)
		return -1;
	*seconds = ns / SECOND + (ns % SECOND > 0);
	return 0;
}
