/* SPDX-License-Identifier: Apache-2.0 */
/* help: --help from the tables. */
#include "help.h"

static const char *const groups[] = { GROUP_JOBS,  GROUP_SCALE,   GROUP_LOOK,
				      GROUP_FILES, GROUP_CLUSTER, GROUP_OTHER };

void help_wrap(const char *text, size_t indent, size_t width, struct buf *out)
{
	size_t col = 0;

	if (width < indent + 20)
		width = indent + 20;
	while (*text) {
		size_t n = strcspn(text, " \n");

		if (col && col + 1 + n > width) {
			buf_char(out, '\n');
			col = 0;
		}
		if (n) {
			if (col)
				buf_char(out, ' ');
			else
				buf_printf(out, "%*s", (int)indent, "");
			buf_add(out, text, n);
			col = (col ? col + 1 : indent) + n;
		}
		text += n;
		if (text[0] == '\n' && text[1] == '\n') {
			buf_str(out, col ? "\n\n" : "\n");
			col = 0;
			text += 2;
		} else if (*text) {
			text++;
		}
	}
	if (col)
		buf_char(out, '\n');
}

static void list_commands(const char *group, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; cmds[i]; i++) {
		if (cmds[i]->flags & CMD_HIDDEN || !str_eq(cmds[i]->group, group))
			continue;
		if (!any)
			buf_printf(out, "\n%s:\n", group);
		any = true;
		buf_printf(out, "  %-11s %s\n", cmds[i]->name, cmds[i]->summary);
	}
}

void help_root(size_t width, struct buf *out)
{
	help_wrap(
		"kubectl etjob: elastic Horovod training on Kubernetes. Submit a job with a least, a "
		"starting and a largest number of workers, and change the number while it trains.",
		0, width, out);
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		list_commands(groups[i], out);
	buf_str(out,
		"\nkubectl etjob COMMAND --help tells more of a command, kubectl etjob options lists "
		"the flags that every command takes.\n");
}

void help_command(const struct cmd *cmd, size_t width, struct buf *out)
{
	buf_printf(out, "%s.\n", cmd->summary);
	if (cmd->details) {
		buf_char(out, '\n');
		help_wrap(cmd->details, 0, width, out);
	}
	buf_printf(out, "\nUsage:\n  kubectl etjob %s%s%s%s\n", cmd->name, *cmd->args ? " " : "",
		   cmd->args, cmd->opts ? " [flags]" : "");
	if (cmd->examples) {
		buf_str(out, "\nExamples:\n");
		for (const char *p = cmd->examples; *p;) {
			size_t n = strcspn(p, "\n");

			buf_str(out, "  ");
			buf_add(out, p, n);
			buf_char(out, '\n');
			p += n + (p[n] == '\n');
		}
	}
	if (cmd->opts) {
		buf_str(out, "\nFlags:\n");
		opt_help(cmd->opts, cmd->defaults, width, out);
	}
	if (!(cmd->flags & CMD_NO_CLUSTER))
		buf_str(out,
			"\nkubectl etjob options lists the flags of every command (-n, --context, ...).\n");
}

void help_global(size_t width, struct buf *out)
{
	buf_str(out, "Flags that every command takes:\n");
	opt_help(global_options, &global_defaults, width, out);
}
