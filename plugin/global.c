/* SPDX-License-Identifier: Apache-2.0 */
/* global: the flags that kubectl has everywhere. */
#include "cmd.h"

/* clang-format off */
const struct opt global_options[] = {
	{ .kind = OPT_KIND_STR, .offset = offsetof(struct global, ns), .letter = 'n',
	  .name = "namespace", .arg = "NS", .values = "@namespaces",
	  .help = "namespace of the request", .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_STR, .offset = offsetof(struct global, context), .name = "context",
	  .arg = "NAME", .values = "@contexts", .help = "kubeconfig context to use",
	  .given_offset = SIZE_MAX },
	{ .kind = OPT_KIND_STR, .offset = offsetof(struct global, kubeconfig), .name = "kubeconfig",
	  .arg = "FILE", .values = "@files", .help = "kubeconfig file to use",
	  .given_offset = SIZE_MAX },
	OPT_STR(struct global, cluster, 0, "cluster", "NAME", "kubeconfig cluster to use"),
	OPT_STR(struct global, user, 0, "user", "NAME", "kubeconfig user to use"),
	OPT_STR(struct global, server, 's', "server", "URL", "address of the API server"),
	OPT_STR(struct global, token, 0, "token", "TOKEN", "bearer token for the API server"),
	OPT_STR(struct global, username, 0, "username", "NAME", "user name for basic authentication"),
	OPT_STR(struct global, password, 0, "password", "WORD", "password for basic authentication"),
	OPT_STR(struct global, as, 0, "as", "USER", "user to impersonate"),
	OPT_LIST(struct global, as_group, 0, "as-group", "GROUP", "group to impersonate, may be repeated"),
	OPT_STR(struct global, as_uid, 0, "as-uid", "UID", "uid to impersonate"),
	OPT_LIST(struct global, as_extra, 0, "as-user-extra", "KEY=VALUE",
		 "extra field to impersonate, may be repeated"),
	OPT_STR(struct global, ca, 0, "certificate-authority", "FILE", "certificate of the authority to trust"),
	OPT_STR(struct global, cert, 0, "client-certificate", "FILE", "client certificate for TLS"),
	OPT_STR(struct global, key, 0, "client-key", "FILE", "client key for TLS"),
	OPT_BOOL(struct global, insecure, 0, "insecure-skip-tls-verify",
		 "do not check the server's certificate: insecure"),
	OPT_STR(struct global, tls_name, 0, "tls-server-name", "NAME", "name to check in the server's certificate"),
	OPT_STR(struct global, proxy_url, 0, "proxy-url", "URL", "proxy to the API server"),
	OPT_BOOL(struct global, no_compression, 0, "disable-compression",
		 "ask for answers without compression"),
	OPT_SECS(struct global, request_timeout_s, 0, "request-timeout",
		 "give up on a single request after this long, 0 for never"),
	OPT_STR(struct global, cache_dir, 0, "cache-dir", "DIR", "directory of the credential plugins' cache"),
	OPT_INT(struct global, verbosity, 'v', "v", "N", 0, 10,
		"log level: 6 shows requests, 7 headers, 8 bodies"),
	OPT_BOOL(struct global, quiet, 'q', "quiet", "no INFO lines and no hints on standard error"),
	OPT_BOOL(struct global, help, 'h', "help", "show this help"),
	{ .kind = OPT_KIND_ENUM, .offset = offsetof(struct global, type), .letter = 'T', .name = "type",
	  .arg = "WORD", .values = "etjob|et", .help = "arena's job type, only etjob here",
	  .flags = OPT_HIDDEN, .given_offset = SIZE_MAX },
	OPT_END,
};
/* clang-format on */

const struct global global_defaults = { 0 };

void global_flags(struct global *g)
{
	g->kube = (struct kube_flags){
		.kubeconfig = g->kubeconfig,
		.context = g->context,
		.cluster = g->cluster,
		.user = g->user,
		.namespace_ = g->ns,
		.server = g->server,
		.token = g->token,
		.certificate_authority = g->ca,
		.client_certificate = g->cert,
		.client_key = g->key,
		.tls_server_name = g->tls_name,
		.as = g->as,
		.as_uid = g->as_uid,
		.username = g->username,
		.password = g->password,
		.proxy_url = g->proxy_url,
		.cache_dir = g->cache_dir,
		.as_group = (const char *const *)g->as_group.v,
		.n_as_group = g->as_group.n,
		.as_user_extra = (const char *const *)g->as_extra.v,
		.n_as_user_extra = g->as_extra.n,
		.insecure_skip_tls_verify = g->insecure,
		.disable_compression = g->no_compression,
		.request_timeout_s = g->request_timeout_s,
	};
}

void global_release(struct global *g)
{
	opt_release(global_options, g);
	*g = (struct global){ 0 };
}
