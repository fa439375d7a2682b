/* SPDX-License-Identifier: Apache-2.0 */
/* call_int: one request, shared by call.c and call_out.c. Nobody else includes it. */
#ifndef KUBE_CALL_INT_H
#define KUBE_CALL_INT_H
#include "kube/client_int.h"

struct kube_call {
	struct kube *k;
	struct loop *loop;
	struct transfer t;
	struct kube_req req; /* its strings are the owned copies below */
	char *path, *body, *content_type, *accept;
	const char *method; /* a literal */
	struct curl_slist *headers;
	struct kube_resp resp;
	struct buf pending; /* of a stream: came, not yet passed on */
	struct timer *retry_timer, *deadline_timer, *idle_timer;
	int64_t started_ms, heard_ms;
	size_t stream_bytes; /* passed on */
	size_t sent_bytes;   /* of the body, in this attempt */
	int retries, resets;
	bool renewed;      /* credentials were renewed after a 401 */
	bool headers_done; /* of a final answer */
	bool is_json;
	bool too_big;
	bool nomem; /* what came could not be kept */
	bool paused;
	bool busy; /* in a callback of the caller */
	bool dead; /* cancelled while busy */
	bool over; /* the transfer ended while busy, with over_code */
	CURLcode over_code;
	char errbuf[CURL_ERROR_SIZE];
	struct kube_call *next, *prev;
};

/* Makes the headers of the next attempt. */
MUST_USE int call_set_headers(struct kube_call *c, struct err *err);
/* Sets all options of the easy handle but its callbacks. */
MUST_USE int call_set_options(struct kube_call *c, struct err *err);
void call_log_request(struct kube_call *c);
/* An answer that is no error: 2xx, or 101 where an upgrade was asked for. */
static inline bool call_is_good(const struct kube_call *c, long http)
{
	return (http >= 200 && http < 300) || (http == 101 && c->req.upgrade);
}
#endif
