/* SPDX-License-Identifier: Apache-2.0 */
/*
 * podspec: the children of a job as documents: pods, Service, ConfigMap, Secret.
 * All carry the job's labels and an ownerReference (controller, blocking). Pure.
 *
 * A worker without a command of its own runs sshd under our wrapper: on port 22
 * as root, on 2222 as another user, who is often known only in the container. It
 * writes the port it took to RUN_DIR, where its startup probe reads it; the
 * launcher's ssh is told the port where the spec tells it, and tries both where
 * it does not. A worker with a command (or args) of its own keeps it, has no
 * probe of ours, and finds the key in /root/.ssh as well.
 */
#ifndef ETJOB_PODSPEC_H
#define ETJOB_PODSPEC_H
#include "etjob/job.h"

#define RUN_VOLUME "etjob-run" /* memory emptyDir in both kinds of pods */
#define RUN_DIR "/run/etjob"
#define SSH_HOME_VOLUME "etjob-ssh-home"
#define SSH_HOME_DIR "/root/.ssh"
#define SECRET_PRIVATE "ssh-privatekey" /* as in Secrets of type kubernetes.io/ssh-auth */
#define SECRET_PUBLIC "ssh-publickey"
/* On a job: the name of a Secret with a key pair of the user's (arena's --ssh-secret). */
#define ANNOTATION_SSH_SECRET "arena.kubeflow.org/ssh-secret"
#define PODSPEC_GRACE_S 120 /* terminationGracePeriodSeconds of workers that set none */

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
/*
 * private_pem, public_line: the pair as ssh reads it; both, and what is in *out, are secrets
 * to be wiped by the caller.
 */
MUST_USE int podspec_secret(const struct job *j, const char *private_pem, const char *public_line,
			    cJSON **out, struct err *err);
/* Volcano's PodGroup of the workers, with minMember = minReplicas; NULL: not that scheduler. */
MUST_USE int podspec_pod_group(const struct job *j, cJSON **out, struct err *err);
/* Whether the job has a Secret of the user's, and needs none of ours. */
bool podspec_own_secret(const struct job *j);
/* {apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true} of the job. */
MUST_USE int podspec_owner(const struct job *j, cJSON **out, struct err *err);
/* Whether an object's controller ownerReference is this job (UID). */
bool podspec_is_ours(const struct job *j, const cJSON *obj);
#endif
