/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/metrics.h"

#include <sys/resource.h>

#include "etjob/job.h"

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(struct buf *b, const char *name, const char *type, const char *help, double v)
{
	head(b, name, type, help);
	buf_printf(b, "%s %.17g\n", name, v);
}

/* Sums over the jobs that are known. */
struct sums {
	int64_t phases[JOB_FAILED + 1];
	int64_t target, listed, below, conflicts, scalers;
};

static void sum(const struct engine *e, struct sums *s)
{
	struct map_entry *m;

	map_each (&e->seen.recs, m) {
		const struct rec *r = m->value;
		const cJSON *status = json_get(r->job, "status");

		if (!r->job)
			continue;
		enum job_phase phase = job_phase_parse(json_get_str(status, "phase", ""));

		s->phases[phase]++;
		s->scalers += json_get(status, "currentScaler") != NULL;
		s->conflicts += job_condition_true(r->job, "NameConflict");
		if (phase == JOB_SUCCEEDED || phase == JOB_FAILED)
			continue;
		s->target += json_get_int(status, "replicas", 0);
		s->listed += (int64_t)json_len(json_get(status, "currentWorkers"));
		s->below += job_condition_true(r->job, "BelowMinimum");
	}
}

static void print_jobs(const struct engine *e, struct buf *b)
{
	struct sums s = { .target = 0 };

	sum(e, &s);
	head(b, "etjob_controller_jobs", "gauge", "TrainingJobs by phase.");
	for (int p = JOB_NEW; p <= JOB_FAILED; p++)
		buf_printf(b, "etjob_controller_jobs{phase=\"%s\"} %" PRId64 "\n",
			   p == JOB_NEW ? "New" : job_phase_name((enum job_phase)p), s.phases[p]);
	number(b, "etjob_controller_workers_target", "gauge",
	       "Workers that unfinished jobs are meant to have.", (double)s.target);
	number(b, "etjob_controller_workers_listed", "gauge",
	       "Workers that are ready and in a host list.", (double)s.listed);
	number(b, "etjob_controller_jobs_below_minimum", "gauge",
	       "Jobs whose training waits because fewer than minReplicas workers are ready.",
	       (double)s.below);
	number(b, "etjob_controller_jobs_scaling", "gauge",
	       "Jobs with a ScaleOut or ScaleIn under way.", (double)s.scalers);
	number(b, "etjob_controller_name_conflicts", "gauge",
	       "Jobs that failed because an older job has their name.", (double)s.conflicts);
}

static void print_scaling(const struct engine_stats *s, struct buf *b)
{
	static const char *const directions[] = { "in", "out" };
	static const char *const results[] = { "failed", "succeeded" };

	head(b, "etjob_controller_scale_total", "counter", "ScaleOuts and ScaleIns by result.");
	for (int d = 0; d < 2; d++) {
		for (int r = 0; r < 2; r++)
			buf_printf(b,
				   "etjob_controller_scale_total{direction=\"%s\",result=\"%s\"} "
				   "%" PRIu64 "\n",
				   directions[d], results[r], s->scales[d][r]);
	}
	head(b, "etjob_controller_scale_seconds", "summary",
	     "How long successful ScaleOuts and ScaleIns took.");
	for (int d = 0; d < 2; d++)
		buf_printf(b,
			   "etjob_controller_scale_seconds_sum{direction=\"%s\"} %.17g\n"
			   "etjob_controller_scale_seconds_count{direction=\"%s\"} %" PRIu64 "\n",
			   directions[d], s->scale_seconds[d], directions[d], s->scales[d][1]);
	head(b, "etjob_controller_last_scale_seconds", "gauge",
	     "How long the last successful ScaleOut and ScaleIn took.");
	for (int d = 0; d < 2; d++)
		buf_printf(b, "etjob_controller_last_scale_seconds{direction=\"%s\"} %.17g\n",
			   directions[d], s->last_scale_seconds[d]);
	number(b, "etjob_controller_workers_lost_total", "counter",
	       "Workers that were lost or left without being asked.", (double)s->workers_lost);
}

static void print_work(const struct engine *e, struct buf *b)
{
	static const char *const verbs[] = { "get", "post", "patch", "delete", "other" };
	const struct engine_stats *s = &e->stats;

	head(b, "etjob_controller_requests_total", "counter",
	     "Requests that act on jobs, by verb; events, lists and watches are not among them.");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		buf_printf(b, "etjob_controller_requests_total{verb=\"%s\"} %" PRIu64 "\n",
			   verbs[i], s->requests[i]);
	number(b, "etjob_controller_conflicts_total", "counter",
	       "Answers 409: the world had changed meanwhile, it is looked at again.",
	       (double)s->conflicts);
	number(b, "etjob_controller_errors_total", "counter",
	       "Requests that failed otherwise; they are repeated with back-off.",
	       (double)s->errors);
	number(b, "etjob_controller_plans_total", "counter", "Looks at one job.", (double)s->plans);
	number(b, "etjob_controller_plan_errors_total", "counter",
	       "Looks that failed (memory or a limit).", (double)s->plan_errors);
	number(b, "etjob_controller_events_total", "counter", "Events sent.", (double)s->events);
	number(b, "etjob_controller_events_failed_total", "counter",
	       "Events that the API server did not take.", (double)s->events_failed);
	number(b, "etjob_controller_queue_jobs", "gauge", "Jobs that wait for a look.",
	       (double)e->dirty);
	number(b, "etjob_controller_busy_jobs", "gauge", "Jobs with requests under way.",
	       (double)e->busy);
	head(b, "etjob_controller_handle_seconds", "summary",
	     "From the news about a job until nothing was left to do.");
	buf_printf(b,
		   "etjob_controller_handle_seconds_sum %.17g\n"
		   "etjob_controller_handle_seconds_count %" PRIu64 "\n",
		   s->handle_seconds, s->handle_count);
	number(b, "etjob_controller_handle_most_seconds", "gauge", "The longest of them.",
	       s->handle_most);
}

static void print_process(struct buf *b)
{
	struct rusage usage;
	long pages = 0;
	AUTO_FILE FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*d %ld", &pages) == 1)
		number(b, "process_resident_memory_bytes", "gauge", "Resident memory.",
		       (double)pages * (double)sysconf(_SC_PAGESIZE));
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		number(b, "process_cpu_seconds_total", "counter", "User and system CPU time.",
		       (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
			       (double)usage.ru_stime.tv_sec +
			       (double)usage.ru_stime.tv_usec / 1e6);
}

void metrics_print(const struct engine *e, const struct metrics_extra *extra, struct buf *out)
{
	head(out, "etjob_controller_build_info", "gauge", "Version of the controller.");
	buf_printf(out, "etjob_controller_build_info{version=\"%s\"} 1\n", ETJOB_RELEASE);
	number(out, "etjob_controller_leader", "gauge", "1: this replica acts.", extra->leader);
	number(out, "etjob_controller_synced", "gauge", "1: all caches have been filled.",
	       extra->synced);
	number(out, "etjob_controller_api_requests_total", "counter",
	       "All requests to the API server, lists, watches and retries too.",
	       (double)extra->api_requests);
	if (extra->oldest_news_ms >= 0)
		number(out, "etjob_controller_informer_age_seconds", "gauge",
		       "How long the most silent watch has not been heard.",
		       (double)extra->oldest_news_ms / 1000);
	print_jobs(e, out);
	print_scaling(&e->stats, out);
	print_work(e, out);
	print_process(out);
}
