/* SPDX-License-Identifier: Apache-2.0 */
/* events: filtering and printing. */
#include "events.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "kube/table.h"
#include "wire/time.h"

enum { COLS = 5 };

static bool digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

bool events_about(const cJSON *event, const char *job)
{
	const cJSON *about = json_get(event, "involvedObject");
	const char *kind = json_get_str(about, "kind", ""), *name = json_get_str(about, "name", "");
	size_t n = strlen(job);

	if (str_eq(name, job))
		return str_eq(kind, KIND_JOB);
	if (!str_starts(name, job) || name[n] != '-')
		return false;
	if (str_eq(kind, "Pod"))
		return str_eq(name + n, "-launcher") || name_worker_index(job, name) >= 0;
	return (str_eq(kind, KIND_SCALEOUT) || str_eq(kind, KIND_SCALEIN)) && digits(name + n + 1);
}

int64_t events_time(const cJSON *event)
{
	static const char *const keys[] = { "lastTimestamp", "eventTime", "firstTimestamp" };
	const char *series = json_get_str(json_get(event, "series"), "lastObservedTime", NULL);
	int64_t at;

	if (time_get(series, &at))
		return at;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (time_get(json_get_str(event, keys[i], NULL), &at))
			return at;
	return time_get(json_get_str(json_get(event, "metadata"), "creationTimestamp", NULL), &at)
		       ? at
		       : 0;
}

static int order(const void *a, const void *b)
{
	int64_t x = events_time(*(const cJSON *const *)a),
		y = events_time(*(const cJSON *const *)b);

	return (x > y) - (x < y);
}

static int fill(const cJSON *e, int64_t now_ms, struct strs *cells, struct err *err)
{
	AUTO(buf) struct buf object = BUF_INIT(LIMIT_TEXT), message = BUF_INIT(LIMIT_TEXT);
	const cJSON *about = json_get(e, "involvedObject");
	const char *kind = json_get_str(about, "kind", "");
	int64_t at = events_time(e), count = json_get_int(e, "count", 1);
	char age[TIME_TEXT_SIZE] = "<unknown>";

	if (at)
		duration_human((now_ms - at) / 1000, age);
	for (const char *p = kind; *p; p++)
		buf_char(&object, (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
	buf_printf(&object, "/%s", json_get_str(about, "name", ""));
	buf_str(&message, json_get_str(e, "message", ""));
	while (message.len && message.data[message.len - 1] == '\n')
		buf_cut(&message, message.len - 1);
	if (count > 1)
		buf_printf(&message, " (x%" PRId64 ")", count);
	if (buf_check(&object, err) < 0 || buf_check(&message, err) < 0)
		return -1;
	if (strs_add(cells, age, err) < 0 ||
	    strs_add(cells, json_get_str(e, "type", ""), err) < 0 ||
	    strs_add(cells, json_get_str(e, "reason", ""), err) < 0 ||
	    strs_add(cells, buf_text(&object), err) < 0)
		return -1;
	return strs_add(cells, buf_text(&message), err);
}

int events_print(const cJSON **v, size_t n, int64_t now_ms, bool headers, struct buf *out,
		 struct err *err)
{
	static const struct table_col cols[COLS] = {
		{ .name = "LAST SEEN" }, { .name = "TYPE" },    { .name = "REASON" },
		{ .name = "OBJECT" },    { .name = "MESSAGE" },
	};
	AUTO(strs) struct strs cells = STRS_INIT;

	if (n)
		qsort(v, n, sizeof(*v), order);
	for (size_t i = 0; i < n; i++)
		if (fill(v[i], now_ms, &cells, err) < 0)
			return -1;
	return table_print(cols, COLS, (const char *const *)cells.v, n, false, headers, out, err);
}
