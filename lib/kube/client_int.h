/* SPDX-License-Identifier: Apache-2.0 */
/* client_int: what client.c and call.c share. Nobody else includes it. */
#ifndef KUBE_CLIENT_INT_H
#define KUBE_CLIENT_INT_H
#include "base/strs.h"
#include "kube/auth.h"
#include "kube/client.h"
#include "kube/tls.h"

struct kube {
	struct loop *loop;                /* borrowed */
	const struct kube_config *config; /* borrowed */
	struct kube_opts opts;            /* its strings are the two below */
	char *user_agent, *field_manager; /* owned */
	char *base; /* owned: scheme://host[:port][/prefix], no slash at the end */
	char *host; /* owned: host[:port] as messages name it */
	bool https, loopback;
	struct curl_slist *connect_to; /* owned: for tls-server-name */
	char *host_header;             /* owned: "Host: ..." for tls-server-name, else NULL */
	struct auth auth;
	struct tls_state tls;
	struct strs warnings;    /* texts already passed on */
	struct kube_call *calls; /* under way */
	uint64_t requests;
};

/* Passes a line on when -v asks for it. */
PRINTF(3, 4) void kube_log(const struct kube *k, int level, const char *fmt, ...);
/* Passes on the texts of a Warning header that are new. */
void kube_read_warnings(struct kube *k, const char *s);
/* Ends a call without a callback. */
void kube_call_free(struct kube_call *c);
#endif
