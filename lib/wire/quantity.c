/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/quantity.h"

#include "base/num.h"

/* value = mantissa * 2^shift * 10^exponent */
struct scale {
	int shift;
	int exponent;
};

static bool suffix_scale(const char *s, struct scale *out)
{
	static const char decimal[] = "numkMGTPE"; /* 10^-9, -6, -3, 3, 6 ... 18 */
	static const char binary[] = "KMGTPE";     /* 2^10, 20 ... 60 */
	const char *at;
	int64_t exponent;

	*out = (struct scale){ 0, 0 };
	if (!*s)
		return true;
	if (s[1] == 'i' && !s[2] && (at = strchr(binary, *s))) {
		out->shift = 10 * (int)(at - binary + 1);
		return true;
	}
	if (!s[1] && (at = strchr(decimal, *s))) {
		out->exponent = 3 * (int)(at - decimal) - (at - decimal > 2 ? 6 : 9);
		return true;
	}
	if ((*s != 'e' && *s != 'E') ||
	    num_parse(s + 1, strlen(s + 1), -1000, 1000, &exponent, NULL) < 0)
		return false;
	out->exponent = (int)exponent;
	return true;
}

/* Digits with at most one point; *digits counts those read, *exponent those after the point. */
static const char *read_mantissa(const char *s, __int128 *mantissa, int *exponent, bool *rest,
				 size_t *digits)
{
	bool point = false;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		++*digits;
		if (*mantissa < (__int128)1 << 90) {
			*mantissa = *mantissa * 10 + (*s - '0');
			*exponent -= point;
		} else {
			/* Past any use: remember only that there was more. */
			*rest |= *s != '0';
			*exponent += !point;
		}
	}
	return s;
}

/* mantissa * 10^exponent, rounded up, saturated. */
static int64_t scaled(__int128 value, int exponent, bool rest)
{
	for (; exponent < 0 && value; exponent++) {
		rest |= value % 10 != 0;
		value /= 10;
	}
	if (exponent < 0)
		exponent = 0;
	for (; exponent > 0 && value && value <= INT64_MAX; exponent--)
		value *= 10;
	value += rest;
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int quantity_parse(const char *text, int64_t *milli, struct err *err)
{
	const char *s = text + (*text == '-' || *text == '+');
	__int128 value = 0;
	struct scale scale;
	size_t digits = 0;
	int exponent = 0;
	bool rest = false;
	int64_t n;

	s = read_mantissa(s, &value, &exponent, &rest, &digits);
	if (!digits || !suffix_scale(s, &scale))
		return err_set(err, FAIL_INPUT,
			       "\"%.64s\" is not a quantity (examples: 2, 500m, 4Gi)", text);
	/* In steps of 2^10, so that 128 bits are enough: past INT64_MAX nothing matters any more.
	 */
	for (int shift = scale.shift; shift > 0 && value < (__int128)1 << 110; shift -= 10)
		value <<= 10;
	n = scaled(value, exponent + scale.exponent + 3, rest);
	*milli = *text == '-' ? -n : n;
	return 0;
}

bool quantity_get(const cJSON *v, int64_t *milli)
{
	AUTO(buf) struct buf number = BUF_INIT(64);
	const char *text = json_str(v);

	if (json_is_number(v)) {
		if (json_print(v, &number, NULL) < 0)
			return false;
		text = buf_text(&number);
	}
	return text && quantity_parse(text, milli, NULL) == 0;
}
