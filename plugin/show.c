/* SPDX-License-Identifier: Apache-2.0 */
/* show: `get` for people. */
#include "show.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "wire/time.h"

#define HISTORY_SHOWN 5
#define INSTANCE_COLS 8

/* "Name:        value": arena's first column is 13 wide. */
PRINTF(3, 4) static void line(struct buf *out, const char *name, const char *fmt, ...)
{
	va_list ap;

	buf_printf(out, "%s:%*s", name, (int)(strlen(name) < 12 ? 12 - strlen(name) : 1), "");
	va_start(ap, fmt);
	buf_vprintf(out, fmt, ap);
	va_end(ap);
	buf_char(out, '\n');
}

static void add_time(const struct job *job, const char *name, const char *key, struct buf *out)
{
	const char *text = json_get_str(json_get(job->obj, "status"), key, NULL);

	if (text)
		line(out, name, "%s", text);
}

static void show_head(const struct jobinfo *j, bool wide, struct buf *out)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	char text[TIME_TEXT_SIZE];
	const struct job *job = &j->job;

	duration_human(j->duration_s, text);
	line(out, "Name", "%s", job->name);
	line(out, "Status", "%s", j->status);
	line(out, "Namespace", "%s", job->ns);
	line(out, "Priority", "%s", j->priority);
	line(out, "Trainer", "%s", "ETJOB");
	line(out, "Duration", "%s", text);
	if (job->max == INT32_MAX)
		line(out, "Workers", "%" PRId64 " ready, %" PRId64 " wanted, at least %" PRId64,
		     j->ready, job->target, job->min);
	else
		line(out, "Workers",
		     "%" PRId64 " ready, %" PRId64 " wanted, %" PRId64 " to %" PRId64, j->ready,
		     job->target, job->min, job->max);
	line(out, "Restarts", "%" PRId64 " of %" PRId64, job->restart_count, job->backoff_limit);
	if (wide) {
		add_time(job, "Created", "startTime", out);
		add_time(job, "Ended", "completionTime", out);
		line(out, "Slots", "%" PRId64, job->slots);
		line(out, "UID", "%s", job->uid);
	}
	if (jobinfo_reason(j, &why))
		line(out, "Reason", "%s", buf_text(&why));
}

static void show_instances(const struct jobinfo *j, bool wide, int64_t now_ms, struct buf *out)
{
	static const char *const heads[] = { "NAME",           "STATUS", "AGE",      "IS_CHIEF",
					     "GPU(Requested)", "NODE",   "RESTARTS", "IP" };
	size_t cols = wide ? INSTANCE_COLS : INSTANCE_COLS - 2, width[INSTANCE_COLS] = { 0 };
	char age[TIME_TEXT_SIZE], number[32], restarts[32];

	for (size_t c = 0; c < cols; c++)
		width[c] = strlen(heads[c]);
	/* rows -2 (heads), -1 (rule), then pods; the first pass only measures */
	for (int pass = 0; pass < 2; pass++) {
		for (ptrdiff_t i = -2; i < (ptrdiff_t)j->npods; i++) {
			const struct podinfo *p = i < 0 ? NULL : &j->pods[i];
			const char *cell[INSTANCE_COLS];

			if (p) {
				duration_human((now_ms - p->start_ms) / 1000, age);
				(void)snprintf(number, sizeof(number), "%" PRId64, p->gpus);
				(void)snprintf(restarts, sizeof(restarts), "%" PRId64, p->restarts);
				cell[0] = p->name;
				cell[1] = p->status;
				cell[2] = age;
				cell[3] = str_eq(p->role, ROLE_LAUNCHER) ? "true" : "false";
				cell[4] = number;
				cell[5] = *p->node ? p->node : "N/A";
				cell[6] = restarts;
				cell[7] = json_get_str(json_get(p->obj, "status"), "podIP", "N/A");
			}
			if (pass)
				buf_str(out, "  ");
			for (size_t c = 0; c < cols; c++) {
				static const char rule[] = "--------------";
				const char *text = p ? cell[c] : heads[c];
				size_t n = strlen(text);

				if (!pass) {
					width[c] = n > width[c] ? n : width[c];
					continue;
				}
				if (i == -1)
					buf_add(out, rule, n);
				else
					buf_visible(out, text, n);
				if (c + 1 < cols)
					buf_printf(out, "%*s", (int)(width[c] - n + 2), "");
			}
			if (pass)
				buf_char(out, '\n');
		}
	}
}

static void show_history(const struct jobinfo *j, struct buf *out)
{
	const cJSON *list = json_at(j->job.obj, "status", "scaleHistory", NULL), *e;
	size_t n = json_len(list), skip = n > HISTORY_SHOWN ? n - HISTORY_SHOWN : 0, i = 0;

	if (!n)
		return;
	buf_str(out, "\nScaling:\n");
	json_each (e, list) {
		if (i++ < skip)
			continue;
		buf_printf(out, "  %s  %" PRId64 " -> %" PRId64 "  ", json_get_str(e, "time", ""),
			   json_get_int(e, "from", 0), json_get_int(e, "to", 0));
		const char *cause = json_get_str(e, "cause", ""),
			   *result = json_get_str(e, "result", "");
		buf_visible(out, cause, strlen(cause));
		if (*result) {
			buf_str(out, "  ");
			buf_visible(out, result, strlen(result));
		}
		buf_char(out, '\n');
	}
}

/* With one pod in trouble, the head has said it all. */
static void show_troubles(const struct jobinfo *j, struct buf *out)
{
	AUTO(buf) struct buf lines = BUF_INIT(LIMIT_ANSWER);
	size_t n = 0;

	for (size_t i = 0; i < j->npods; i++) {
		AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);

		if (j->pods[i].deleting || !podinfo_reason(&j->pods[i], &why))
			continue;
		n++;
		buf_printf(&lines, "  %s: %s\n", j->pods[i].name, buf_text(&why));
	}
	if (n > 1 || lines.fail != FAIL_NONE)
		buf_printf(out, "\nTroubles:\n%s", buf_text(&lines));
	if (lines.fail != FAIL_NONE && out->fail == FAIL_NONE)
		out->fail = lines.fail;
}

int show_job(const struct jobinfo *j, bool wide, int64_t now_ms, struct buf *out, struct err *err)
{
	show_head(j, wide, out);
	buf_str(out, "\nInstances:\n");
	show_instances(j, wide, now_ms, out);
	show_troubles(j, out);
	show_history(j, out);
	return buf_check(out, err);
}
