/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_certs: `etjob-webhook certs`: a CA and a server certificate into files. */
#ifndef WEBHOOK_CMD_CERTS_H
#define WEBHOOK_CMD_CERTS_H
#include "webhook/options.h"

/* Appends what to do with the files to out. */
MUST_USE int cmd_certs(const struct certs_options *o, struct buf *out, struct err *err);
#endif
