/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script: runs the script of a ScaleOut or ScaleIn in the launcher, through pods/exec over a
 * WebSocket. Script and variables go as arguments of `env NAME=VALUE... sh -c SCRIPT`: no shell
 * reads them before the one that is meant to.
 */
#ifndef CONTROLLER_SCRIPT_H
#define CONTROLLER_SCRIPT_H
#include "controller/engine.h"

/* Starts it; how it ends is noted in rec, which is then looked at again. */
void script_start(struct engine *e, struct rec *rec, const struct action *a);

/* Frames of the server as they arrive: what the script said, and how it ended. */
struct script_frames {
	struct buf in;   /* bytes of frames that are not whole yet */
	struct buf said; /* the last of standard output and error */
	bool ended;
	bool ok;          /* when ended: exit code 0 */
	struct buf cause; /* when ended and not ok: in words */
};
#define SCRIPT_FRAMES_INIT       \
	((struct script_frames){ \
		.in = BUF_INIT(1u << 20), .said = BUF_INIT(1u << 20), .cause = BUF_INIT(4096) })
void script_frames_release(struct script_frames *f);
/* FAIL_INPUT: no frames of a WebSocket; FAIL_LIMIT: a frame that is too big. */
MUST_USE int script_frames_add(struct script_frames *f, const char *data, size_t n,
			       struct err *err);
#endif
