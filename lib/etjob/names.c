/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/names.h"

#include "base/num.h"

void name_worker(const char *job, int64_t index, struct buf *out)
{
	buf_printf(out, "%s-worker-%" PRId64, job, index);
}

void name_launcher(const char *job, struct buf *out)
{
	buf_printf(out, "%s-launcher", job);
}

void name_service(const char *job, struct buf *out)
{
	buf_printf(out, "%s-workers", job);
}

void name_config(const char *job, struct buf *out)
{
	buf_printf(out, "%s-config", job);
}

void name_secret(const char *job, struct buf *out)
{
	buf_printf(out, "%s-ssh", job);
}

int64_t name_worker_index(const char *job, const char *pod)
{
	static const char middle[] = "-worker-";
	size_t job_len = strlen(job);
	int64_t index;

	if (strncmp(pod, job, job_len) != 0 || !str_starts(pod + job_len, middle))
		return -1;
	const char *digits = pod + job_len + strlen(middle);
	/* One spelling a number: no sign, no leading zero. */
	if (digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && digits[1]))
		return -1;
	if (num_parse(digits, strlen(digits), 0, INT32_MAX, &index, NULL) < 0)
		return -1;
	return index;
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool name_is_prefix(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len == 0 || len > max || !is_lower(text[0]))
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '-')
			return false;
	}
	return true;
}

bool name_is_label(const char *text, size_t max)
{
	return name_is_prefix(text, max) && text[strlen(text) - 1] != '-';
}
