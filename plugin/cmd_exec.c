/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl etjob exec, attach: kubectl's own, with the right pod and container of a job. */
#include <errno.h>

#include "base/limits.h"
#include "etjob/names.h"
#include "fetch.h"

struct exec_opts {
	const char *instance, *container;
	bool stdin_, tty;
};

/* clang-format off */
static const struct opt options[] = {
	{ .kind = OPT_KIND_STR, .offset = OPT_FIELD_(struct exec_opts, instance, const char *),
	  .letter = 'i', .name = "instance", .arg = "POD", .values = "@instances",
	  .help = "a pod of the job: its name, or worker-0 (default the launcher)", .given_offset = SIZE_MAX },
	OPT_STR(struct exec_opts, container, 'c', "container", "NAME", "container of the pod"),
	OPT_BOOL(struct exec_opts, stdin_, 0, "stdin", "pass standard input to it"),
	OPT_BOOL(struct exec_opts, tty, 't', "tty", "standard input is a terminal"),
	OPT_END,
};
/* clang-format on */

static int add(struct strs *argv, const char *word, const char *value, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);

	if (value && !*value)
		return 0;
	buf_printf(&text, "%s%s", word, value ? value : "");
	return buf_check(&text, err) < 0 ? -1 : strs_add(argv, buf_text(&text), err);
}

/*
 * The connection flags that were given to us, for kubectl. A token stays out of argv, where every
 * user of the machine could read it.
 */
static int add_connection(const struct cmd_ctx *ctx, struct strs *argv, struct err *err)
{
	const struct global *g = &ctx->global;
	const struct {
		const char *flag, *value;
	} rows[] = {
		{ "--kubeconfig=", g->kubeconfig },
		{ "--context=", g->context },
		{ "--cluster=", g->cluster },
		{ "--user=", g->user },
		{ "--server=", g->server },
		{ "--as=", g->as },
		{ "--as-uid=", g->as_uid },
		{ "--certificate-authority=", g->ca },
		{ "--client-certificate=", g->cert },
		{ "--client-key=", g->key },
		{ "--tls-server-name=", g->tls_name },
		{ "--cache-dir=", g->cache_dir },
	};

	if (g->token || g->password)
		return err_set(
			err, FAIL_USAGE,
			"exec and attach run kubectl, which would show --token and --password to other "
			"users: put the credentials into a kubeconfig");
	if (g->proxy_url)
		return err_set(
			err, FAIL_USAGE,
			"exec and attach run kubectl, which has no --proxy-url: put it into the kubeconfig");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].value && add(argv, rows[i].flag, rows[i].value, err) < 0)
			return -1;
	for (size_t i = 0; i < g->as_group.n; i++)
		if (add(argv, "--as-group=", g->as_group.v[i], err) < 0)
			return -1;
	for (size_t i = 0; i < g->as_extra.n; i++)
		if (add(argv, "--as-user-extra=", g->as_extra.v[i], err) < 0)
			return -1;
	if (g->no_compression && add(argv, "--disable-compression", NULL, err) < 0)
		return -1;
	if (g->insecure && add(argv, "--insecure-skip-tls-verify", NULL, err) < 0)
		return -1;
	return add(argv, "--namespace=", ctx_ns(ctx), err);
}

/* The job's pod that was meant; its name is copied to *pod. */
static int choose(struct cmd_ctx *ctx, const char *job_name, const char *instance, char **pod,
		  char **container, struct err *err)
{
	AUTO_JSON cJSON *job = NULL;
	AUTO(pods) struct pods pods = { 0 };
	size_t n = strlen(job_name);

	if (fetch_job(ctx, job_name, &job, &pods, err) < 0)
		return -1;
	for (size_t i = 0; i < pods.n; i++) {
		const struct podinfo *p = &pods.v[i];
		bool match =
			instance ? str_eq(p->name, instance) ||
					   (str_starts(p->name, job_name) && p->name[n] == '-' &&
					    str_eq(p->name + n + 1, instance))
				 : str_eq(p->role, ROLE_LAUNCHER);
		const char *first = podinfo_container(p->obj);

		if (!match)
			continue;
		if (!str_eq(p->phase, "Running"))
			return err_set(err, FAIL_STATE, "pod \"%s\" does not run: it is %s",
				       p->name, p->status);
		if (first && str_copy(first, container, err) < 0)
			return -1;
		return str_copy(p->name, pod, err);
	}
	return err_set(err, FAIL_STATE, "job \"%s\" has no %s", job_name,
		       instance ? instance : "launcher yet");
}

static int become(struct strs *words, struct err *err)
{
	AUTO_FREE char **argv = calloc(words->n + 1, sizeof(char *));

	if (!argv)
		return err_nomem(err);
	for (size_t i = 0; i < words->n; i++)
		argv[i] = words->v[i];
	(void)execvp("kubectl", argv);
	return errno == ENOENT ? err_set(err, FAIL_STATE,
					 "kubectl is not on the PATH: exec and attach use it")
			       : err_os(err, errno, "cannot run kubectl");
}

static int run(struct cmd_ctx *ctx, const char *verb, const struct exec_opts *o,
	       const struct opt_args *args, struct err *err)
{
	AUTO(strs) struct strs argv = STRS_INIT;
	AUTO_FREE char *pod = NULL, *container = NULL;

	if (str_eq(o->instance, "t"))
		return err_set(err, FAIL_USAGE,
			       "-i names a pod here: write --stdin -t for a terminal");
	if (arg_name(args->v[0], err) < 0 || ctx_api(ctx, err) < 0 ||
	    choose(ctx, args->v[0], o->instance, &pod, &container, err) < 0)
		return -1;
	if (strs_add(&argv, "kubectl", err) < 0 || strs_add(&argv, verb, err) < 0 ||
	    add_connection(ctx, &argv, err) < 0 ||
	    (o->stdin_ && strs_add(&argv, "--stdin", err) < 0) ||
	    (o->tty && strs_add(&argv, "--tty", err) < 0) || strs_add(&argv, pod, err) < 0)
		return -1;
	if (o->container ? add(&argv, "--container=", o->container, err) < 0
			 : container && add(&argv, "--container=", container, err) < 0)
		return -1;
	if (args->n > 1 && strs_add(&argv, "--", err) < 0)
		return -1;
	for (size_t i = 1; i < args->n; i++)
		if (strs_add(&argv, args->v[i], err) < 0)
			return -1;
	return become(&argv, err);
}

static int exec_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		    struct err *err)
{
	if (args->n < 2 || args->dashdash != 1)
		return err_set(err, FAIL_USAGE,
			       "write kubectl etjob exec NAME -- COMMAND [ARG...]");
	return run(ctx, "exec", opts, args, err);
}

static int attach_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		      struct err *err)
{
	return run(ctx, "attach", opts, args, err);
}

const struct cmd cmd_exec = {
	.name = "exec",
	.group = GROUP_LOOK,
	.args = "NAME -- COMMAND [ARG...]",
	.summary = "Run a command in a pod of a job, through kubectl exec",
	.examples = "kubectl etjob exec elastic-training -i worker-0 --stdin -t -- sh",
	.nargs = { 1, -1 },
	.opts = options,
	.opts_size = sizeof(struct exec_opts),
	.defaults = &(const struct exec_opts){ 0 },
	.run = exec_run,
};

const struct cmd cmd_attach = {
	.name = "attach",
	.group = GROUP_LOOK,
	.args = "NAME",
	.summary = "Attach to the process of a pod of a job, through kubectl attach",
	.nargs = { 1, 1 },
	.opts = options,
	.opts_size = sizeof(struct exec_opts),
	.defaults = &(const struct exec_opts){ 0 },
	.run = attach_run,
};
