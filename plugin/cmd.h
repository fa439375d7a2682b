/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd: what a command is, and the context it runs in. One const struct cmd a
 * verb; its tables give parsing, help, manual and completion. A command writes
 * data with ctx->out (flushed by ctx_flush and at the end) and says everything
 * else through ctx_info, ctx_warn and the err it returns. Nothing is global.
 */
#ifndef PLUGIN_CMD_H
#define PLUGIN_CMD_H
#include "base/clock.h"
#include "base/opt.h"
#include "kube/client.h"

#ifndef ETJOB_RELEASE
#define ETJOB_RELEASE "0.1.0"
#endif

#define EXIT_WRONG_USE 2
#define EXIT_TIMEOUT 124
#define EXIT_INTERRUPTED 130

/* kubectl's flags, which every command takes. Strings are borrowed from argv. */
struct global {
	struct kube_flags kube; /* lists filled by global_flags() */
	const char *kubeconfig, *context, *cluster, *user, *ns;
	const char *server, *token, *ca, *cert, *key, *tls_name, *as, *as_uid, *cache_dir;
	const char *username, *password, *proxy_url, *type;
	struct strs as_group, as_extra;
	bool insecure, no_compression, quiet, help;
	int64_t request_timeout_s, verbosity;
};
extern const struct opt global_options[];
extern const struct global global_defaults;
/* Fills g->kube from the fields; valid as long as g. */
void global_flags(struct global *g);
void global_release(struct global *g);

struct cmd_ctx {
	const struct cmd *cmd;
	struct global global;
	const struct clock *clock;
	char *(*env_get)(const char *name);
	int out_fd, err_fd;
	bool out_tty, err_tty;
	bool color; /* stdout is a terminal that wants colour */
	bool utf8;  /* the locale can show more than ASCII */
	struct buf out;
	int64_t started_ms; /* monotonic, for INFO[0003] */
	int status;         /* exit status of a run that returned 0: 1 after a partial failure */
	bool pipe_closed;   /* stdout's reader has gone: end without a word */

	/* made on first use by ctx_config and ctx_api */
	bool have_config;
	struct kube_config config;
	struct loop *loop;
	struct kube *api;
	/* while ctx_catch is on */
	int signal_fd;
	struct fdwatch *signal_watch;
	int caught; /* the signal that came, or 0 */
};

enum cmd_flag {
	CMD_HIDDEN = 1,     /* in no help: aliases of older spellings */
	CMD_NO_CLUSTER = 2, /* needs no cluster: help leaves the connection flags out */
	CMD_RAW_ARGS = 4,   /* words are not counted by main (completion) */
};

struct cmd {
	const char *name;
	const char *aliases;  /* other names, separated by blanks, or NULL */
	const char *group;    /* heading in the list of commands */
	const char *args;     /* "NAME", "" */
	const char *summary;  /* one line, capital first, no full stop */
	const char *details;  /* paragraphs for --help and the manual, or NULL */
	const char *examples; /* lines "# what\nkubectl etjob …", or NULL */
	struct {
		int min, max; /* max -1: any number */
	} nargs;
	const struct opt *opts; /* ends with OPT_END; NULL: none */
	size_t opts_size;
	const void *defaults;
	unsigned flags;
	int (*run)(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
		   struct err *err);
};

/* All commands in the order of help; ends with NULL. */
extern const struct cmd *const cmds[];
const struct cmd *cmds_find(const char *name);
/* Nearest command's name, or NULL. */
const char *cmds_nearest(const char *name);

#define GROUP_JOBS "Jobs"
#define GROUP_SCALE "Scaling"
#define GROUP_LOOK "Looking"
#define GROUP_FILES "Files"
#define GROUP_CLUSTER "Cluster"
#define GROUP_OTHER "Other"

/* Loads the kubeconfig once. */
MUST_USE int ctx_config(struct cmd_ctx *ctx, struct err *err);
/* The client, made once: ctx->api. */
MUST_USE int ctx_api(struct cmd_ctx *ctx, struct err *err);
/* Namespace in use after ctx_config. */
const char *ctx_ns(const struct cmd_ctx *ctx);
/* Writes what is in ctx->out. A closed pipe is FAIL_CANCELED with pipe_closed set. */
MUST_USE int ctx_flush(struct cmd_ctx *ctx, struct err *err);
/* A line on stderr as arena prints it; nothing with -q. */
PRINTF(2, 3) void ctx_info(struct cmd_ctx *ctx, const char *fmt, ...);
/* "Warning: text" on stderr. */
PRINTF(2, 3) void ctx_warn(struct cmd_ctx *ctx, const char *fmt, ...);
/* A plain line on stderr (errors of one of several names, notes). */
PRINTF(2, 3) void ctx_note(struct cmd_ctx *ctx, const char *fmt, ...);
/* Prints err as main would, sets ctx->status to 1: for one of several names. */
void ctx_fail(struct cmd_ctx *ctx, const struct err *err);
/* The line for an err, with "error: " where the text has no prefix of its own. */
void ctx_error_line(const struct err *err, struct buf *out);
/* " -n NS" where it was given on the command line, for hints; else "". */
void ctx_ns_hint(const struct cmd_ctx *ctx, struct buf *out);
/*
 * From here SIGINT and SIGTERM end the loop instead of the process: ctx->caught is set.
 * For commands that wait; needs ctx_api.
 */
MUST_USE int ctx_catch(struct cmd_ctx *ctx, struct err *err);
void ctx_release(struct cmd_ctx *ctx);
/* Columns of the terminal on fd, or fallback. */
size_t ctx_width(int fd, size_t fallback);

/* For a result that does not matter: a comment beside says why. */
static inline void ignore_result(int rc)
{
	(void)rc;
}

/* FAIL_USAGE unless text may be the name of an object. */
MUST_USE int arg_name(const char *text, struct err *err);
/*
 * The job's name from arena's --name or the words: NAME, or etjob NAME. Others are usage
 * errors. *rest is the index of the first word after it.
 */
MUST_USE int arg_job(const char *name_flag, const struct opt_args *args, const char **name,
		     size_t *rest, struct err *err);
#endif
