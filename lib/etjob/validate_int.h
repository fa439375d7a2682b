/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_int: what the files of validate share, and nobody else includes.
 * A check walks an object and keeps the path of where it is. It becomes text,
 * as a field ("spec.a[0]") and as a JSON Pointer, only for a fault: most
 * objects have none, and writing paths was half of the time of a check. A
 * failure (memory) latches: later faults are not added and check_end() returns -1.
 */
#ifndef ETJOB_VALIDATE_INT_H
#define ETJOB_VALIDATE_INT_H
#include "etjob/validate.h"

#define CODE_INVALID 422
#define CODE_CONFLICT 409

#define CHECK_DEPTH 600 /* steps of a path; a document has at most LIMIT_JSON_DEPTH levels */

/* One step of a path: a key (n bytes, borrowed), or with key NULL the index n. */
struct step {
	const char *key;
	size_t n;
};

struct check {
	struct faults *out; /* borrowed */
	struct err *err;    /* borrowed */
	bool failed;
	size_t depth;
	struct step path[CHECK_DEPTH];
};

void check_start(struct check *c, struct faults *out, struct err *err);
/* 0, or -1 with err when something failed. */
MUST_USE int check_end(const struct check *c);

/*
 * Where c was: check_into*() go down and return the mark that check_back() returns to.
 * Keys are borrowed until then.
 */
struct mark {
	size_t depth;
};
struct mark check_mark(const struct check *c);
struct mark check_into(struct check *c, const char *key);
struct mark check_into_path(struct check *c, const char *dotted);
struct mark check_into_index(struct check *c, size_t i);
void check_back(struct check *c, struct mark m);

/* A fault or a warning at the present path. */
PRINTF(4, 5) void check_fault(struct check *c, int code, const char *rule, const char *fmt, ...);
PRINTF(2, 3) void check_warn(struct check *c, const char *fmt, ...);

/* A value for a message, in quotes where it is text, cut where it is long. */
struct shown {
	char text[80];
};
struct shown shown_text(const char *text);
struct shown shown_value(const cJSON *v);

/* The rules of a pod template (validate_pod.c); c stands at spec.etReplicaSpecs.<role>. */
void check_template(struct check *c, const cJSON *replica_spec);
/* Warnings on a job (validate_warn.c). */
void check_job_warnings(struct check *c, const struct job *j);
/* All rules on a job's spec. */
void check_job_spec(struct check *c, const cJSON *obj);
/* A whole number of min to max at key of v, absent being fine; c stands at v. */
void check_int(struct check *c, const cJSON *v, const char *key, int64_t min, int64_t max);
/* One of the words, "A|B"; absent is fine; c stands at v. */
void check_enum(struct check *c, const cJSON *v, const char *key, const char *words);
#endif
