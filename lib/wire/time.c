/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/time.h"

#include "base/num.h"

#define DAY_S 86400
#define MIN_YEAR_S INT64_C(-62167219200) /* 0000-01-01 */
#define MAX_YEAR_S INT64_C(253402300799) /* 9999-12-31T23:59:59 */

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = year - (month <= 2);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t days_in(int64_t year, int64_t month)
{
	if (month == 12)
		return 31;
	return days_of(year, month + 1, 1) - days_of(year, month, 1);
}

/* n digits at *s as a number from min to max; moves *s past them and past `then`, if not 0. */
static bool digits(const char **s, size_t n, int64_t min, int64_t max, char then, int64_t *out)
{
	for (size_t i = 0; i < n; i++)
		if ((*s)[i] < '0' || (*s)[i] > '9')
			return false;
	if (num_parse(*s, n, min, max, out, NULL) < 0)
		return false;
	*s += n;
	if (then && *(*s)++ != then)
		return false;
	return true;
}

/* ".123": thousandths, the rest is cut. */
static bool fraction(const char **s, int64_t *ms)
{
	int64_t place = 100;

	*ms = 0;
	if (**s != '.')
		return true;
	if (*++*s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; ++*s, place /= 10)
		*ms += place * (**s - '0');
	return true;
}

/* "Z", "+01:00": seconds to take away. */
static bool zone(const char **s, int64_t *offset)
{
	int64_t hours, minutes;
	char sign = *(*s)++;

	*offset = 0;
	if (sign == 'Z')
		return true;
	if ((sign != '+' && sign != '-') || !digits(s, 2, 0, 23, ':', &hours) ||
	    !digits(s, 2, 0, 59, 0, &minutes))
		return false;
	*offset = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

bool time_get(const char *text, int64_t *unix_ms)
{
	int64_t year, month, day, hour, minute, second, ms, offset;
	const char *s = text;

	if (!text || !digits(&s, 4, 0, 9999, '-', &year) || !digits(&s, 2, 1, 12, '-', &month) ||
	    !digits(&s, 2, 1, days_in(year, month), 'T', &day) ||
	    !digits(&s, 2, 0, 23, ':', &hour) || !digits(&s, 2, 0, 59, ':', &minute) ||
	    !digits(&s, 2, 0, 59, 0, &second) || !fraction(&s, &ms) || !zone(&s, &offset) || *s)
		return false;
	*unix_ms =
		(days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second - offset) *
			1000 +
		ms;
	return true;
}

int time_parse(const char *text, int64_t *unix_ms, struct err *err)
{
	if (time_get(text, unix_ms))
		return 0;
	return err_set(err, FAIL_INPUT, "\"%.64s\" is not a time (example: 2026-01-02T03:04:05Z)",
		       text);
}

/* "2026-01-02T03:04:05"; returns its length. */
static size_t format_seconds(int64_t seconds, char out[TIME_TEXT_SIZE])
{
	struct tm tm = { 0 };
	time_t t;

	if (seconds < MIN_YEAR_S)
		seconds = MIN_YEAR_S;
	if (seconds > MAX_YEAR_S)
		seconds = MAX_YEAR_S;
	t = (time_t)seconds;
	(void)gmtime_r(&t, &tm); /* these years fit */
	return (size_t)snprintf(out, TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u",
				(unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_mon % 12 + 1,
				(unsigned)tm.tm_mday % 32, (unsigned)tm.tm_hour % 24,
				(unsigned)tm.tm_min % 60, (unsigned)tm.tm_sec % 61);
}

static int64_t floor_seconds(int64_t unix_ms)
{
	return unix_ms / 1000 - (unix_ms % 1000 < 0);
}

void time_format(int64_t unix_ms, char out[TIME_TEXT_SIZE])
{
	size_t n = format_seconds(floor_seconds(unix_ms), out);

	(void)snprintf(out + n, TIME_TEXT_SIZE - n, "Z");
}

void time_format_micro(int64_t unix_ms, char out[TIME_TEXT_SIZE])
{
	size_t n = format_seconds(floor_seconds(unix_ms), out);
	unsigned ms = (unsigned)((unix_ms % 1000 + 1000) % 1000);

	(void)snprintf(out + n, TIME_TEXT_SIZE - n, ".%03u000Z", ms);
}

int duration_parse(const char *text, int64_t *seconds, struct err *err)
{
	return num_seconds(text, strlen(text), seconds, err);
}

/* "3h10m", "3h": the smaller unit is left out when it is 0. */
static void two_units(char out[TIME_TEXT_SIZE], int64_t big, char big_unit, int64_t small,
		      char small_unit)
{
	if (small)
		(void)snprintf(out, TIME_TEXT_SIZE, "%" PRId64 "%c%" PRId64 "%c", big, big_unit,
			       small, small_unit);
	else
		(void)snprintf(out, TIME_TEXT_SIZE, "%" PRId64 "%c", big, big_unit);
}

void duration_human(int64_t seconds, char out[TIME_TEXT_SIZE])
{
	int64_t minutes = seconds / 60;
	int64_t hours = seconds / 3600;
	int64_t days = hours / 24;

	if (seconds < -1)
		(void)snprintf(out, TIME_TEXT_SIZE, "<invalid>");
	else if (seconds < 120)
		two_units(out, seconds < 0 ? 0 : seconds, 's', 0, 0);
	else if (minutes < 10)
		two_units(out, minutes, 'm', seconds % 60, 's');
	else if (minutes < 3 * 60)
		two_units(out, minutes, 'm', 0, 0);
	else if (hours < 8)
		two_units(out, hours, 'h', minutes % 60, 'm');
	else if (hours < 48)
		two_units(out, hours, 'h', 0, 0);
	else if (days < 8)
		two_units(out, days, 'd', hours % 24, 'h');
	else if (days < 2 * 365)
		two_units(out, days, 'd', 0, 0);
	else if (days < 8 * 365)
		two_units(out, days / 365, 'y', days % 365, 'd');
	else
		two_units(out, days / 365, 'y', 0, 0);
}
