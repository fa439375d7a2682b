/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth: the credentials of a request at the moment it is sent: a fixed token,
 * a token file read again each minute, basic, or what an exec plugin gave.
 * Secrets are wiped when they are replaced and on release.
 */
#ifndef KUBE_AUTH_H
#define KUBE_AUTH_H
#include "base/clock.h"
#include "kube/config.h"
#include "kube/exec.h"

struct auth {
	const struct kube_config *config; /* borrowed */
	const struct clock *clock;        /* borrowed */
	struct buf file_token;            /* last contents of token_file */
	int64_t file_read_ms;             /* monotonic; -1: never */
	struct exec_cred cred;            /* of the exec plugin */
	bool have_cred;
};

void auth_init(struct auth *a, const struct kube_config *config, const struct clock *clock);
void auth_release(struct auth *a);
/* Makes sure that credentials are there and fresh; may run the exec plugin and wait for it. */
MUST_USE int auth_prepare(struct auth *a, struct err *err);
/*
 * After a 401: gets new credentials. 1: they may differ, try once more; 0: there is
 * nothing to renew; -1 with err.
 */
int auth_renew(struct auth *a, struct err *err);
/* Appends "Bearer X" or "Basic X"; nothing when there is neither. FAIL_CONFIG for unusable text. */
MUST_USE int auth_header(const struct auth *a, struct buf *out, struct err *err);
/* The client certificate and key in use (PEM), empty when none. */
const struct buf *auth_cert(const struct auth *a);
const struct buf *auth_key(const struct auth *a);
#endif
