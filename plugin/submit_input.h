/* SPDX-License-Identifier: Apache-2.0 */
/* submit_input: what submit reads before it builds: words, -f, --env-file, --config-file. */
#ifndef PLUGIN_SUBMIT_INPUT_H
#define PLUGIN_SUBMIT_INPUT_H
#include "base/limits.h"
#include "cmd.h"
#include "submit.h"
#include "wire/yaml.h"

struct submit_input {
	struct submit_in in; /* borrows from the rest */
	const char *command; /* the one word for a shell */
	struct yaml_docs docs;
	struct buf env_file;
	struct submit_file *files; /* owned */
	struct strs paths;
};
#define SUBMIT_INPUT_INIT ((struct submit_input){ .env_file = BUF_INIT(LIMIT_FILE) })
void submit_input_release(struct submit_input *s);
/* Needs ctx_config. */
MUST_USE int submit_input_read(struct cmd_ctx *ctx, const struct submit_opts *o,
			       const struct opt_args *args, struct submit_input *s,
			       struct err *err);
#endif
