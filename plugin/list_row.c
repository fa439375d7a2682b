/* SPDX-License-Identifier: Apache-2.0 */
/* list_row: rows of list. */
#include "list_row.h"

#include <math.h>

#include "base/limits.h"
#include "etjob/names.h"
#include "kube/table.h"
#include "output.h"
#include "wire/time.h"

void tally_free(void *arg)
{
	struct tally *t = arg;

	if (!t)
		return;
	free(t->node);
	free(t->reason);
	free(t);
}

static struct tally *tally_of(struct map *tallies, const cJSON *pod, const char *job,
			      struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	struct tally *t;

	buf_printf(&key, "%s/%s", json_get_str(json_get(pod, "metadata"), "namespace", ""), job);
	if (buf_check(&key, err) < 0)
		return NULL;
	if ((t = map_get(tallies, buf_text(&key))))
		return t;
	if (!(t = calloc(1, sizeof(*t)))) {
		(void)err_nomem(err);
		return NULL;
	}
	if (map_put(tallies, buf_text(&key), t, err) < 0) {
		tally_free(t);
		return NULL;
	}
	return t;
}

int tally_add(struct map *tallies, const cJSON *pod, struct err *err)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	struct podinfo p;
	struct tally *t;

	podinfo_view(pod, &p);
	if (!*p.job)
		return 0;
	if (!(t = tally_of(tallies, pod, p.job, err)))
		return -1;
	t->gpus_allocated += str_eq(p.phase, "Running") && !p.deleting ? p.gpus : 0;
	if (str_eq(p.role, ROLE_LAUNCHER)) {
		t->launcher = true;
		t->launcher_pending = p.pending;
		if (*p.node && !t->node && str_copy(p.node, &t->node, err) < 0)
			return -1;
	} else {
		t->ready += p.ready;
		t->pending += p.pending && !p.deleting;
	}
	if (p.deleting)
		return 0;
	buf_printf(&why, "%s: ", p.name);
	if (!podinfo_reason(&p, &why))
		return 0;
	t->bad++;
	return t->reason ? 0 : buf_finish(&why, &t->reason, err);
}

void rows_release(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		for (size_t c = 0; c < ROW_COLS; c++)
			free(r->v[i].cell[c]);
		free(r->v[i].sort);
	}
	free(r->v);
	*r = (struct rows){ 0 };
}

static const char *status_with(const struct jobinfo *j, const struct tally *t)
{
	if (!t || job_finished(&j->job) || !str_eq(j->status, "PENDING") || j->job.suspend)
		return j->status;
	return t->launcher && !t->launcher_pending ? "RUNNING" : "PENDING";
}

/* A pod's own words come before what the controller says of it. */
static void reason(const struct jobinfo *j, const struct tally *t, struct buf *out)
{
	if (!t || !t->reason || job_finished(&j->job)) {
		(void)jobinfo_reason(j, out); /* nothing to tell leaves it empty */
		return;
	}
	if (t->bad > 1)
		buf_printf(out, "%" PRId64 " pods: ", t->bad);
	buf_str(out, t->reason);
}

static int set(struct row *row, enum row_col col, const char *text, struct err *err)
{
	return str_copy(text, &row->cell[col], err);
}

PRINTF(4, 5)
static int setf(struct row *row, enum row_col col, struct err *err, const char *fmt, ...)
{
	AUTO(buf) struct buf b = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	return buf_finish(&b, &row->cell[col], err);
}

static int fill(struct row *row, const struct jobinfo *j, const struct tally *t, int64_t now_ms,
		struct err *err)
{
	AUTO(buf) struct buf why = BUF_INIT(LIMIT_TEXT);
	char duration[TIME_TEXT_SIZE], age[TIME_TEXT_SIZE];
	const struct job *job = &j->job;

	reason(j, t, &why);
	if (buf_check(&why, err) < 0)
		return -1;
	duration_human(j->duration_s, duration);
	duration_human(job->created_ms ? (now_ms - job->created_ms) / 1000 : 0, age);
	if (set(row, ROW_NAMESPACE, job->ns, err) < 0 || set(row, ROW_NAME, job->name, err) < 0 ||
	    set(row, ROW_STATUS, status_with(j, t), err) < 0 ||
	    set(row, ROW_TRAINER, "ETJOB", err) < 0 || set(row, ROW_DURATION, duration, err) < 0 ||
	    setf(row, ROW_GPU_REQUESTED, err, "%" PRId64, j->gpus_requested) < 0 ||
	    setf(row, ROW_GPU_ALLOCATED, err, "%" PRId64, t ? t->gpus_allocated : 0) < 0 ||
	    set(row, ROW_NODE, t && t->node ? t->node : "N/A", err) < 0 ||
	    setf(row, ROW_WORKERS, err, "%" PRId64 "/%" PRId64, t ? t->ready : 0, job->target) <
		    0 ||
	    setf(row, ROW_MIN, err, "%" PRId64, job->min) < 0 ||
	    setf(row, ROW_RESTARTS, err, "%" PRId64, job->restart_count) < 0 ||
	    set(row, ROW_AGE, age, err) < 0)
		return -1;
	if (job->max == INT32_MAX ? set(row, ROW_MAX, "-", err) < 0
				  : setf(row, ROW_MAX, err, "%" PRId64, job->max) < 0)
		return -1;
	return set(row, ROW_REASON, why.len ? buf_text(&why) : "", err);
}

/* --sort-by takes {.a.b} or .a.b */
static int sort_value(struct row *row, const cJSON *job, const char *sort_by, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT), value = BUF_INIT(LIMIT_TEXT);
	char *end;

	if (*sort_by == '{')
		buf_str(&path, sort_by);
	else
		buf_printf(&path, "{%s%s}", *sort_by == '.' ? "" : ".", sort_by);
	if (buf_check(&path, err) < 0)
		return -1;
	if (jsonpath_print(buf_text(&path), job, &value, err) < 0 || buf_check(&value, err) < 0)
		return -1;
	row->number = strtod(buf_text(&value), &end);
	row->sort_number = value.len && !*end && isfinite(row->number);
	if (!value.len)
		return str_copy("", &row->sort, err);
	return buf_finish(&value, &row->sort, err);
}

int rows_add(struct rows *r, const cJSON *obj, const struct tally *tally, const char *sort_by,
	     int64_t now_ms, struct err *err)
{
	struct jobinfo j;
	struct row *row;

	if (r->n == r->size) {
		size_t size = r->size ? r->size * 2 : 32;
		struct row *v = reallocarray(r->v, size, sizeof(*v));

		if (!v)
			return err_nomem(err);
		r->v = v;
		r->size = size;
	}
	row = &r->v[r->n++];
	*row = (struct row){ 0 };
	jobinfo_view(obj, NULL, 0, now_ms, &j);
	row->finished = job_finished(&j.job);
	if (fill(row, &j, tally, now_ms, err) < 0)
		return -1;
	return sort_by ? sort_value(row, obj, sort_by, err) : 0;
}

static int order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = 0;

	if (x->sort && y->sort)
		c = x->sort_number && y->sort_number
			    ? (x->number > y->number) - (x->number < y->number)
			    : strcmp(x->sort, y->sort);
	if (c == 0)
		c = strcmp(x->cell[ROW_NAMESPACE], y->cell[ROW_NAMESPACE]);
	return c ? c : strcmp(x->cell[ROW_NAME], y->cell[ROW_NAME]);
}

void rows_sort(struct rows *r)
{
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), order);
}

int rows_print(const struct rows *r, bool all, bool wide, bool headers, struct buf *out,
	       struct err *err)
{
	static const struct table_col cols[ROW_COLS] = {
		[ROW_NAMESPACE] = { .name = "NAMESPACE" },
		[ROW_NAME] = { .name = "NAME" },
		[ROW_STATUS] = { .name = "STATUS" },
		[ROW_TRAINER] = { .name = "TRAINER" },
		[ROW_DURATION] = { .name = "DURATION" },
		[ROW_GPU_REQUESTED] = { .name = "GPU(Requested)" },
		[ROW_GPU_ALLOCATED] = { .name = "GPU(Allocated)" },
		[ROW_NODE] = { .name = "NODE" },
		[ROW_WORKERS] = { .name = "WORKERS" },
		[ROW_MIN] = { .name = "MIN", .wide = true },
		[ROW_MAX] = { .name = "MAX", .wide = true },
		[ROW_RESTARTS] = { .name = "RESTARTS", .wide = true },
		[ROW_AGE] = { .name = "AGE", .wide = true },
		[ROW_REASON] = { .name = "REASON" },
	};
	size_t skip = all ? 0 : 1, n = ROW_COLS - skip, total;
	const char **cells;
	int rc;

	if (!size_mul(r->n, n, &total) || !(cells = calloc(total + 1, sizeof(*cells))))
		return err_nomem(err);
	for (size_t i = 0; i < r->n; i++)
		for (size_t c = 0; c < n; c++)
			cells[i * n + c] = r->v[i].cell[c + skip];
	rc = table_print(cols + skip, n, cells, r->n, wide, headers, out, err);
	free(cells);
	return rc;
}

size_t rows_cut(const char *text, size_t width, const char *end, struct buf *out)
{
	size_t lines = 0;

	while (*text) {
		size_t n = strcspn(text, "\n"), cut = n < width ? n : width - 1;

		while (cut < n && cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--; /* not inside a character */
		buf_add(out, text, cut);
		buf_str(out, end);
		lines++;
		text += n + (text[n] == '\n');
	}
	return lines;
}
