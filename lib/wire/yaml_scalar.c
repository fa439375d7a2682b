/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml_scalar.h"

#include <math.h>

#include "wire/time.h"

/* Longer texts are no numbers to us. */
#define NUMBER_MAX 512

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static bool resolve_word(const char *s, struct yaml_scalar *out)
{
	static const char *const yes[] = { "y",    "Y",    "yes", "Yes", "YES", "true",
					   "True", "TRUE", "on",  "On",  "ON",  NULL };
	static const char *const no[] = { "n",     "N",     "no",  "No",  "NO",  "false",
					  "False", "FALSE", "off", "Off", "OFF", NULL };
	static const char *const none[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const nan[] = { ".nan", ".NaN", ".NAN", NULL };
	static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL };

	if (one_of(s, none))
		*out = (struct yaml_scalar){ .type = YAML_NULL };
	else if (one_of(s, yes))
		*out = (struct yaml_scalar){ .type = YAML_BOOL, .truth = true };
	else if (one_of(s, no))
		*out = (struct yaml_scalar){ .type = YAML_BOOL };
	else if (one_of(s, nan))
		*out = (struct yaml_scalar){ .type = YAML_FLOAT, .number = NAN };
	else if (one_of(s + (*s == '+' || *s == '-'), inf))
		*out = (struct yaml_scalar){ .type = YAML_FLOAT,
					     .number = *s == '-' ? -INFINITY : INFINITY };
	else if (strcmp(s, "<<") == 0)
		*out = (struct yaml_scalar){ .type = YAML_MERGE };
	else
		return false;
	return true;
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* [-+]?(0x|0b|0o|0)?digits in 64 bits. */
static bool resolve_integer(const char *s, struct yaml_scalar *out)
{
	bool sign = *s == '-' || *s == '+';
	bool negative = *s == '-';
	uint64_t value = 0;
	int base = 10;

	s += sign;
	if (s[0] == '0' && s[1]) {
		base = s[1] == 'x' || s[1] == 'X' ? 16 : s[1] == 'b' || s[1] == 'B' ? 2 : 8;
		s += base == 8 && s[1] != 'o' && s[1] != 'O' ? 1 : 2;
	}
	if (!*s)
		return false;
	for (; *s; s++) {
		int digit = digit_of(*s);

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (value <= (uint64_t)INT64_MAX + negative) {
		*out = (struct yaml_scalar){ .type = YAML_INT,
					     .integer = (int64_t)(negative ? -value : value) };
		out->number = (double)out->integer;
		return true;
	}
	if (sign)
		return false;
	*out = (struct yaml_scalar){ .type = YAML_UINT, .natural = value, .number = (double)value };
	return true;
}

static const char *skip_digits(const char *s)
{
	while (is_digit(*s))
		s++;
	return s;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? that a double can hold. */
static bool resolve_float(const char *text, struct yaml_scalar *out)
{
	const char *s = text + (*text == '-' || *text == '+');
	const char *end = skip_digits(s);
	bool digits = end > s;
	double value;

	s = end;
	if (*s == '.') {
		end = skip_digits(s + 1);
		digits = digits || end > s + 1;
		s = end;
	}
	if (!digits)
		return false;
	if (*s == 'e' || *s == 'E') {
		s += 1 + (s[1] == '-' || s[1] == '+');
		end = skip_digits(s);
		if (end == s)
			return false;
		s = end;
	}
	if (*s)
		return false;
	value = strtod(text, NULL);
	if (!isfinite(value))
		return false;
	*out = (struct yaml_scalar){ .type = YAML_FLOAT, .number = value };
	return true;
}

/* One or two digits as two; moves *s. False when there is none. */
static bool two_digits(const char **s, char then, struct buf *out)
{
	const char *end = skip_digits(*s);

	if (end == *s || end - *s > 2)
		return false;
	buf_printf(out, "%s%.*s", end - *s == 1 ? "0" : "", (int)(end - *s), *s);
	if (then)
		buf_char(out, then);
	*s = end;
	return true;
}

/* A date, or a date and a time, in the forms that kubectl's reader knows. */
static bool resolve_time(const char *s)
{
	AUTO(buf) struct buf canonical = BUF_INIT(NUMBER_MAX * 2);
	bool zone;
	int64_t ms;

	if (skip_digits(s) != s + 4 || s[4] != '-')
		return false;
	buf_add(&canonical, s, 5);
	s += 5;
	if (!two_digits(&s, '-', &canonical) || *s++ != '-' || !two_digits(&s, 'T', &canonical))
		return false;
	zone = *s == 'T' || *s == 't';
	if (!*s) {
		buf_str(&canonical, "00:00:00Z");
	} else {
		if (!zone && *s != ' ')
			return false;
		s++;
		if (!two_digits(&s, ':', &canonical) || *s++ != ':' ||
		    !two_digits(&s, ':', &canonical) || *s++ != ':' ||
		    !two_digits(&s, 0, &canonical))
			return false;
		buf_str(&canonical, s);
		if (!zone)
			buf_char(&canonical, 'Z');
	}
	return buf_check(&canonical, NULL) == 0 && time_get(buf_text(&canonical), &ms);
}

static bool resolve_number(const char *s, struct yaml_scalar *out)
{
	char plain[NUMBER_MAX];
	size_t n = 0;

	if (resolve_time(s)) {
		*out = (struct yaml_scalar){ .type = YAML_TIME };
		return true;
	}
	for (; *s; s++)
		if (*s != '_')
			plain[n++] = *s;
	plain[n] = '\0';
	return resolve_integer(plain, out) || resolve_float(plain, out);
}

struct yaml_scalar yaml_resolve(const char *text, size_t n)
{
	struct yaml_scalar out = { .type = YAML_STR };
	char s[NUMBER_MAX];

	if (n >= sizeof(s) || memchr(text, '\0', n))
		return out;
	memcpy(s, text, n);
	s[n] = '\0';
	if (resolve_word(s, &out))
		return out;
	if (*s == '.')
		(void)resolve_float(s, &out); /* else it stays text */
	else if (is_digit(*s) || *s == '-' || *s == '+')
		(void)resolve_number(s, &out);
	return out;
}

bool yaml_is_base60(const char *s)
{
	s += *s == '-' || *s == '+';
	if (!is_digit(*s))
		return false;
	while (is_digit(*s) || *s == '_')
		s++;
	if (*s != ':')
		return false;
	while (*s == ':') {
		const char *end = skip_digits(s + 1);

		if (end == s + 1 || end > s + 3 || (end == s + 3 && s[1] > '5'))
			return false;
		s = end;
	}
	if (*s == '.')
		s++;
	while (is_digit(*s) || *s == '_')
		s++;
	return !*s;
}
