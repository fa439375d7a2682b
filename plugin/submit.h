/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit: from flags to documents. submit_build is pure: files that the flags
 * name are read before. One table of flags serves submit and template.
 */
#ifndef PLUGIN_SUBMIT_H
#define PLUGIN_SUBMIT_H
#include "base/opt.h"
#include "wire/json.h"

/* Integers: -1, strings: NULL, lists: empty when not given. */
struct submit_opts {
	const char *name, *image, *file, *command, *output, *dry_run, *wait;
	int64_t workers, min_workers, max_workers, gpus;
	const char *cpu, *memory;
	struct strs device;
	const char *working_dir, *shell;
	struct strs env;
	const char *env_file;
	struct strs labels, annotations, launcher_annotations, worker_annotations;
	struct strs selector, launcher_selector, toleration;
	struct strs data, data_dir, config_file;
	const char *priority;
	struct strs pull_secret;
	const char *pull_policy, *job_restart, *worker_restart;
	int64_t backoff_limit;
	const char *ssh_secret;
	bool rdma, gang, queue, host_network, host_ipc, host_pid, spot;
	const char *scheduler, *sync_mode, *sync_source, *sync_image;
	bool tensorboard;
	const char *tensorboard_image, *logdir;
	int64_t max_wait_s;
	const char *shm_size;
	int64_t slots;
	const char *start_policy;
	int64_t ttl_s, deadline_s, timeout_s;
	bool logs, no_checks;
};
extern const struct opt submit_options[];
extern const struct submit_opts submit_defaults;

/* A file that --config-file names, read. */
struct submit_file {
	const char *path; /* in the container, absolute; borrowed */
	char *data;       /* owned, UTF-8 or any bytes */
	size_t n;
};

struct submit_in {
	const struct submit_opts *o;
	const char *ns, *name;    /* name NULL: from the file */
	const char *const *words; /* the command: one word is run by a shell, or argv words */
	size_t nwords;
	bool shell;           /* one word for `sh -c` */
	const cJSON *base;    /* the TrainingJob of -f, or NULL */
	const char *env_file; /* text of --env-file, or NULL */
	const struct submit_file *files;
	size_t nfiles;
};

struct submit_out {
	cJSON *job;       /* owned */
	cJSON **children; /* owned: ConfigMaps, Deployment, Service; to be created after the job */
	size_t nchildren;
};
void submit_out_release(struct submit_out *out);
/* FAIL_USAGE for flags that make no sense. */
MUST_USE int submit_build(const struct submit_in *in, struct submit_out *out, struct err *err);
/* The kubelet's $(NAME) and $$ escaped: the process gets text exactly as it was typed. */
void submit_escape(const char *text, struct buf *out);
/* Makes the children of --config-file and --tensorboard. */
MUST_USE int submit_children(const struct submit_in *in, struct submit_out *out, struct err *err);
#endif
