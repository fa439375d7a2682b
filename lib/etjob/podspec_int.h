/* SPDX-License-Identifier: Apache-2.0 */
/* podspec_int: what the files of podspec share, and nobody else includes. */
#ifndef ETJOB_PODSPEC_INT_H
#define ETJOB_PODSPEC_INT_H
#include "etjob/podspec.h"

/* {apiVersion, kind, metadata: {name, namespace, labels, ownerReferences}}. role may be NULL. */
MUST_USE int podspec_object(const struct job *j, const char *api_version, const char *kind,
			    const char *name, const char *role, cJSON **out, struct err *err);
/* Labels of the job on meta: the identity always, the recommended ones where absent. */
MUST_USE int podspec_labels(const struct job *j, const char *role, cJSON *meta, struct err *err);
/* What worker and launcher share: a pod from the template of role, with what is injected. */
MUST_USE int podspec_pod(const struct job *j, const char *role, const char *name, cJSON **out,
			 struct err *err);

cJSON *podspec_first(cJSON *pod); /* the first container, never NULL after podspec_pod() */
/* Adds a volume or a mount unless one of that name, or at that path, is there. Takes source. */
MUST_USE int podspec_add_volume(cJSON *pod, const char *name, const char *kind, cJSON *source,
				struct err *err);
MUST_USE int podspec_add_mount(cJSON *container, const char *volume, const char *path,
			       bool read_only, struct err *err);
bool podspec_has_mount(const cJSON *container, const char *path);
/* Sets a member where it is absent. */
MUST_USE int podspec_default_bool(cJSON *v, const char *key, bool b, struct err *err);
MUST_USE int podspec_default_str(cJSON *v, const char *key, const char *text, struct err *err);
/* An array of n strings; NULL with err. */
cJSON *podspec_words(const char *const *words, size_t n, struct err *err);
/* The pod's key pair and its run directory, in the first container. */
MUST_USE int podspec_ssh(const struct job *j, cJSON *pod, struct err *err);
/* The key pair in /root/.ssh, where something else than our wrappers calls ssh or sshd. */
MUST_USE int podspec_ssh_home(const struct job *j, cJSON *pod, struct err *err);

/* How a worker's template says which port its sshd takes. */
enum port_choice {
	PORT_THEIRS, /* it has a command of its own */
	PORT_AUTO,   /* known in the container only */
	PORT_22,
	PORT_2222,
};
enum port_choice podspec_port(const cJSON *worker_template);
const char *podspec_port_word(enum port_choice p); /* as the scripts take it */
bool podspec_own_command(const cJSON *container);
/* Whether the spec says that this pod's first container does not run as root. */
bool podspec_not_root(const cJSON *template_);
#endif
