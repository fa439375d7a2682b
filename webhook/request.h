/* SPDX-License-Identifier: Apache-2.0 */
/* request: the AdmissionReview that the API server sent, as a view that borrows from its tree. */
#ifndef WEBHOOK_REQUEST_H
#define WEBHOOK_REQUEST_H
#include "wire/json.h"

#define REQUEST_VALUES_MAX 500000 /* JSON values in one body: bounds the memory of its tree */

enum request_kind {
	REQUEST_JOB,
	REQUEST_SCALEOUT,
	REQUEST_SCALEIN,
	REQUEST_FOREIGN,
	REQUEST_KINDS
};
enum request_op {
	REQUEST_CREATE,
	REQUEST_UPDATE,
	REQUEST_DELETE,
	REQUEST_CONNECT,
	REQUEST_OTHER,
	REQUEST_OPS
};

struct request {
	enum request_kind kind;
	enum request_op op;
	const char *uid;         /* never empty */
	const char *kind_name;   /* as the request has it */
	const char *ns, *name;   /* "" when absent; name is the object's own where it has one */
	const char *user;        /* userInfo.username, "" when absent */
	const char *subresource; /* "" when absent */
	bool dry_run;
	const cJSON *object, *old; /* objects, or NULL */
};

/* FAIL_INPUT when it is no AdmissionReview of admission.k8s.io/v1 with a request and a uid. */
MUST_USE int request_read(const cJSON *root, struct request *out, struct err *err);
/*
 * The uid of a body that the strict parser refuses, so that the refusal can be
 * an answer in the protocol: true when the bytes up to request.uid are sound.
 */
bool request_salvage_uid(const char *text, size_t n, struct buf *uid);
/* Whether the body holds at most REQUEST_VALUES_MAX values; cheap, runs before the parser. */
bool request_fits(const char *text, size_t n);
/* "TrainingJob", ..., "other"; "CREATE", ..., "other": the words of metrics. */
const char *request_kind_word(enum request_kind k);
const char *request_op_word(enum request_op op);
#endif
