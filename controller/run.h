/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: the running controller: the engine on a real API server, with its
 * informers, its lease, its HTTP endpoints and its signals.
 */
#ifndef CONTROLLER_RUN_H
#define CONTROLLER_RUN_H
#include "base/log.h"
#include "base/opt.h"
#include "kube/config.h"

struct run_opts {
	const char *kubeconfig, *context;
	bool leader_elect;
	const char *lease_namespace;
	struct strs namespaces;   /* empty: all */
	const char *unique_names; /* cluster | namespace */
	bool allow_scripts;
	const char *listen; /* "": no endpoint */
	const char *log_format, *log_level;
	bool help, version;
};
extern const struct opt run_options[];
extern const struct run_opts run_defaults;

/* Serves until SIGTERM or SIGINT (0), or until something ends it (-1: the lease is lost...). */
MUST_USE int run(const struct run_opts *opts, const struct log *log, struct err *err);
#endif
