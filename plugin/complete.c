/* SPDX-License-Identifier: Apache-2.0 */
/* complete: the words that may follow. */
#include "complete.h"

#include "base/limits.h"
#include "etjob/names.h"

#define DIRECTIVE_FILES 0 /* the shell completes file names */
#define DIRECTIVE_NOFILES 4
#define LOOKUP_S 3 /* a shell must not hang for longer */

struct completing {
	struct cmd_ctx *ctx;
	const struct cmd *cmd;
	const char *last;
	const char *prefix; /* of a value: "--namespace=" */
	int directive;
};

bool complete_is_helper(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return str_eq(slash ? slash + 1 : argv0, "kubectl_complete-etjob");
}

static void offer(struct completing *c, const char *word, size_t n, const char *help)
{
	size_t have = strlen(c->last);

	if (n < have || strncmp(word, c->last, have) != 0)
		return;
	buf_str(&c->ctx->out, c->prefix);
	buf_add(&c->ctx->out, word, n);
	if (help)
		buf_printf(&c->ctx->out, "\t%s", help);
	buf_char(&c->ctx->out, '\n');
}

static int on_name(void *arg, cJSON *item)
{
	struct completing *c = arg;
	const char *name = json_get_str(json_get(item, "metadata"), "name", "");

	offer(c, name, strlen(name), json_get_str(json_get(item, "status"), "phase", NULL));
	cJSON_Delete(item);
	return 0;
}

/* Errors give no words: there is nowhere to show them. */
static void offer_objects(struct completing *c, const struct kube_res *res, const char *selector)
{
	struct kube_list_opts opts = { .label_selector = selector, .on_item = on_name, .arg = c };
	struct err err = ERR_INIT;

	c->directive = DIRECTIVE_NOFILES;
	if (!c->ctx->global.request_timeout_s)
		c->ctx->global.request_timeout_s = LOOKUP_S;
	if (ctx_api(c->ctx, &err) == 0)
		ignore_result(kube_list(c->ctx->api, res, res->namespaced ? ctx_ns(c->ctx) : NULL,
					&opts, NULL, &err));
}

static void offer_contexts(struct completing *c)
{
	AUTO(strs) struct strs names = STRS_INIT;
	struct err err = ERR_INIT;

	c->directive = DIRECTIVE_NOFILES;
	global_flags(&c->ctx->global);
	if (kube_config_contexts(&c->ctx->global.kube, c->ctx->env_get, &names, &err) == 0)
		for (size_t i = 0; i < names.n; i++)
			offer(c, names.v[i], strlen(names.v[i]), NULL);
}

static void offer_words(struct completing *c, const char *words)
{
	c->directive = DIRECTIVE_NOFILES;
	while (*words) {
		size_t n = strcspn(words, "|");

		offer(c, words, n, NULL);
		words += n + (words[n] == '|');
	}
}

static void offer_value(struct completing *c, const struct opt *o)
{
	c->directive = DIRECTIVE_NOFILES;
	if (o->kind == OPT_KIND_ENUM)
		offer_words(c, o->values);
	else if (str_eq(o->values, "@namespaces"))
		offer_objects(c, &kube_namespaces, NULL);
	else if (str_eq(o->values, "@contexts"))
		offer_contexts(c);
	else if (str_eq(o->values, "@jobs"))
		offer_objects(c, &kube_trainingjobs, NULL);
	else if (str_eq(o->values, "@instances"))
		offer_objects(c, &kube_pods, LABEL_GROUP "=" ETJOB_GROUP);
	else if (str_eq(o->values, "@files") || str_eq(o->arg, "FILE") || str_eq(o->arg, "DIR"))
		c->directive = DIRECTIVE_FILES;
	else if (str_eq(o->name, "output"))
		offer_words(c, "json|yaml|name|wide|jsonpath=");
}

static void offer_flags(struct completing *c, const struct opt *opts)
{
	for (const struct opt *o = opts; o && o->kind != OPT_KIND_END; o++) {
		AUTO(buf) struct buf word = BUF_INIT(LIMIT_TEXT);

		if (o->kind == OPT_KIND_GROUP || o->flags & OPT_HIDDEN)
			continue;
		buf_printf(&word, "--%s", o->name);
		offer(c, buf_text(&word), word.len, o->help);
	}
}

/* The option that word names ("--x", "--x=…" or "-x"), or NULL. */
static const struct opt *option_of(const struct cmd *cmd, const char *word)
{
	const struct opt *tables[] = { global_options, cmd ? cmd->opts : NULL };
	size_t n = strcspn(word, "=");

	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (const struct opt *o = tables[t]; o && o->kind != OPT_KIND_END; o++) {
			if (o->kind == OPT_KIND_GROUP)
				continue;
			if (word[0] == '-' && word[1] == '-' && n - 2 == strlen(o->name) &&
			    strncmp(word + 2, o->name, n - 2) == 0)
				return o;
			if (word[0] == '-' && word[1] != '-' && o->letter && word[1] == o->letter &&
			    !word[2])
				return o;
		}
	return NULL;
}

static bool needs_value(const struct opt *o, const char *word)
{
	return o && o->kind != OPT_KIND_BOOL && !(o->flags & OPT_OPTARG) && !strchr(word, '=');
}

static void offer_commands(struct completing *c)
{
	c->directive = DIRECTIVE_NOFILES;
	for (size_t i = 0; cmds[i]; i++)
		if (!(cmds[i]->flags & CMD_HIDDEN))
			offer(c, cmds[i]->name, strlen(cmds[i]->name), cmds[i]->summary);
}

static void offer_argument(struct completing *c)
{
	const char *args = c->cmd->args;

	c->directive = DIRECTIVE_NOFILES;
	if (str_eq(args, "bash|zsh|fish"))
		offer_words(c, args);
	else if (str_eq(args, "[COMMAND]"))
		offer_commands(c);
	else if (strstr(args, "NAME") && !str_eq(c->cmd->name, "submit") &&
		 !str_eq(c->cmd->name, "template"))
		offer_objects(c, &kube_trainingjobs, NULL);
	else if (str_eq(c->cmd->name, "submit"))
		offer_words(c, "etjob");
	else
		c->directive = DIRECTIVE_FILES;
}

/* Flags that say where to look: what does not parse yet is no reason to offer nothing. */
static void read_flags(struct completing *c, int argc, char **argv)
{
	AUTO(opt_args) struct opt_args args = { 0 };
	AUTO_FREE void *opts = calloc(1, c->cmd ? c->cmd->opts_size + 1 : 1);
	struct opt_set sets[] = { { .opts = global_options, .into = &c->ctx->global },
				  { .opts = c->cmd ? c->cmd->opts : NULL, .into = opts } };
	struct err err = ERR_INIT;

	if (!opts)
		return;
	if (c->cmd && c->cmd->defaults)
		memcpy(opts, c->cmd->defaults, c->cmd->opts_size);
	ignore_result(opt_parse(sets, sets[1].opts ? 2 : 1, argc, argv, &args, &err));
	if (sets[1].opts)
		opt_release(sets[1].opts, opts);
}

int complete_main(struct cmd_ctx *ctx, int argc, char **argv, struct err *err)
{
	struct completing c = { .ctx = ctx, .prefix = "", .directive = DIRECTIVE_NOFILES };
	AUTO(buf) struct buf prefix = BUF_INIT(LIMIT_TEXT);
	const struct opt *pending = NULL;

	if (argc < 1)
		return err_set(err, FAIL_USAGE, "nothing to complete");
	c.last = argv[argc - 1];
	for (int i = 0; i < argc - 1; i++) {
		const struct opt *o = option_of(c.cmd, argv[i]);

		if (pending)
			pending = NULL;
		else if (needs_value(o, argv[i]))
			pending = o;
		else if (argv[i][0] != '-' && !c.cmd)
			c.cmd = cmds_find(argv[i]);
	}
	read_flags(&c, argc - 1, argv);
	if (pending) {
		offer_value(&c, pending);
	} else if (c.last[0] == '-' && strchr(c.last, '=')) {
		const char *eq = strchr(c.last, '=');
		const struct opt *o = option_of(c.cmd, c.last);

		buf_add(&prefix, c.last, (size_t)(eq - c.last + 1));
		c.prefix = buf_text(&prefix);
		c.last = eq + 1;
		if (o)
			offer_value(&c, o);
	} else if (c.last[0] == '-') {
		offer_flags(&c, c.cmd ? c.cmd->opts : NULL);
		offer_flags(&c, global_options);
	} else if (c.cmd) {
		offer_argument(&c);
	} else {
		offer_commands(&c);
	}
	buf_printf(&ctx->out, ":%d\n", c.directive);
	return 0;
}
