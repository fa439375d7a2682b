/* SPDX-License-Identifier: Apache-2.0 */
/* options: the flags of etjob-webhook, and of its subcommand certs. */
#ifndef WEBHOOK_OPTIONS_H
#define WEBHOOK_OPTIONS_H
#include "base/opt.h"

struct options {
	const char *listen, *health_listen;
	int64_t threads; /* 0: one a processor, at most 4 */
	int64_t drain_s;
	bool inject_mount;
	const char *unique_names;         /* "cluster" or "namespace" */
	const char *cert_file, *key_file; /* NULL: self-managed */
	const char *service, *namespace_, *secret, *config;
	struct strs dns;
	int64_t cert_life_s, ca_life_s, ca_settle_s, ca_keep_s;
	const char *kubeconfig, *context;
	const char *log_format, *log_level;
	bool help, version;
};
extern const struct opt options_table[];
extern const struct options options_defaults;

struct certs_options {
	const char *out;
	struct strs dns;
	int64_t cert_life_s, ca_life_s;
	bool help;
};
extern const struct opt certs_options_table[];
extern const struct certs_options certs_options_defaults;

/* The whole --help text of the program, or of its subcommand. */
void options_help(bool certs, struct buf *out);
/* Faults between flags: FAIL_USAGE. */
MUST_USE int options_check(const struct options *o, struct err *err);
#endif
