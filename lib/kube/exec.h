/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec: credential plugins (client.authentication.k8s.io): run without a shell,
 * in the caller's directory, stderr passed through, the answer read from its
 * stdout. Blocks until the plugin has ended.
 */
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H
#include "kube/config.h"

struct exec_cred {
	struct buf token;             /* empty: none */
	struct buf cert_pem, key_pem; /* empty: none */
	int64_t expires_ms;           /* Unix milliseconds; INT64_MAX: never */
};
#define EXEC_CRED_INIT ((struct exec_cred){ .expires_ms = INT64_MAX })
/* Wipes and empties. */
void exec_cred_release(struct exec_cred *c);

/* The stanza's own faults, as kubectl words them; user names the stanza. FAIL_CONFIG. */
MUST_USE int exec_check(const cJSON *exec, const char *user, struct strs *problems,
			struct err *err);
/* Runs config->exec and replaces *out. FAIL_CONFIG. */
MUST_USE int exec_run(const struct kube_config *config, struct exec_cred *out, struct err *err);
#endif
