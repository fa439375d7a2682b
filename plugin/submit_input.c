/* SPDX-License-Identifier: Apache-2.0 */
/* submit_input: words and files of submit, read into a struct submit_in. */
#include "submit_input.h"

#include "base/file.h"
#include "base/limits.h"
#include "etjob/names.h"

void submit_input_release(struct submit_input *s)
{
	for (size_t i = 0; i < s->in.nfiles; i++)
		free(s->files[i].data);
	free(s->files);
	strs_release(&s->paths);
	yaml_docs_release(&s->docs);
	buf_release(&s->env_file);
	*s = SUBMIT_INPUT_INIT;
}

/* arena: submit etjob --name=N "command"; ours: submit NAME "command", submit NAME -- words. */
static int read_words(struct submit_input *s, const struct opt_args *args, struct err *err)
{
	size_t plain = args->dashdash < 0 ? args->n : (size_t)args->dashdash, i = 0;

	if (plain && str_eq(args->v[0], "etjob") && (s->in.o->name || args->n - i > 2))
		i++;
	s->in.name = s->in.o->name;
	if (!s->in.name && i < plain)
		s->in.name = args->v[i++];
	if (plain - i > 1)
		return err_set(
			err, FAIL_USAGE,
			"\"%s\" is one word too many: put the command in quotes, or its words after --",
			args->v[i + 1]);
	bool after = args->dashdash >= 0 && args->n > plain;
	if ((s->in.o->command != NULL) + (i < plain) + after > 1)
		return err_set(err, FAIL_USAGE, "the command is given more than once");
	s->command = s->in.o->command ? s->in.o->command : i < plain ? args->v[i] : NULL;
	s->in.shell = s->command != NULL;
	s->in.words = s->command ? &s->command : args->v + plain;
	s->in.nwords = s->command ? 1 : args->n - plain;
	return 0;
}

static int read_base(struct submit_input *s, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_FILE);
	const char *file = s->in.o->file;

	if (file_read(file, &text, err) < 0)
		return -1;
	if (yaml_parse(buf_text(&text), text.len, YAML_STRICT_KEYS, &s->docs, err) < 0)
		return err_wrap(err, "%s", file);
	if (s->docs.n != 1)
		return err_set(err, FAIL_INPUT,
			       "%s: submit takes one TrainingJob, here are %zu documents", file,
			       s->docs.n);
	s->in.base = s->docs.v[0].json;
	if (!str_eq(json_get_str(s->in.base, "kind", ""), KIND_JOB) ||
	    !str_eq(json_get_str(s->in.base, "apiVersion", ""), ETJOB_API_VERSION))
		return err_set(err, FAIL_INPUT, "%s: this is no " KIND_JOB " of " ETJOB_API_VERSION,
			       file);
	if (!s->in.name)
		s->in.name = json_get_str(json_get(s->in.base, "metadata"), "name", NULL);
	return 0;
}

/* "FILE" or "FILE:PATH"; without PATH it lands at its own absolute path. */
static int read_file(struct submit_input *s, const char *text, struct submit_file *f,
		     struct err *err)
{
	AUTO(buf) struct buf host = BUF_INIT(LIMIT_TEXT), data = BUF_INIT(LIMIT_FILE);
	AUTO_FREE char *real = NULL;
	const char *colon = strrchr(text, ':');
	size_t n;

	buf_add(&host, text, colon ? (size_t)(colon - text) : strlen(text));
	if (buf_check(&host, err) < 0)
		return -1;
	if (file_read(buf_text(&host), &data, err) < 0)
		return err_wrap(err, "--config-file");
	real = colon ? strdup(colon + 1) : realpath(buf_text(&host), NULL);
	if (!real)
		return err_nomem(err);
	if (*real != '/')
		return err_set(err, FAIL_USAGE,
			       "--config-file \"%s\": write FILE:PATH with an absolute path", text);
	if (strs_add(&s->paths, real, err) < 0)
		return -1;
	n = data.len;
	if (buf_finish(&data, &f->data, err) < 0)
		return -1;
	f->n = n;
	return 0;
}

static int read_files(struct submit_input *s, struct err *err)
{
	const struct strs *list = &s->in.o->config_file;

	if (!list->n)
		return 0;
	if (!(s->files = calloc(list->n, sizeof(*s->files))))
		return err_nomem(err);
	s->in.files = s->files;
	for (size_t i = 0; i < list->n; i++) {
		if (read_file(s, list->v[i], &s->files[i], err) < 0)
			return -1;
		s->in.nfiles = i + 1;
	}
	for (size_t i = 0; i < list->n; i++) /* only now: the list of paths may have moved */
		s->files[i].path = s->paths.v[i];
	return 0;
}

int submit_input_read(struct cmd_ctx *ctx, const struct submit_opts *o, const struct opt_args *args,
		      struct submit_input *s, struct err *err)
{
	const char *ns;

	s->in.o = o;
	if (read_words(s, args, err) < 0 || (o->file && read_base(s, err) < 0))
		return -1;
	if (!s->in.name && !json_at(s->in.base, "metadata", "generateName", NULL))
		return err_set(err, FAIL_USAGE,
			       "the name of the job is missing: give NAME or --name=NAME");
	if (!o->file && !o->image)
		return err_set(err, FAIL_USAGE,
			       "--image is missing: the image of launcher and workers");
	if (!o->file && !s->in.nwords)
		return err_set(err, FAIL_USAGE,
			       "the command is missing: the last argument, in quotes");
	if (o->env_file) {
		if (file_read(o->env_file, &s->env_file, err) < 0)
			return err_wrap(err, "--env-file");
		s->in.env_file = buf_text(&s->env_file);
	}
	ns = json_get_str(json_get(s->in.base, "metadata"), "namespace", NULL);
	if (ns && ctx->global.ns && *ctx->global.ns && !str_eq(ns, ctx->global.ns))
		return err_set(
			err, FAIL_INPUT,
			"the namespace from the provided object \"%s\" does not match the namespace "
			"\"%s\". You must pass '--namespace=%s' to perform this operation.",
			ns, ctx->global.ns, ns);
	s->in.ns = ns ? ns : ctx_ns(ctx);
	return read_files(s, err);
}
