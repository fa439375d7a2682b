/* SPDX-License-Identifier: Apache-2.0 */
/* follow: the logs of a job's pods, once or as long as the job lives. */
#ifndef PLUGIN_FOLLOW_H
#define PLUGIN_FOLLOW_H
#include "cmd.h"

struct follow_opts {
	const char *name;      /* of the job */
	const char *instance;  /* a pod's name, or its end ("worker-0"); NULL: the launcher */
	const char *container; /* NULL: the pod's default */
	bool all;              /* every pod, each line with a prefix */
	bool follow, previous, timestamps;
	int64_t tail;    /* -1: all lines */
	int64_t since_s; /* 0: from the start */
	const char *since_time;
};
MUST_USE int follow_logs(struct cmd_ctx *ctx, const struct follow_opts *o, struct err *err);
#endif
