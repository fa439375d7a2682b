/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: where the API server is and who we are: kubeconfig files merged by
 * kubectl's rules, flags on top, in-cluster as the last resort.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H
#include "base/strs.h"
#include "wire/json.h"

/* kubectl's connection flags; NULL or empty: not given. All borrowed. */
struct kube_flags {
	const char *kubeconfig, *context, *cluster, *user, *namespace_;
	const char *server, *token, *certificate_authority, *client_certificate, *client_key;
	const char *tls_server_name, *as, *as_uid, *username, *password, *proxy_url, *cache_dir;
	const char *const *as_group; /* n_as_group strings */
	size_t n_as_group;
	const char *const *as_user_extra; /* "key=value" */
	size_t n_as_user_extra;
	bool insecure_skip_tls_verify;
	bool disable_compression;
	int64_t request_timeout_s; /* 0: none */
};

/* The merged, resolved answer. Strings are owned, NULL when absent; secrets are wiped on release.
 */
struct kube_config {
	char *server;                   /* http(s)://host[:port][/prefix] */
	char *ns;                       /* never NULL after kube_config_load */
	bool ns_given;                  /* came from -n */
	char *context;                  /* name of the context in use, or NULL */
	char *cluster_name, *user_name; /* names of the stanzas in use, or NULL */
	char *tls_server_name, *proxy_url;
	bool insecure, disable_compression, in_cluster;
	struct buf ca_pem, cert_pem, key_pem; /* empty: none */
	char *token, *token_file, *username, *password;
	char *as, *as_uid;
	struct strs as_groups, as_extras; /* extras as "key=value" */
	cJSON *exec;                      /* owned exec stanza of the user, or NULL */
	char *exec_dir;      /* directory that a relative exec command resolves against */
	cJSON *cluster_json; /* owned cluster stanza, for KUBERNETES_EXEC_INFO */
	int64_t request_timeout_s;
};
#define KUBE_CONFIG_INIT ((struct kube_config){ 0 })
void kube_config_release(struct kube_config *c);

/*
 * env_get is getenv or a test's stand-in. FAIL_CONFIG with kubectl's own words.
 */
MUST_USE int kube_config_load(const struct kube_flags *flags, char *(*env_get)(const char *),
			      struct kube_config *out, struct err *err);
/* Names of the contexts of the merged files, for completion. */
MUST_USE int kube_config_contexts(const struct kube_flags *flags, char *(*env_get)(const char *),
				  struct strs *out, struct err *err);
#endif
