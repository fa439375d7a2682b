/* SPDX-License-Identifier: Apache-2.0 */
/* help: everything that is written from the tables: --help, the manual page, the reference. */
#ifndef PLUGIN_HELP_H
#define PLUGIN_HELP_H
#include "cmd.h"

/* The list of commands; width in columns. */
void help_root(size_t width, struct buf *out);
void help_command(const struct cmd *cmd, size_t width, struct buf *out);
void help_global(size_t width, struct buf *out);
/* kubectl-etjob.1 in man(7) macros. */
void help_man(struct buf *out);
/* docs/reference/kubectl-etjob.md. */
void help_markdown(struct buf *out);
/* Appends text wrapped at width, each line after `indent` blanks; "\n\n" parts paragraphs. */
void help_wrap(const char *text, size_t indent, size_t width, struct buf *out);
#endif
