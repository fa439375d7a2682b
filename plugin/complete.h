/* SPDX-License-Identifier: Apache-2.0 */
/* complete: shell completion from the tables. */
#ifndef PLUGIN_COMPLETE_H
#define PLUGIN_COMPLETE_H
#include "cmd.h"

/* Whether the program was called as kubectl_complete-etjob, kubectl's own way to ask. */
bool complete_is_helper(const char *argv0);
/*
 * words after "kubectl etjob"; the last is the one to complete. Prints "word<TAB>help" lines and
 * ":<directive>" as cobra's shells read them. Errors of the server give no words.
 */
MUST_USE int complete_main(struct cmd_ctx *ctx, int argc, char **argv, struct err *err);
#endif
