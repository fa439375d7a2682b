/* SPDX-License-Identifier: Apache-2.0 */
/*
 * podspec: the children of a job as documents: pods, Service, ConfigMap, Secret.
 * All carry the job's labels and an ownerReference (controller, blocking). Pure.
 */
#ifndef ETJOB_PODSPEC_H
#define ETJOB_PODSPEC_H
#include "etjob/job.h"

/* Each makes *out, the caller's. */
MUST_USE int podspec_worker(const struct job *j, int64_t index, cJSON **out, struct err *err);
/*
 * ready: workers Ready now, for the env `workers` (never more than the template's value).
 * revision: ANNOTATION_HOSTS.
 */
MUST_USE int podspec_launcher(const struct job *j, int64_t ready, const char *revision, cJSON **out,
			      struct err *err);
MUST_USE int podspec_service(const struct job *j, cJSON **out, struct err *err);
/* hostfile: hosts_file()'s text, may be empty. */
MUST_USE int podspec_config(const struct job *j, const char *hostfile, cJSON **out,
			    struct err *err);
/* private_pem, public_line: the pair as ssh reads it; both are secrets to be wiped by the caller.
 */
MUST_USE int podspec_secret(const struct job *j, const char *private_pem, const char *public_line,
			    cJSON **out, struct err *err);
/* {apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true} of the job. */
MUST_USE int podspec_owner(const struct job *j, cJSON **out, struct err *err);
/* Whether an object's controller ownerReference is this job (UID). */
bool podspec_is_ours(const struct job *j, const cJSON *obj);
#endif
