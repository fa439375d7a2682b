/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease: leader election by a coordination.k8s.io Lease, with client-go's
 * times: valid 15 s, renewed every 2 s, given up after 10 s without a renewal.
 * Nothing may be sent once lease_valid() is false, even if no timer has run
 * since: a process that was stopped and woken asks before each request.
 */
#ifndef CONTROLLER_LEASE_H
#define CONTROLLER_LEASE_H
#include "kube/client.h"

struct lease;

struct lease_opts {
	const char *ns, *name, *identity;
	void (*on_won)(void *arg);
	/* It was ours and is not any more: end the process. */
	void (*on_lost)(void *arg, const char *why);
	/* An attempt failed; it goes on by itself. */
	void (*on_error)(void *arg, const struct err *err);
	void *arg;
};

/* Strings are copied. Starts at once. */
MUST_USE int lease_new(struct kube *k, const struct lease_opts *opts, struct lease **out,
		       struct err *err);
/* Without a release. */
void lease_free(struct lease *l);
DEFINE_AUTO_PTR(lease, struct lease);
/* Ours, and renewed less than 10 s ago. */
bool lease_valid(const struct lease *l);
/* The last word about who leads is younger than 15 s: for readiness. */
bool lease_fresh(const struct lease *l);
/* Gives it back if it is ours; synchronous, a few seconds at most. */
void lease_release(struct lease *l);
#endif
