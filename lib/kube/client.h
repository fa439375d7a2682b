/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: requests to the API server over one loop: asynchronous with a
 * callback, or synchronous by turning the loop until the answer is there.
 * Retries (429 and 5xx with Retry-After, reset connections for GET),
 * credentials, impersonation, compression, warnings and proxies happen here.
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H
#include "kube/config.h"
#include "kube/loop.h"

/* A kind of object and its place in the API. */
struct kube_res {
	const char *group;    /* "" for core */
	const char *version;  /* "v1" */
	const char *plural;   /* "trainingjobs" */
	const char *singular; /* "trainingjob" */
	const char *kind;     /* "TrainingJob" */
	bool namespaced;
};
extern const struct kube_res kube_trainingjobs, kube_scaleouts, kube_scaleins, kube_pods,
	kube_services, kube_configmaps, kube_secrets, kube_events, kube_nodes, kube_namespaces,
	kube_leases, kube_deployments, kube_crds, kube_mutatingwebhooks, kube_validatingwebhooks,
	kube_resourcequotas, kube_endpointslices, kube_persistentvolumeclaims, kube_podgroups;

struct kube_resp;
struct kube; /* a client: configuration + loop */

struct kube_opts {
	const char *user_agent;    /* "kubectl-etjob/1.0 (linux/amd64)" */
	const char *field_manager; /* "kubectl-etjob" */
	int verbosity;             /* -v: 6 urls, 7 headers, 8 bodies, 9 all; secrets masked */
	/* Text of a Warning header (code 299), already deduplicated; NULL: dropped. */
	void (*on_warning)(void *arg, const char *text);
	void *warning_arg;
	/* What -v asks for, line by line, without a newline; NULL: dropped. */
	void (*on_log)(void *arg, int level, const char *line);
	void *log_arg;
	int max_retries; /* of 429/5xx with Retry-After; kubectl: 10 */
};

/* config stays the caller's and must live as long. */
MUST_USE int kube_new(struct loop *loop, const struct kube_config *config,
		      const struct kube_opts *opts, struct kube **out, struct err *err);
void kube_free(struct kube *k);
DEFINE_AUTO_PTR(kube, struct kube);
struct loop *kube_loop(struct kube *k);
const struct kube_config *kube_config_of(const struct kube *k);
/* Requests sent so far, retries included. */
uint64_t kube_requests(const struct kube *k);

/* One request. All strings are borrowed until kube_start returns (it copies). */
struct kube_req {
	const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
	const char *path;   /* "/api/v1/...": encoded, with its query */
	const char *body;   /* may be NULL */
	size_t body_bytes;
	const char *content_type; /* default application/json */
	const char *accept;       /* default application/json */
	int64_t timeout_ms; /* of the whole request; 0: the client's --request-timeout, else none */
	int64_t idle_timeout_ms; /* streams: nothing arrived for so long -> FAIL_NET; 0: none */
	size_t max_bytes;        /* of the answer; 0: LIMIT_ANSWER */
	bool no_retry;
	bool raw; /* the JSON of a 2xx answer stays text in resp->body: for large lists */
	/*
	 * A WebSocket subprotocol (static): the answer is 101, and on_data gets the server's
	 * frames as they are. Nothing can be sent; closing is ending the transfer.
	 */
	const char *upgrade;
	/*
	 * Streams (watch, logs): called with each piece of a 2xx body; nonzero ends the
	 * transfer (FAIL_CANCELED). NULL: the body is collected.
	 */
	int (*on_data)(void *arg, const char *data, size_t n);
	/*
	 * Called exactly once unless cancelled. err->fail FAIL_NONE: a 2xx answer.
	 * Else the error, worded as kubectl words it (kube/problem.h); resp->json is then
	 * the Status object when there was one. resp is borrowed; json may be TAKEn.
	 */
	void (*on_done)(void *arg, struct kube_resp *resp, const struct err *err);
	void *arg;
};

struct kube_resp {
	int http;               /* status, 0 when there was no answer */
	cJSON *json;            /* parsed body of a JSON answer; owned by resp */
	struct buf body;        /* the body's bytes when it was collected */
	const char *reason;     /* of a Status: "NotFound", "Conflict", ...; "" when none */
	int64_t retry_after_ms; /* -1: none given */
};
void kube_resp_release(struct kube_resp *r);

struct kube_call; /* a request under way; dead after on_done or kube_cancel */
MUST_USE int kube_start(struct kube *k, const struct kube_req *req, struct kube_call **out,
			struct err *err);
/* No callback will come. NULL is fine. */
void kube_cancel(struct kube *k, struct kube_call *call);
/* Synchronous: turns the loop. resp is filled also on FAIL_HTTP. */
MUST_USE int kube_do(struct kube *k, const struct kube_req *req, struct kube_resp *resp,
		     struct err *err);

/* Appends the path of a resource: ns NULL for all namespaces or cluster scope, name NULL for the
 * list, sub NULL or "status", "scale", "log". */
MUST_USE int kube_path(const struct kube_res *res, const char *ns, const char *name,
		       const char *sub, struct buf *out, struct err *err);

/* Synchronous helpers; *out (may be NULL) is the caller's. */
MUST_USE int kube_get(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
		      cJSON **out, struct err *err);
struct kube_create_opts {
	bool dry_run;           /* dryRun=All */
	const char *validation; /* fieldValidation: "Strict" by default */
};
MUST_USE int kube_create(struct kube *k, const struct kube_res *res, const char *ns,
			 const cJSON *obj, const struct kube_create_opts *opts, cJSON **out,
			 struct err *err);
/* type: "merge", "json", "strategic" or "apply"; sub as for kube_path. */
MUST_USE int kube_patch(struct kube *k, const struct kube_res *res, const char *ns,
			const char *name, const char *sub, const char *type, const cJSON *patch,
			bool dry_run, cJSON **out, struct err *err);
MUST_USE int kube_put(struct kube *k, const struct kube_res *res, const char *ns, const char *name,
		      const char *sub, const cJSON *obj, cJSON **out, struct err *err);
/* propagation: "Background", "Foreground", "Orphan"; grace_s -1: the object's own; uid NULL or a
 * precondition. */
MUST_USE int kube_delete(struct kube *k, const struct kube_res *res, const char *ns,
			 const char *name, const char *propagation, int64_t grace_s,
			 const char *uid, bool dry_run, struct err *err);
/* Whether err came from a Status with that HTTP code. */
bool kube_is(const struct err *err, int http);

/* Lists, page by page. */
struct kube_list_opts {
	const char *label_selector, *field_selector; /* NULL: none */
	int64_t limit;                               /* page size; 0: 500 */
	/* Called with each item as it comes; takes ownership; nonzero stops. */
	int (*on_item)(void *arg, cJSON *item);
	void *arg;
};
/* ns NULL: all namespaces. *resource_version (may be NULL) is the caller's. */
MUST_USE int kube_list(struct kube *k, const struct kube_res *res, const char *ns,
		       const struct kube_list_opts *opts, char **resource_version, struct err *err);
#endif
