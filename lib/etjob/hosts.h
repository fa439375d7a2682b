/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: the host list of a job as Horovod's discovery script prints it. */
#ifndef ETJOB_HOSTS_H
#define ETJOB_HOSTS_H
#include "base/buf.h"
#include "wire/json.h"

/* One line "<pod>.<job>-workers:<slots>\n". */
void hosts_line(const char *job, const char *pod, int64_t slots, struct buf *out);
/* hostfile text of n pods, in the order given (older first: Horovod keeps their ranks low). */
void hosts_file(const char *job, const char *const *pods, size_t n, int64_t slots, struct buf *out);
/* Pod names of a hostfile, in order; *out is an array of strings owned by the caller. */
MUST_USE int hosts_read(const char *hostfile, cJSON **out, struct err *err);
/* The discovery script (static): prints the hostfile, exits 1 rather than print nothing. */
const char *hosts_script(void);
#endif
