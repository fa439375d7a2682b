/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review: AdmissionReview bytes in, answer bytes out. What it knows of the
 * cluster is a snapshot; what it remembers is a reservation. No sockets, no
 * logging: so it is tested, fuzzed and timed without a server.
 */
#ifndef WEBHOOK_REVIEW_H
#define WEBHOOK_REVIEW_H
#include "base/clock.h"
#include "webhook/request.h"
#include "webhook/reserve.h"
#include "webhook/snap.h"

#define REVIEW_STALE_MS 60000 /* an index not heard for so long proves little */

enum review_path { REVIEW_MUTATE, REVIEW_VALIDATE };
enum review_verdict {
	REVIEW_ALLOWED,
	REVIEW_PATCHED,
	REVIEW_DENIED,
	REVIEW_ERROR,
	REVIEW_VERDICTS
};

/* What a review looks at besides its body. Shared by threads; const but for what has a lock. */
struct review_env {
	const struct clock *clock;
	struct snap_cell *cell;
	struct reserve *reserve;
	bool mount;        /* --inject-mount */
	bool unique_names; /* over the cluster, --unique-names */
};

#define REVIEW_RULES_MAX 16
struct review_result {
	int http;        /* status of the HTTP answer */
	struct buf body; /* owned: JSON, or a line of text when http is not 200 */
	enum request_kind kind;
	enum request_op op;
	enum review_verdict verdict;
	bool wait; /* no answer yet: the scaler's job may just not have arrived in the index */
	/* Only for a denial: what a log line says, owned. */
	int code;
	bool dry_run;
	char *uid, *ns, *name, *user, *reasons;
	const char *rules[REVIEW_RULES_MAX]; /* static ids of the rules that were broken */
	size_t n_rules;
};
#define REVIEW_RESULT_INIT ((struct review_result){ .body = BUF_INIT(32u << 20) })
void review_result_release(struct review_result *r);

/*
 * Decides. may_wait: a scaler whose job is not in the index gets no answer but
 * out->wait; ask again when the index moved. Trees are made in the thread's arena, if it
 * is inside of one. Returns -1 only when memory is out; every other fault is an answer.
 */
MUST_USE int review_decide(const struct review_env *env, enum review_path path, const char *text,
			   size_t n, bool may_wait, struct review_result *out, struct err *err);
#endif
