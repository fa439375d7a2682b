/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the bytes of an AdmissionReview's response. */
#ifndef WEBHOOK_ANSWER_H
#define WEBHOOK_ANSWER_H
#include "etjob/validate.h"
#include "wire/patch.h"

struct answer {
	const char *uid;
	const char *kind, *name;     /* of the object, for the Status' details */
	const struct faults *faults; /* any: a denial; its warnings go along in both cases */
	const struct patch *patch;   /* NULL or empty: none */
};
MUST_USE int answer_write(const struct answer *a, struct buf *out, struct err *err);
/* A refusal of a body that could not be read: code 400. */
MUST_USE int answer_unreadable(const char *uid, const char *why, struct buf *out, struct err *err);
#endif
