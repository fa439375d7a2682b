/* SPDX-License-Identifier: Apache-2.0 */
/* help_docs: the manual page and the reference, from the same tables as --help. */
#include "help.h"

/* man(7) text: a backslash and a leading dot or quote must not be read as a macro. */
static void roff(struct buf *out, const char *s, size_t n)
{
	bool start = true;

	for (size_t i = 0; i < n; i++) {
		if (start && (s[i] == '.' || s[i] == '\''))
			buf_str(out, "\\&");
		if (s[i] == '\\')
			buf_str(out, "\\e");
		else if (s[i] == '-')
			buf_str(out, "\\-");
		else
			buf_char(out, s[i]);
		start = s[i] == '\n';
	}
}

static void roff_str(struct buf *out, const char *s)
{
	roff(out, s, strlen(s));
}

static void roff_paragraphs(struct buf *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);

		buf_str(out, ".PP\n");
		roff(out, text, n);
		buf_char(out, '\n');
		text += n + (end ? 2 : 0);
	}
}

/* "-n, --namespace=NS" */
static void option_name(const struct opt *o, struct buf *out)
{
	if (o->letter)
		buf_printf(out, "-%c, ", o->letter);
	buf_printf(out, "--%s", o->name);
	if (o->arg) {
		const char *arg = o->kind == OPT_KIND_ENUM && o->values ? o->values : o->arg;

		buf_printf(out, o->flags & OPT_OPTARG ? "[=%s]" : "=%s", arg);
	}
}

/* A text that could not grow must not pass for a short one. */
static void same_fate(struct buf *out, const struct buf *part)
{
	if (part->fail != FAIL_NONE && out->fail == FAIL_NONE)
		out->fail = part->fail;
}

/* " (default 3)" where the table's default says something. */
static void option_default(const struct opt *o, const void *defaults, struct buf *out)
{
	if (!defaults || o->flags & OPT_GIVEN_ONLY)
		return;
	const char *field = (const char *)defaults + o->offset;

	if (o->kind == OPT_KIND_INT || o->kind == OPT_KIND_SECS) {
		int64_t v;

		memcpy(&v, field, sizeof(v));
		if (v > 0 && v >= o->min)
			buf_printf(out, " (default %" PRId64 "%s)", v,
				   o->kind == OPT_KIND_SECS ? "s" : "");
	} else if (o->kind == OPT_KIND_STR || o->kind == OPT_KIND_ENUM) {
		const char *v;

		memcpy(&v, field, sizeof(v));
		if (v && *v)
			buf_printf(out, " (default %s)", v);
	}
}

static bool shown(const struct opt *o)
{
	return o->kind != OPT_KIND_GROUP && !(o->flags & OPT_HIDDEN);
}

static void man_options(const struct opt *opts, const void *defaults, struct buf *out)
{
	for (const struct opt *o = opts; o && o->kind != OPT_KIND_END; o++) {
		AUTO(buf) struct buf name = BUF_INIT(4096);
		AUTO(buf) struct buf text = BUF_INIT(4096);

		if (!shown(o))
			continue;
		option_name(o, &name);
		buf_str(&text, o->help);
		option_default(o, defaults, &text);
		same_fate(out, &name);
		same_fate(out, &text);
		buf_str(out, ".TP\n.B ");
		roff_str(out, buf_text(&name));
		buf_char(out, '\n');
		roff_str(out, buf_text(&text));
		buf_char(out, '\n');
	}
}

static void man_command(const struct cmd *cmd, struct buf *out)
{
	buf_printf(out, ".SS ");
	roff_str(out, cmd->name);
	buf_str(out, "\n.PP\n.B kubectl etjob ");
	roff_str(out, cmd->name);
	buf_str(out, "\n.RI ");
	buf_printf(out, "\"%s\"\n.PP\n", cmd->args);
	roff_str(out, cmd->summary);
	buf_str(out, ".\n");
	if (cmd->details)
		roff_paragraphs(out, cmd->details);
	man_options(cmd->opts, cmd->defaults, out);
	if (cmd->examples) {
		buf_str(out, ".PP\nExamples:\n.PP\n.nf\n.RS\n");
		roff_str(out, cmd->examples);
		buf_str(out, "\n.RE\n.fi\n");
	}
}

static const char man_end[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nDone.\n"
	".TP\n.B 1\nThe thing asked for failed, or some of several things did.\n"
	".TP\n.B 2\nWrong use: flags or arguments.\n"
	".TP\n.B 124\nA time limit passed first.\n"
	".TP\n.B 130\nInterrupted.\n"
	".SH ENVIRONMENT\n"
	".TP\n.B KUBECONFIG\nkubeconfig files, separated by colons.\n"
	".TP\n.B NO_COLOR\nNo colour when it is set and not empty.\n"
	".SH SEE ALSO\n.BR kubectl (1)\n";

void help_man(struct buf *out)
{
	buf_str(out,
		".\\\" SPDX-License-Identifier: Apache-2.0\n"
		".\\\" Made from the option tables by `make docs`.\n"
		".TH KUBECTL\\-ETJOB 1 \"\" \"kubectl\\-etjob " ETJOB_RELEASE
		"\" \"User Commands\"\n"
		".SH NAME\nkubectl\\-etjob \\- elastic Horovod training on Kubernetes\n"
		".SH SYNOPSIS\n.B kubectl etjob\n.I COMMAND\n.RI [ FLAGS ]\n"
		".SH DESCRIPTION\n"
		"Submits, watches, scales and removes elastic training jobs (TrainingJob, ScaleOut and "
		"ScaleIn of kai.alibabacloud.com), and checks their files without a cluster.\n"
		".SH COMMANDS\n");
	for (size_t i = 0; cmds[i]; i++)
		if (!(cmds[i]->flags & CMD_HIDDEN))
			man_command(cmds[i], out);
	buf_str(out, ".SH GLOBAL FLAGS\n");
	man_options(global_options, &global_defaults, out);
	buf_str(out, man_end);
}

static void md_escape(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '|' || *s == '<' || *s == '*')
			buf_char(out, '\\');
		buf_char(out, *s);
	}
}

static void md_options(const struct opt *opts, const void *defaults, struct buf *out)
{
	bool any = false;

	for (const struct opt *o = opts; o && o->kind != OPT_KIND_END; o++) {
		AUTO(buf) struct buf name = BUF_INIT(4096);
		AUTO(buf) struct buf text = BUF_INIT(4096);

		if (!shown(o))
			continue;
		if (!any)
			buf_str(out, "\n| flag | meaning |\n|---|---|\n");
		any = true;
		option_name(o, &name);
		buf_str(&text, o->help);
		option_default(o, defaults, &text);
		same_fate(out, &name);
		same_fate(out, &text);
		buf_str(out, "| `");
		for (const char *p = buf_text(&name); *p; p++)
			buf_printf(out, *p == '|' ? "\\|" : "%c", *p);
		buf_str(out, "` | ");
		md_escape(out, buf_text(&text));
		buf_str(out, " |\n");
	}
}

static void md_command(const struct cmd *cmd, struct buf *out)
{
	buf_printf(out, "\n## %s\n\n```\nkubectl etjob %s%s%s%s\n```\n\n%s.\n", cmd->name,
		   cmd->name, *cmd->args ? " " : "", cmd->args, cmd->opts ? " [flags]" : "",
		   cmd->summary);
	if (cmd->details) {
		buf_char(out, '\n');
		md_escape(out, cmd->details);
		buf_char(out, '\n');
	}
	if (cmd->examples)
		buf_printf(out, "\n```sh\n%s\n```\n", cmd->examples);
	md_options(cmd->opts, cmd->defaults, out);
}

void help_markdown(struct buf *out)
{
	buf_str(out,
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		"<!-- Made from the option tables by `make docs`. -->\n"
		"# kubectl etjob: commands and flags\n\n"
		"Exit status: 0 done; 1 the thing asked for failed; 2 wrong use; 124 a time limit "
		"passed first; 130 interrupted.\n");
	for (size_t i = 0; cmds[i]; i++)
		if (!(cmds[i]->flags & CMD_HIDDEN))
			md_command(cmds[i], out);
	buf_str(out, "\n## Flags of every command\n");
	md_options(global_options, &global_defaults, out);
}
