/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: counters that all threads add to, and their text for Prometheus. */
#ifndef WEBHOOK_METRICS_H
#define WEBHOOK_METRICS_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "webhook/review.h"

#define METRICS_BUCKETS 15
#define METRICS_RULES 96

enum metrics_close { CLOSE_IDLE, CLOSE_SLOW, CLOSE_EVICTED, CLOSE_REASONS };
enum metrics_http {
	HTTP_400,
	HTTP_404,
	HTTP_405,
	HTTP_413,
	HTTP_415,
	HTTP_500,
	HTTP_503,
	HTTP_CODES
};

struct metrics {
	atomic_ullong requests[REQUEST_KINDS][REQUEST_OPS][REVIEW_VERDICTS];
	atomic_ullong buckets[2][METRICS_BUCKETS + 1]; /* by review_path; the last is +Inf */
	atomic_ullong duration_us[2];
	atomic_ullong http_errors[HTTP_CODES];
	atomic_ullong closed[CLOSE_REASONS];
	atomic_ullong accepted;   /* connections, ever */
	atomic_llong in_flight;   /* requests */
	atomic_llong connections; /* open now */
	atomic_llong body_bytes;  /* of request bodies held now */
	atomic_ullong watch_errors, cert_errors, cert_loads;
	atomic_llong ca_not_after_s; /* Unix; 0: none of our own */
	pthread_mutex_t lock;        /* of what follows */
	struct {
		const char *rule; /* static */
		uint64_t count;
	} rules[METRICS_RULES];
	size_t n_rules;
};

MUST_USE int metrics_init(struct metrics *m, struct err *err);
void metrics_release(struct metrics *m);
void metrics_review(struct metrics *m, enum review_path path, const struct review_result *r,
		    int64_t duration_us);
/* Reviews answered so far. */
unsigned long long metrics_answered(struct metrics *m);
/* status: any HTTP status of 400 and above. */
void metrics_http(struct metrics *m, int status);

/* What is read at the moment of a scrape. */
struct metrics_now {
	int64_t cert_not_after_s; /* Unix; 0: none */
	int64_t index_age_ms;     /* -1: never heard */
	size_t jobs, scalers;     /* in the index */
	size_t reservations;
	bool ready;
};
/* Appends the text exposition format 0.0.4. */
void metrics_write(struct metrics *m, const struct metrics_now *now, struct buf *out);
#endif
