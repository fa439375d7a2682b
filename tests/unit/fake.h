/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake: the fake API server (tests/cli/fake_apiserver.py) for a unit test: started,
 * asked through its control port, and a client of ours for it.
 */
#ifndef FAKE_H
#define FAKE_H
#include "kube/client.h"

struct fake {
	char dir[64]; /* what the server wrote; removed by fake_stop() */
	char control[64];
	int stdin_fd; /* the server ends when it is closed */
	pid_t pid;
	struct kube_config config;
	struct loop *loop; /* owned */
	struct kube *kube; /* owned */
	struct strs warnings, log;
};

/* Starts it with more arguments (a NULL-terminated list or NULL); ends the test on failure. */
void fake_start(struct fake *f, const char *const *more);
void fake_stop(struct fake *f);
/* One request to the control port; the answer is the caller's. */
cJSON *fake_control(struct fake *f, const char *method, const char *path, const char *body);
/* Puts rules (a JSON list) before those that are there. */
void fake_rule(struct fake *f, const char *rules);
/* Forgets all rules, recorded requests, warnings and log lines. */
void fake_forget(struct fake *f);
/* Turns the loop until done(arg), at most 15 s, else ends the test. */
void fake_until(struct fake *f, bool (*done)(void *arg), void *arg);
/* Recorded requests whose method is this, whose path ends so, and whose query has key (or NULL). */
size_t fake_count(struct fake *f, const char *method, const char *path_end, const char *key);
/* The last recorded request; the caller's. */
cJSON *fake_last(struct fake *f);
#endif
