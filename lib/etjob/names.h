/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: the words of the API (group, labels, annotations, conditions) and the
 * names of a job's children. The words are et-operator's and arena's where they
 * have one.
 */
#ifndef ETJOB_NAMES_H
#define ETJOB_NAMES_H
#include "base/buf.h"

#define ETJOB_GROUP "kai.alibabacloud.com"
#define ETJOB_VERSION "v1alpha1"
#define ETJOB_API_VERSION ETJOB_GROUP "/" ETJOB_VERSION
#define KIND_JOB "TrainingJob"
#define KIND_SCALEOUT "ScaleOut"
#define KIND_SCALEIN "ScaleIn"

#define LABEL_GROUP "group-name" /* value ETJOB_GROUP */
#define LABEL_JOB "training-job-name"
#define LABEL_ROLE "training-job-role" /* launcher | worker */
#define LABEL_INDEX "replica-index"
#define ROLE_LAUNCHER "launcher"
#define ROLE_WORKER "worker"
#define ANNOTATION_INJECT ETJOB_GROUP "/inject" /* "disabled": the object is not touched */
#define ANNOTATION_HOSTS                                                                          \
	ETJOB_GROUP "/hosts-revision" /* on the launcher: makes the kubelet refresh its ConfigMap \
				       */

#define CONFIG_VOLUME "etjob-config"
#define CONFIG_DIR "/etc/edl"
#define CONFIG_SCRIPT "discover_hosts.sh"
#define CONFIG_HOSTFILE "hostfile"
#define SSH_VOLUME "etjob-ssh"
#define SSH_DIR "/etc/etjob-ssh"

/* Where gang schedulers look, on pods: labels of coscheduling, annotations of Volcano. */
#define GANG_COSCHEDULING_GROUP "scheduling.x-k8s.io/pod-group"
#define GANG_COSCHEDULING_NAME "pod-group.scheduling.sigs.k8s.io/name"
#define GANG_COSCHEDULING_MIN "pod-group.scheduling.sigs.k8s.io/min-available"
#define GANG_VOLCANO "scheduling.k8s.io/group-name"
#define GANG_VOLCANO_MIN "scheduling.volcano.sh/group-min-member"

#define NAME_MAX_JOB 50        /* pod names add "-worker-<n>" and must stay labels */
#define NAME_MAX_PREFIX 45     /* generateName adds 5 */
#define WORKERS_UNBOUNDED 1000 /* env maxWorkers when maxReplicas is absent */

/* Each appends to out; job names are at most 63 bytes. */
void name_worker(const char *job, int64_t index, struct buf *out);
void name_launcher(const char *job, struct buf *out);
void name_service(const char *job, struct buf *out); /* <job>-workers */
void name_config(const char *job, struct buf *out);  /* <job>-config */
void name_secret(const char *job, struct buf *out);  /* <job>-ssh */
/* Index of a worker's name of this job, or -1 when it is none ("et-worker-10" of "et": 10). */
int64_t name_worker_index(const char *job, const char *pod);
/* DNS-1035 label: [a-z]([-a-z0-9]*[a-z0-9])?, at most max bytes. */
bool name_is_label(const char *text, size_t max);
/* The beginning of one: [a-z][-a-z0-9]*, at most max bytes. */
bool name_is_prefix(const char *text, size_t max);
#endif
