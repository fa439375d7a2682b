/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/metrics.h"

#include <sys/resource.h>

#include "base/file.h"
#include "base/num.h"

static const int64_t bounds_us[METRICS_BUCKETS] = { 100,    250,    500,     1000,    2500,
						    5000,   10000,  25000,   50000,   100000,
						    250000, 500000, 1000000, 2500000, 5000000 };
static const char *const verdict_words[REVIEW_VERDICTS] = { "allowed", "patched", "denied",
							    "error" };
static const char *const path_words[2] = { "mutate", "validate" };
static const char *const close_words[CLOSE_REASONS] = { "idle", "slow", "evicted" };
static const int http_codes[HTTP_CODES] = { 400, 404, 405, 413, 415, 500, 503 };

int metrics_init(struct metrics *m, struct err *err)
{
	*m = (struct metrics){ 0 };
	return pthread_mutex_init(&m->lock, NULL) == 0 ? 0 : err_nomem(err);
}

void metrics_release(struct metrics *m)
{
	pthread_mutex_destroy(&m->lock);
}

static void add(atomic_ullong *counter, unsigned long long n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static unsigned long long get(atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void count_rule(struct metrics *m, const char *rule)
{
	size_t i = 0;

	while (i < m->n_rules && !str_eq(m->rules[i].rule, rule))
		i++;
	if (i == METRICS_RULES)
		return;
	if (i == m->n_rules)
		m->rules[m->n_rules++].rule = rule;
	m->rules[i].count++;
}

void metrics_review(struct metrics *m, enum review_path path, const struct review_result *r,
		    int64_t duration_us)
{
	size_t i = 0;

	add(&m->requests[r->kind][r->op][r->verdict], 1);
	while (i < METRICS_BUCKETS && duration_us > bounds_us[i])
		i++;
	add(&m->buckets[path][i], 1);
	add(&m->duration_us[path], (unsigned long long)duration_us);
	if (!r->n_rules)
		return;
	pthread_mutex_lock(&m->lock);
	for (i = 0; i < r->n_rules; i++)
		count_rule(m, r->rules[i]);
	pthread_mutex_unlock(&m->lock);
}

unsigned long long metrics_answered(struct metrics *m)
{
	unsigned long long n = 0;

	for (unsigned path = 0; path < 2; path++)
		for (unsigned i = 0; i <= METRICS_BUCKETS; i++)
			n += get(&m->buckets[path][i]);
	return n;
}

void metrics_http(struct metrics *m, int status)
{
	for (size_t i = 0; i < HTTP_CODES; i++)
		if (http_codes[i] == status)
			add(&m->http_errors[i], 1);
}

/* --- text --------------------------------------------------------------------- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_requests(struct metrics *m, struct buf *out)
{
	const char *name = "etjob_webhook_requests_total";

	head(out, name, "counter", "Admission reviews answered.");
	for (unsigned k = 0; k < REQUEST_KINDS; k++)
		for (unsigned o = 0; o < REQUEST_OPS; o++)
			for (unsigned v = 0; v < REVIEW_VERDICTS; v++) {
				unsigned long long n = get(&m->requests[k][o][v]);

				if (n)
					buf_printf(
						out,
						"%s{kind=\"%s\",operation=\"%s\",result=\"%s\"} %llu\n",
						name, request_kind_word(k), request_op_word(o),
						verdict_words[v], n);
			}
}

static void write_durations(struct metrics *m, struct buf *out)
{
	const char *name = "etjob_webhook_request_duration_seconds";

	head(out, name, "histogram", "Time from a request's head to its answer.");
	for (unsigned p = 0; p < 2; p++) {
		unsigned long long sum = 0;

		for (unsigned i = 0; i < METRICS_BUCKETS; i++) {
			sum += get(&m->buckets[p][i]);
			buf_printf(out, "%s_bucket{path=\"%s\",le=\"%g\"} %llu\n", name,
				   path_words[p], (double)bounds_us[i] / 1e6, sum);
		}
		sum += get(&m->buckets[p][METRICS_BUCKETS]);
		buf_printf(out, "%s_bucket{path=\"%s\",le=\"+Inf\"} %llu\n", name, path_words[p],
			   sum);
		buf_printf(out, "%s_sum{path=\"%s\"} %.6f\n", name, path_words[p],
			   (double)get(&m->duration_us[p]) / 1e6);
		buf_printf(out, "%s_count{path=\"%s\"} %llu\n", name, path_words[p], sum);
	}
}

static void write_refusals(struct metrics *m, struct buf *out)
{
	const char *name = "etjob_webhook_rejected_total";

	head(out, name, "counter", "Broken rules of denied objects.");
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n_rules; i++)
		buf_printf(out, "%s{rule=\"%s\"} %" PRIu64 "\n", name, m->rules[i].rule,
			   m->rules[i].count);
	pthread_mutex_unlock(&m->lock);
	name = "etjob_webhook_http_errors_total";
	head(out, name, "counter", "Requests answered outside the admission protocol.");
	for (unsigned i = 0; i < HTTP_CODES; i++)
		buf_printf(out, "%s{code=\"%d\"} %llu\n", name, http_codes[i],
			   get(&m->http_errors[i]));
	name = "etjob_webhook_connections_closed_total";
	head(out, name, "counter", "Connections that the server closed, by reason.");
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		buf_printf(out, "%s{reason=\"%s\"} %llu\n", name, close_words[i],
			   get(&m->closed[i]));
}

static void counter(struct buf *out, const char *name, const char *help, unsigned long long n)
{
	head(out, name, "counter", help);
	buf_printf(out, "%s %llu\n", name, n);
}

static void gauge(struct buf *out, const char *name, const char *help, double v)
{
	head(out, name, "gauge", help);
	buf_printf(out, "%s %.15g\n", name, v);
}

static int64_t resident_bytes(void)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);
	const char *p;
	int64_t pages = 0;

	if (file_read("/proc/self/statm", &text, NULL) < 0)
		return 0;
	p = strchr(buf_text(&text), ' '); /* "size resident shared ..." */
	if (!p ||
	    num_parse(p + 1, strspn(p + 1, "0123456789"), 0, INT64_MAX / 65536, &pages, NULL) < 0)
		return 0;
	return pages * sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void write_process(struct buf *out)
{
	head(out, "process_cpu_seconds_total", "counter", "User and system CPU time.");
	buf_printf(out, "process_cpu_seconds_total %.6f\n", cpu_seconds());
	gauge(out, "process_resident_memory_bytes", "Resident memory.", (double)resident_bytes());
	head(out, "etjob_webhook_build_info", "gauge", "The release that runs; always 1.");
	buf_printf(out, "etjob_webhook_build_info{version=\"%s\"} 1\n", ETJOB_RELEASE);
}

void metrics_write(struct metrics *m, const struct metrics_now *now, struct buf *out)
{
	write_requests(m, out);
	write_durations(m, out);
	write_refusals(m, out);
	gauge(out, "etjob_webhook_requests_in_flight", "Requests being read or answered.",
	      (double)atomic_load(&m->in_flight));
	gauge(out, "etjob_webhook_connections", "Open connections.",
	      (double)atomic_load(&m->connections));
	gauge(out, "etjob_webhook_body_bytes", "Bytes of request bodies held in memory.",
	      (double)atomic_load(&m->body_bytes));
	counter(out, "etjob_webhook_connections_accepted_total", "Connections accepted.",
		get(&m->accepted));
	gauge(out, "etjob_webhook_certificate_not_after_timestamp_seconds",
	      "End of the serving certificate (0: none).", (double)now->cert_not_after_s);
	gauge(out, "etjob_webhook_ca_not_after_timestamp_seconds",
	      "End of the self-managed CA (0: certificates come from files).",
	      (double)atomic_load(&m->ca_not_after_s));
	counter(out, "etjob_webhook_certificate_loads_total",
		"Times that a certificate was put in place.", get(&m->cert_loads));
	counter(out, "etjob_webhook_certificate_errors_total",
		"Failed attempts to read, renew or publish certificates.", get(&m->cert_errors));
	gauge(out, "etjob_webhook_index_age_seconds",
	      "Time since the API server was last heard (-1: never).",
	      now->index_age_ms < 0 ? -1 : (double)now->index_age_ms / 1e3);
	gauge(out, "etjob_webhook_index_jobs", "TrainingJobs in the index.", (double)now->jobs);
	gauge(out, "etjob_webhook_index_scalers", "ScaleOuts and ScaleIns in the index.",
	      (double)now->scalers);
	counter(out, "etjob_webhook_watch_errors_total", "Failed lists and watches.",
		get(&m->watch_errors));
	gauge(out, "etjob_webhook_reservations",
	      "Admitted names and scalers that the index does not show yet.",
	      (double)now->reservations);
	gauge(out, "etjob_webhook_ready", "Whether /readyz answers 200.", now->ready);
	write_process(out);
}
