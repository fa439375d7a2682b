/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: the event loop of the plugin and the controller: one curl_multi with
 * its transfers, timers and watched descriptors. One thread; callbacks run
 * inside loop_once() and may start, cancel and stop anything. Programs ignore
 * SIGPIPE (docs/client.md).
 */
#ifndef KUBE_LOOP_H
#define KUBE_LOOP_H
#include <curl/curl.h>

#include "base/clock.h"
#include "base/err.h"

struct loop;
struct timer; /* owned by the loop; dead after it fired or was cancelled */
struct fdwatch;

MUST_USE int loop_new(const struct clock *clock, struct loop **out, struct err *err);
/* Cancels what is under way without callbacks. */
void loop_free(struct loop *l);
DEFINE_AUTO_PTR(loop, struct loop);
const struct clock *loop_clock(const struct loop *l);
CURLM *loop_multi(struct loop *l);
/* Calls fn once, delay_ms from now. NULL when memory is out. */
struct timer *loop_after(struct loop *l, int64_t delay_ms, void (*fn)(void *arg), void *arg);
/* NULL is fine. */
void loop_cancel(struct loop *l, struct timer *t);
/* Calls fn(arg) whenever fd is readable. The fd stays the caller's. */
struct fdwatch *loop_watch_fd(struct loop *l, int fd, void (*fn)(void *arg), void *arg);
void loop_unwatch_fd(struct loop *l, struct fdwatch *w);
/*
 * A transfer of the loop: an easy handle whose CURLOPT_PRIVATE points here. Both
 * callbacks run outside of curl, so they may use the loop as they like.
 */
struct transfer {
	CURL *easy; /* the user's */
	/* After transfer_wake(): what the write callback has put by can be delivered. */
	void (*ready)(struct transfer *t);
	/* The transfer is over and out of the loop. */
	void (*done)(struct transfer *t, CURLcode code);
	/* The loop's: */
	struct loop *loop; /* NULL: not under way */
	bool woken;
	struct transfer *next, *prev;
};
MUST_USE int loop_add(struct loop *l, struct transfer *t, struct err *err);
/* No callback comes after this; harmless when t is not under way. */
void loop_remove(struct transfer *t);
/* From a callback of curl: have ready() called soon, outside of curl. */
void transfer_wake(struct transfer *t);
/* Waits at most max_ms (or until something happens) and runs what is due. */
MUST_USE int loop_once(struct loop *l, int64_t max_ms, struct err *err);
/* Runs until loop_stop(). */
MUST_USE int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);
/* loop_stop() was called and no loop_run() has ended since. */
bool loop_stopping(const struct loop *l);
#endif
