/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/floats.h"

#include <math.h>

/* value = 0.DIGITS * 10^point */
struct shortest {
	char digits[24];
	int n;
	int point;
	bool negative;
};

static bool reads_back(const char *text, double d, bool single)
{
	return single ? strtof(text, NULL) == (float)d : strtod(text, NULL) == d;
}

/* The fewest digits that read back as d, which is finite. */
static struct shortest shortest_of(double d, bool single)
{
	struct shortest s = { .negative = signbit(d) };
	char text[FLOAT_TEXT_SIZE];
	const char *c = text;

	for (int precision = 0; precision <= 17; precision++) {
		(void)snprintf(text, sizeof(text), "%.*e", precision, d);
		if (reads_back(text, d, single))
			break;
	}
	c += *c == '-';
	for (; *c && *c != 'e' && s.n < 20; c++)
		if (*c >= '0' && *c <= '9')
			s.digits[s.n++] = *c;
	s.point = *c ? (int)strtol(c + 1, NULL, 10) + 1 : 1;
	while (s.n > 1 && s.digits[s.n - 1] == '0')
		s.n--;
	return s;
}

/* "1.5e+21"; at least `width` digits of exponent. */
static void exponent_form(const struct shortest *s, int width, char out[FLOAT_TEXT_SIZE])
{
	int exponent = s->point - 1;

	(void)snprintf(out, FLOAT_TEXT_SIZE, "%s%c%s%.*se%c%0*d", s->negative ? "-" : "",
		       s->digits[0], s->n > 1 ? "." : "", s->n - 1, s->digits + 1,
		       exponent < 0 ? '-' : '+', width, exponent < 0 ? -exponent : exponent);
}

/* "1500", "0.0015", "1.5" */
static void plain_form(const struct shortest *s, char out[FLOAT_TEXT_SIZE])
{
	const char *sign = s->negative ? "-" : "";

	if (s->point <= 0)
		(void)snprintf(out, FLOAT_TEXT_SIZE, "%s0.%.*s%.*s", sign, -s->point,
			       "000000000000", s->n, s->digits);
	else if (s->n <= s->point)
		(void)snprintf(out, FLOAT_TEXT_SIZE, "%s%.*s%.*s", sign, s->n, s->digits,
			       s->point - s->n, "000000000000000000000000");
	else
		(void)snprintf(out, FLOAT_TEXT_SIZE, "%s%.*s.%.*s", sign, s->point, s->digits,
			       s->n - s->point, s->digits + s->point);
}

void float_json(double d, char out[FLOAT_TEXT_SIZE])
{
	struct shortest s;

	if (fabs(d) < 1e15 && d == (double)(int64_t)d && !(d == 0 && signbit(d))) {
		(void)snprintf(out, FLOAT_TEXT_SIZE, "%" PRId64, (int64_t)d);
		return;
	}
	s = shortest_of(d, false);
	if (d != 0 && (fabs(d) < 1e-6 || fabs(d) >= 1e21))
		exponent_form(&s, 1, out);
	else
		plain_form(&s, out);
}

void float_g(double d, bool single, char out[FLOAT_TEXT_SIZE])
{
	double value = single ? (double)(float)d : d;
	struct shortest s;

	if (!isfinite(value)) {
		(void)snprintf(out, FLOAT_TEXT_SIZE, "%s",
			       isnan(value) ? "NaN"
			       : value < 0  ? "-Inf"
					    : "+Inf");
		return;
	}
	s = shortest_of(value, single);
	if (value != 0 && (s.point - 1 < -4 || s.point - 1 >= 6))
		exponent_form(&s, 2, out);
	else
		plain_form(&s, out);
}
