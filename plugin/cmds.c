/* SPDX-License-Identifier: Apache-2.0 */
/* cmds: the table of commands. */
#include "cmd.h"

extern const struct cmd cmd_submit, cmd_delete, cmd_suspend, cmd_resume, cmd_restart, cmd_prune,
	cmd_scaleout, cmd_scalein, cmd_scale, cmd_get, cmd_list, cmd_describe, cmd_logs, cmd_events,
	cmd_history, cmd_top, cmd_wait, cmd_exec, cmd_attach, cmd_install, cmd_uninstall,
	cmd_doctor, cmd_template, cmd_validate, cmd_completion, cmd_version, cmd_help, cmd_options;

/* clang-format off */
const struct cmd *const cmds[] = {
	&cmd_submit, &cmd_delete, &cmd_suspend, &cmd_resume, &cmd_restart, &cmd_prune,
	&cmd_scaleout, &cmd_scalein, &cmd_scale,
	&cmd_get, &cmd_list, &cmd_describe, &cmd_logs, &cmd_events, &cmd_history, &cmd_top, &cmd_wait,
	&cmd_exec, &cmd_attach,
	&cmd_validate, &cmd_template,
	&cmd_install, &cmd_uninstall, &cmd_doctor,
	&cmd_completion, &cmd_version, &cmd_help, &cmd_options,
	NULL,
};
/* clang-format on */

/* Whether name is among words parted by blanks. */
static bool among(const char *words, const char *name)
{
	size_t n = strlen(name);

	while (words && *words) {
		size_t w = strcspn(words, " ");

		if (w == n && strncmp(words, name, n) == 0)
			return true;
		words += w + strspn(words + w, " ");
	}
	return false;
}

const struct cmd *cmds_find(const char *name)
{
	for (size_t i = 0; cmds[i]; i++)
		if (str_eq(cmds[i]->name, name) || among(cmds[i]->aliases, name))
			return cmds[i];
	return NULL;
}

const char *cmds_nearest(const char *name)
{
	const char *names[ARRAY_LEN(cmds)];
	size_t n = 0;

	for (size_t i = 0; cmds[i]; i++)
		if (!(cmds[i]->flags & CMD_HIDDEN))
			names[n++] = cmds[i]->name;
	return opt_nearest(name, names, n);
}
