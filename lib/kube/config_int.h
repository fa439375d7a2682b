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
/* Overwrites all strings of a tree, then deletes it. NULL is fine. */
void config_wipe_json(cJSON *v);
#endif
