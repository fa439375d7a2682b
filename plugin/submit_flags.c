/* SPDX-License-Identifier: Apache-2.0 */
/* submit_flags: the flags of submit and template, arena's names first. */
#include "output.h"
#include "submit.h"

#define S struct submit_opts
#define OLD_STR(field_, name_)                                                              \
	{                                                                                   \
		.kind = OPT_KIND_STR, .offset = OPT_FIELD_(S, field_, const char *),        \
		.name = (name_), .arg = "V", .help = "older spelling", .flags = OPT_HIDDEN, \
		.given_offset = SIZE_MAX                                                    \
	}
#define OLD_INT(field_, name_, lo, hi)                                                           \
	{                                                                                        \
		.kind = OPT_KIND_INT, .offset = OPT_FIELD_(S, field_, int64_t), .name = (name_), \
		.arg = "N", .min = (lo), .max = (hi), .help = "older spelling",                  \
		.flags = OPT_HIDDEN, .given_offset = SIZE_MAX                                    \
	}
#define OLD_LIST(field_, name_)                                                             \
	{                                                                                   \
		.kind = OPT_KIND_LIST, .offset = OPT_FIELD_(S, field_, struct strs),        \
		.name = (name_), .arg = "V", .help = "older spelling", .flags = OPT_HIDDEN, \
		.given_offset = SIZE_MAX                                                    \
	}

/* clang-format off */
const struct opt submit_options[] = {
	OPT_GROUP("The job"),
	OPT_STR(S, name, 0, "name", "NAME", "name of the job; then the first word is the command"),
	OPT_STR(S, image, 0, "image", "IMAGE", "image of launcher and workers (required)"),
	OPT_STR(S, command, 0, "command", "TEXT", "the command, for a text that begins with a dash"),
	OPT_STR(S, file, 'f', "filename", "FILE", "start from the TrainingJob in this file, - for standard input"),
	OPT_STR(S, working_dir, 0, "working-dir", "DIR", "directory that code is put under (default /root)"),
	OPT_STR(S, shell, 0, "shell", "SHELL", "shell that runs the command (default sh)"),
	OPT_GROUP("Workers"),
	OPT_INT(S, workers, 0, "workers", "N", 1, INT32_MAX, "workers to start with (default 1)"),
	OPT_INT(S, min_workers, 0, "min-workers", "N", 1, INT32_MAX, "least number of workers (default 1)"),
	OPT_INT(S, max_workers, 0, "max-workers", "N", 1, INT32_MAX, "largest number of workers (default 1000)"),
	OPT_INT(S, slots, 0, "slots-per-worker", "N", 1, INT32_MAX,
		"processes a worker runs (default its GPUs, else 1)"),
	OPT_ENUM(S, start_policy, 0, "start-policy", "All|Minimum",
		 "start when all workers are ready, or as soon as the least number is"),
	OPT_GROUP("Resources"),
	OPT_INT(S, gpus, 0, "gpus", "N", 0, INT32_MAX, "GPUs of each worker (default 0)"),
	OPT_STR(S, cpu, 0, "cpu", "QUANTITY", "CPUs of launcher and workers"),
	OPT_STR(S, memory, 0, "memory", "QUANTITY", "memory of launcher and workers"),
	OPT_CSV(S, device, 0, "device", "NAME=N", "other device of each worker, may be repeated"),
	OPT_STR(S, shm_size, 0, "shm-size", "QUANTITY", "size of /dev/shm (default 2Gi)"),
	OPT_BOOL(S, rdma, 0, "rdma", "ask for an RDMA device"),
	OPT_GROUP("Pods"),
	OPT_LIST(S, env, 'e', "env", "NAME=VALUE", "environment variable, may be repeated"),
	OPT_STR(S, env_file, 0, "env-file", "FILE", "file of NAME=VALUE lines"),
	OPT_LIST(S, labels, 'l', "label", "KEY=VALUE", "label of the job and its pods, may be repeated"),
	OPT_LIST(S, annotations, 'a', "annotation", "KEY=VALUE", "annotation of the job and its pods, may be repeated"),
	OPT_LIST(S, launcher_annotations, 0, "launcher-annotation", "KEY=VALUE", "annotation of the launcher only"),
	OPT_LIST(S, worker_annotations, 0, "worker-annotation", "KEY=VALUE", "annotation of the workers only"),
	OPT_LIST(S, selector, 0, "selector", "KEY=VALUE", "node label that workers need, may be repeated"),
	OPT_LIST(S, launcher_selector, 0, "launcher-selector", "KEY=VALUE", "node label that the launcher needs"),
	OPT_LIST(S, toleration, 0, "toleration", "KEY[=VALUE]:EFFECT[,OPERATOR]",
		 "taint to tolerate: a key, key=value:effect, or all"),
	OPT_STR(S, priority, 'p', "priority", "CLASS", "priority class"),
	OPT_LIST(S, pull_secret, 0, "image-pull-secret", "NAME", "secret to pull the image with, may be repeated"),
	OPT_ENUM(S, pull_policy, 0, "image-pull-policy", "Always|IfNotPresent|Never", "when to pull the image"),
	OPT_STR(S, scheduler, 0, "scheduler", "NAME", "scheduler of the pods"),
	OPT_BOOL(S, gang, 0, "gang", "schedule all pods together or none"),
	OPT_BOOL(S, queue, 0, "queue", "hold the job until a queue lets it go"),
	OPT_BOOL(S, host_network, 0, "hostNetwork", "use the node's network"),
	OPT_BOOL(S, host_ipc, 0, "hostIPC", "use the node's IPC namespace"),
	OPT_BOOL(S, host_pid, 0, "hostPID", "use the node's PID namespace"),
	OPT_STR(S, ssh_secret, 0, "ssh-secret", "NAME", "secret with the SSH keys to use"),
	OPT_GROUP("Data and code"),
	OPT_LIST(S, data, 'd', "data", "PVC:PATH", "persistent volume claim and where to mount it, may be repeated"),
	OPT_LIST(S, data_dir, 0, "data-dir", "HOST[:PATH]", "directory of the node and where to mount it, may be repeated"),
	OPT_LIST(S, config_file, 0, "config-file", "FILE[:PATH]", "file to put into the containers, may be repeated"),
	OPT_ENUM(S, sync_mode, 0, "sync-mode", "rsync|git", "how to fetch code"),
	OPT_STR(S, sync_source, 0, "sync-source", "SOURCE", "where to fetch code from"),
	OPT_STR(S, sync_image, 0, "sync-image", "IMAGE", "image that fetches code"),
	OPT_BOOL(S, tensorboard, 0, "tensorboard", "run TensorBoard beside the job"),
	OPT_STR(S, tensorboard_image, 0, "tensorboard-image", "IMAGE",
		"image of TensorBoard (default tensorflow/tensorflow:2.15.0)"),
	OPT_STR(S, logdir, 0, "logdir", "DIR", "directory that TensorBoard reads (default /training_logs)"),
	OPT_GROUP("Life"),
	OPT_ENUM(S, job_restart, 0, "job-restart-policy", "Never|OnFailure", "start the launcher again when it fails"),
	OPT_ENUM(S, worker_restart, 0, "worker-restart-policy", "Never|OnFailure|Always|ExitCode",
		 "restart policy of a worker's container"),
	OPT_INT(S, backoff_limit, 0, "job-backoff-limit", "N", 0, INT32_MAX, "failures before the job fails (default 6)"),
	{ .kind = OPT_KIND_SECS, .offset = OPT_FIELD_(S, ttl_s, int64_t), .name = "ttl", .arg = "DURATION",
	  .min = 0, .max = INT32_MAX, .help = "remove the job this long after its end", .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_SECS, .offset = OPT_FIELD_(S, deadline_s, int64_t), .name = "active-deadline",
	  .arg = "DURATION", .min = 1, .max = INT32_MAX, .help = "fail the job when it runs longer",
	  .given_offset = SIZE_MAX },
	OPT_BOOL(S, spot, 0, "spot-instance", "run on spot instances, for a job supervisor"),
	{ .kind = OPT_KIND_SECS, .offset = OPT_FIELD_(S, max_wait_s, int64_t), .name = "max-wait-time",
	  .arg = "DURATION", .min = 0, .max = INT32_MAX, .help = "longest wait for spot instances",
	  .given_offset = SIZE_MAX },
	OPT_GROUP("What happens now"),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(S, dry_run, const char *), .name = "dry-run",
	  .arg = "WORD", .values = "none|client|server", .implied = "client", .flags = OPT_OPTARG,
	  .help = "only show what would be sent, or let the server check it", .given_offset = SIZE_MAX },
	OPT_OUTPUT(S, OUTPUT_OBJECT_HELP),
	{ .kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(S, wait, const char *), .name = "wait", .arg = "WORD",
	  .values = "Running|Succeeded|Finished", .implied = "Running", .flags = OPT_OPTARG,
	  .help = "wait until the job is so far", .given_offset = SIZE_MAX },
	OPT_SECS(S, timeout_s, 0, "timeout", "longest wait, 0 for no limit"),
	OPT_BOOL(S, logs, 0, "logs", "show the launcher's log until the job ends"),
	OPT_BOOL(S, no_checks, 0, "no-preflight", "do not look for quota and nodes with enough GPUs first"),
	OLD_STR(working_dir, "workingDir"), OLD_STR(ssh_secret, "sshSecret"),
	OLD_STR(sync_mode, "syncMode"), OLD_STR(sync_source, "syncSource"), OLD_STR(sync_image, "syncImage"),
	OLD_STR(tensorboard_image, "tensorboardImage"),
	OLD_LIST(data_dir, "dataDir"), OLD_LIST(data_dir, "datadir"), OLD_LIST(config_file, "configFile"),
	OLD_LIST(pull_secret, "imagePullSecret"), OLD_LIST(pull_secret, "image-pull-secrets"),
	OLD_INT(min_workers, "minWorkers", 1, INT32_MAX), OLD_INT(max_workers, "maxWorkers", 1, INT32_MAX),
	OPT_END,
};
/* clang-format on */

const struct submit_opts submit_defaults = {
	.workers = -1,
	.min_workers = -1,
	.max_workers = -1,
	.gpus = -1,
	.backoff_limit = -1,
	.max_wait_s = -1,
	.slots = -1,
	.ttl_s = -1,
	.deadline_s = -1,
	.timeout_s = 0,
};
