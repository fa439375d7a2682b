/* SPDX-License-Identifier: Apache-2.0 */
/* config_int: what the files of the config module share. Nobody else includes it. */
#ifndef KUBE_CONFIG_INT_H
#define KUBE_CONFIG_INT_H
#include "kube/config.h"

/* All files put together. Each member maps a name to its stanza; paths in them are absolute. */
struct kubeconfig {
	cJSON *clusters, *users, *contexts; /* owned objects, never NULL after kubeconfig_read */
	char *current;                      /* owned, or NULL */
	bool empty;                         /* no stanza and no current-context at all */
};
#define KUBECONFIG_INIT ((struct kubeconfig){ 0 })
void kubeconfig_release(struct kubeconfig *k);
/* Reads and merges what --kubeconfig, KUBECONFIG and HOME name. FAIL_CONFIG. */
MUST_USE int kubeconfig_read(const struct kube_flags *flags, char *(*env_get)(const char *),
			     struct kubeconfig *out, struct err *err);
/*
 * Checks one parsed file against the types of kubeconfig's fields, as Go's decoder
 * does, and that base64 fields decode. FAIL_INPUT.
 */
MUST_USE int kubeconfig_check(const cJSON *root, struct err *err);
/* The text of an errno as Go writes it: small first letter. */
const char *config_os_text(int errno_value, char out[128]);
/* Whether the user's own preferences (kuberc) let an exec plugin run. FAIL_CONFIG when not. */
MUST_USE int kuberc_allows(const cJSON *exec, char *(*env_get)(const char *), struct err *err);
/* What is known while the answer is put together. */
struct resolve {
	const struct kube_flags *flags;
	char *(*env_get)(const char *);
	struct kubeconfig merged;
	const cJSON *context, *cluster, *user; /* borrowed from merged; NULL: none */
	const char *user_name;                 /* "" when there is none */
	const char *ca_file, *cert_file, *key_file;
	struct strs problems;
	struct kube_config *out;
};

/* A flag or variable that is not empty. */
bool config_given(const char *text);
/* The flag, else the stanza's member, else "". Borrowed. */
const char *config_pick(const char *flag, const cJSON *stanza, const char *key);
/* Copies text into *to unless it is empty. */
MUST_USE int config_keep(const char *text, char **to, struct err *err);
/* Notes a fault; config_verdict() tells of all. */
PRINTF(3, 4) int config_problem(struct resolve *r, struct err *err, const char *fmt, ...);
/* FAIL_CONFIG when there were faults. */
MUST_USE int config_verdict(struct resolve *r, struct err *err);
/* --as and its kin, from flags and the user's stanza. */
MUST_USE int config_impersonation(struct resolve *r, struct err *err);
/* The client certificate, and which files it comes from. */
MUST_USE int config_cert(struct resolve *r, struct err *err);
/* Reads the CA, certificate and key files. */
MUST_USE int config_read_files(struct resolve *r, struct err *err);
/* All of the user, from a kubeconfig. */
MUST_USE int config_user(struct resolve *r, struct err *err);
/* Overwrites text and frees it. */
void config_wipe_str(char **s);
/* Overwrites all strings of a tree, then deletes it. NULL is fine. */
void config_wipe_json(cJSON *v);
#endif
