/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/limits.h"
#include "kube/config_int.h"
#include "kube/exec.h"
#include "wire/base64.h"
#include "wire/url.h"

#define SA_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define DEFAULT_SERVER "http://localhost:8080"

/* What is known while the answer is put together. */
struct resolve {
	const struct kube_flags *flags;
	char *(*env_get)(const char *);
	struct kubeconfig merged;
	const cJSON *context, *cluster, *user; /* borrowed from merged; NULL: none */
	const char *user_name;                 /* "" when there is none */
	const char *ca_file, *cert_file, *key_file;
	struct strs problems;
	struct kube_config *out;
};

static void wipe_str(char **s)
{
	if (*s)
		explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

void kube_config_release(struct kube_config *c)
{
	free(c->server);
	free(c->ns);
	free(c->context);
	free(c->cluster_name);
	free(c->user_name);
	free(c->tls_server_name);
	free(c->proxy_url);
	buf_release(&c->ca_pem);
	buf_release(&c->cert_pem);
	buf_wipe(&c->key_pem);
	wipe_str(&c->token);
	free(c->token_file);
	free(c->username);
	wipe_str(&c->password);
	free(c->as);
	free(c->as_uid);
	strs_release(&c->as_groups);
	strs_release(&c->as_extras);
	config_wipe_json(c->exec);
	free(c->exec_dir);
	cJSON_Delete(c->cluster_json);
	*c = KUBE_CONFIG_INIT;
}

static bool given(const char *text)
{
	return text && text[0];
}

/* The flag, else the stanza's member, else "". Borrowed. */
static const char *pick(const char *flag, const cJSON *stanza, const char *key)
{
	return given(flag) ? flag : json_get_str(stanza, key, "");
}

/* Copies text into *to unless it is empty. */
static int keep(const char *text, char **to, struct err *err)
{
	return given(text) ? str_copy(text, to, err) : 0;
}

PRINTF(3, 4) static int problem(struct resolve *r, struct err *err, const char *fmt, ...)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (buf_check(&text, err) < 0)
		return -1;
	return strs_add(&r->problems, buf_text(&text), err);
}

/* --- which stanzas -------------------------------------------------------- */

static int choose_context(struct resolve *r, struct err *err)
{
	const char *name = given(r->flags->context) ? r->flags->context : r->merged.current;

	if (!given(name))
		return 0;
	r->context = json_get(r->merged.contexts, name);
	if (!r->context)
		return err_set(err, FAIL_CONFIG,
			       "Error in configuration: context was not found for specified "
			       "context: %s",
			       name);
	return str_copy(name, &r->out->context, err);
}

static int choose_stanzas(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	const char *cluster = pick(f->cluster, r->context, "cluster");
	const char *user = pick(f->user, r->context, "user");

	r->cluster = cluster[0] ? json_get(r->merged.clusters, cluster) : NULL;
	r->user = user[0] ? json_get(r->merged.users, user) : NULL;
	r->user_name = user;
	if (given(f->user) && !r->user)
		return err_set(err, FAIL_CONFIG, "auth info \"%s\" does not exist", user);
	if (given(f->cluster) && !r->cluster)
		return err_set(err, FAIL_CONFIG, "no server found for cluster \"%s\"", cluster);
	if (keep(cluster, &r->out->cluster_name, err) < 0)
		return -1;
	return keep(user, &r->out->user_name, err);
}

/* --- the server ----------------------------------------------------------- */

/* "host:port" gets a scheme, as in kubectl: https when there is anything about TLS. */
static int set_server(struct resolve *r, const char *text, bool tls, struct err *err)
{
	AUTO(buf) struct buf full = BUF_INIT(LIMIT_TEXT);
	AUTO(url) struct url u = { 0 };
	struct err bad = ERR_INIT;
	bool has_scheme =
		strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;

	if (!has_scheme)
		buf_str(&full, tls ? "https://" : "http://");
	buf_str(&full, text);
	if (buf_check(&full, err) < 0)
		return -1;
	if (url_split(buf_text(&full), &u, &bad) < 0 && bad.fail == FAIL_NOMEM)
		return err_nomem(err);
	if ((!has_scheme && strchr(text, '/')) || bad.fail != FAIL_NONE)
		return err_set(err, FAIL_CONFIG, "host must be a URL or a host:port pair: \"%s\"",
			       text);
	return buf_finish(&full, &r->out->server, err);
}

static int check_proxy(struct resolve *r, const char *proxy, struct err *err)
{
	static const char *const schemes[] = { "http://", "https://", "socks5://" };

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (strncasecmp(proxy, schemes[i], strlen(schemes[i])) == 0 &&
		    proxy[strlen(schemes[i])] && !strpbrk(proxy, " \t\r\n"))
			return 0;
	return problem(r, err,
		       "invalid 'proxy-url' \"%s\" for cluster \"%s\": it must be http://, "
		       "https:// or socks5://",
		       proxy, r->out->cluster_name ? r->out->cluster_name : "");
}

static int resolve_cluster(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	struct kube_config *c = r->out;
	const char *server = pick(f->server, r->cluster, "server");
	const char *env = r->env_get("KUBERNETES_MASTER");
	const char *data = json_get_str(r->cluster, "certificate-authority-data", "");
	const char *proxy = pick(f->proxy_url, r->cluster, "proxy-url");

	r->ca_file = pick(f->certificate_authority, r->cluster, "certificate-authority");
	c->insecure = f->insecure_skip_tls_verify ||
		      json_get_bool(r->cluster, "insecure-skip-tls-verify", false);
	if (f->insecure_skip_tls_verify)
		r->ca_file = data = "";
	else if (given(f->certificate_authority))
		data = "";
	c->disable_compression =
		f->disable_compression || json_get_bool(r->cluster, "disable-compression", false);
	if (!server[0])
		server = given(env) ? env : DEFAULT_SERVER;
	if (set_server(r, server, c->insecure || data[0] || r->ca_file[0], err) < 0)
		return -1;
	if (given(f->tls_server_name) || !given(f->server)) {
		if (keep(pick(f->tls_server_name, r->cluster, "tls-server-name"),
			 &c->tls_server_name, err) < 0)
			return -1;
	}
	if (keep(proxy, &c->proxy_url, err) < 0)
		return -1;
	if (c->proxy_url && check_proxy(r, proxy, err) < 0)
		return -1;
	if (data[0] && r->ca_file[0] &&
	    problem(r, err,
		    "certificate-authority-data and certificate-authority are both specified for "
		    "%s. certificate-authority-data will override.",
		    c->cluster_name ? c->cluster_name : "") < 0)
		return -1;
	if (data[0] && base64_decode(data, strlen(data), &c->ca_pem, err) < 0)
		return -1;
	if (r->cluster) {
		c->cluster_json = json_copy(r->cluster, err);
		if (!c->cluster_json)
			return -1;
	}
	return 0;
}

/* --- who we are ----------------------------------------------------------- */

static int resolve_impersonation(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	struct kube_config *c = r->out;
	const cJSON *item, *value;

	if (keep(pick(f->as, r->user, "as"), &c->as, err) < 0 ||
	    keep(pick(f->as_uid, r->user, "as-uid"), &c->as_uid, err) < 0)
		return -1;
	for (size_t i = 0; i < f->n_as_group; i++)
		if (strs_add(&c->as_groups, f->as_group[i], err) < 0)
			return -1;
	for (size_t i = 0; i < f->n_as_user_extra; i++) {
		if (!strchr(f->as_user_extra[i], '='))
			return err_set(err, FAIL_USAGE,
				       "--as-user-extra needs KEY=VALUE, not \"%s\"",
				       f->as_user_extra[i]);
		if (strs_add(&c->as_extras, f->as_user_extra[i], err) < 0)
			return -1;
	}
	if (f->n_as_group == 0)
		json_each (item, json_get(r->user, "as-groups")) {
			if (json_str(item) && strs_add(&c->as_groups, json_str(item), err) < 0)
				return -1;
		}
	if (f->n_as_user_extra == 0)
		json_each (item, json_get(r->user, "as-user-extra")) {
			json_each (value, item) {
				AUTO(buf) struct buf pair = BUF_INIT(LIMIT_TEXT);

				buf_printf(&pair, "%s=%s", item->string,
					   json_str(value) ? json_str(value) : "");
				if (buf_check(&pair, err) < 0 ||
				    strs_add(&c->as_extras, buf_text(&pair), err) < 0)
					return -1;
			}
		}
	if (!c->as && (c->as_uid || c->as_groups.n || c->as_extras.n))
		return problem(r, err,
			       "requesting uid, groups or user-extra for %s without impersonating "
			       "a user",
			       r->user_name);
	return 0;
}

static int resolve_cert(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	const char *cert = json_get_str(r->user, "client-certificate-data", "");
	const char *key = json_get_str(r->user, "client-key-data", "");

	if (given(f->client_certificate))
		cert = "";
	if (given(f->client_key))
		key = "";
	r->cert_file = pick(f->client_certificate, r->user, "client-certificate");
	r->key_file = pick(f->client_key, r->user, "client-key");
	if (!cert[0] && !r->cert_file[0]) {
		r->key_file = "";
		return 0; /* a key without a certificate is no credential */
	}
	if (cert[0] && r->cert_file[0] &&
	    problem(r, err,
		    "client-cert-data and client-cert are both specified for %s. client-cert-data "
		    "will override.",
		    r->user_name) < 0)
		return -1;
	if (key[0] && r->key_file[0] &&
	    problem(r, err,
		    "client-key-data and client-key are both specified for %s; client-key-data "
		    "will override",
		    r->user_name) < 0)
		return -1;
	if (!key[0] && !r->key_file[0] &&
	    problem(r, err,
		    "client-key-data or client-key must be specified for %s to use the clientCert "
		    "authentication method.",
		    r->user_name) < 0)
		return -1;
	if (cert[0] && base64_decode(cert, strlen(cert), &r->out->cert_pem, err) < 0)
		return -1;
	return key[0] ? base64_decode(key, strlen(key), &r->out->key_pem, err) : 0;
}

static int resolve_token(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	struct kube_config *c = r->out;
	const char *user = pick(f->username, r->user, "username");
	const char *password = pick(f->password, r->user, "password");

	if (keep(pick(f->token, r->user, "token"), &c->token, err) < 0)
		return -1;
	if (!given(f->token) &&
	    keep(json_get_str(r->user, "tokenFile", ""), &c->token_file, err) < 0)
		return -1;
	if (keep(user, &c->username, err) < 0 || keep(password, &c->password, err) < 0)
		return -1;
	if (c->token && (c->username || c->password))
		return problem(r, err,
			       "more than one authentication method found for %s; found [token "
			       "basicAuth], only one is allowed",
			       r->user_name);
	return 0;
}

/* What is left of kubectl's auth providers: oidc with an ID token that is still good. */
static int resolve_provider(struct resolve *r, struct err *err)
{
	const cJSON *provider = json_get(r->user, "auth-provider");
	const char *name = json_get_str(provider, "name", "");
	const cJSON *settings = json_get(provider, "config");
	const char *token = json_get_str(settings, "id-token", "");

	if (str_eq(name, "gcp"))
		return err_set(err, FAIL_CONFIG,
			       "The gcp auth plugin has been removed: use the "
			       "\"gke-gcloud-auth-plugin\" kubectl/client-go credential plugin "
			       "instead");
	if (str_eq(name, "azure"))
		return err_set(err, FAIL_CONFIG,
			       "The azure auth plugin has been removed: use the "
			       "https://github.com/Azure/kubelogin kubectl/client-go credential "
			       "plugin instead");
	if (!str_eq(name, "oidc"))
		return err_set(err, FAIL_CONFIG, "no Auth Provider found for name \"%s\"", name);
	if (!json_get_str(settings, "idp-issuer-url", "")[0])
		return err_set(err, FAIL_CONFIG, "Must provide idp-issuer-url");
	if (!json_get_str(settings, "client-id", "")[0])
		return err_set(err, FAIL_CONFIG, "Must provide client-id");
	if (!token[0])
		return err_set(err, FAIL_CONFIG,
			       "the oidc auth provider of user \"%s\" has no id-token: run any "
			       "kubectl command to get one, or use an exec credential plugin",
			       r->user_name);
	return r->out->token ? 0 : str_copy(token, &r->out->token, err);
}

/* A token, a user name or a certificate of its own comes before the plugin. */
static int resolve_exec(struct resolve *r, struct err *err)
{
	const cJSON *exec = json_get(r->user, "exec");
	struct kube_config *c = r->out;
	const char *slash;

	if (!exec)
		return 0;
	if (json_get(r->user, "auth-provider") &&
	    problem(r, err,
		    "authProvider cannot be provided in combination with an exec plugin for %s",
		    r->user_name) < 0)
		return -1;
	if (exec_check(exec, r->user_name, &r->problems, err) < 0)
		return -1;
	if (c->token || c->token_file || c->username || r->cert_file[0] || c->cert_pem.len)
		return 0;
	c->exec = json_copy(exec, err);
	if (!c->exec)
		return -1;
	slash = strrchr(json_get_str(exec, "command", ""), '/');
	if (!slash)
		return 0;
	if (str_copy(json_get_str(exec, "command", ""), &c->exec_dir, err) < 0)
		return -1;
	c->exec_dir[slash - json_get_str(exec, "command", "")] = '\0';
	return 0;
}

/* --- files and the verdict ------------------------------------------------ */

static int read_pem(struct resolve *r, const char *path, const char *what, const char *owner,
		    struct buf *out, struct err *err)
{
	struct err failed = ERR_INIT;
	char os[128];

	if (!path[0] || out->len)
		return 0;
	if (file_read(path, out, &failed) == 0)
		return 0;
	buf_release(out);
	if (failed.fail == FAIL_OS)
		return problem(r, err, "unable to read %s %s for %s due to open %s: %s", what, path,
			       owner, path, config_os_text(failed.os, os));
	return problem(r, err, "unable to read %s %s for %s: %s", what, path, owner, failed.msg);
}

/* kubectl also opens a file whose contents it will not use. */
static int check_unused_file(struct resolve *r, const char *path, const char *what,
			     const struct buf *data, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);

	return data->len ? read_pem(r, path, what, r->user_name, &text, err) : 0;
}

static int read_files(struct resolve *r, struct err *err)
{
	struct kube_config *c = r->out;
	const char *cluster = c->cluster_name ? c->cluster_name : "";

	if (check_unused_file(r, r->cert_file, "client-cert", &c->cert_pem, err) < 0)
		return -1;
	if (read_pem(r, r->cert_file, "client-cert", r->user_name, &c->cert_pem, err) < 0)
		return -1;
	if (read_pem(r, r->key_file, "client-key", r->user_name, &c->key_pem, err) < 0)
		return -1;
	return read_pem(r, r->ca_file, "certificate-authority", cluster, &c->ca_pem, err);
}

static int verdict(struct resolve *r, struct err *err)
{
	AUTO(buf) struct buf all = BUF_INIT(LIMIT_TEXT);

	if (r->problems.n == 1)
		return err_set(err, FAIL_CONFIG, "%s", r->problems.v[0]);
	for (size_t i = 0; i < r->problems.n; i++)
		buf_printf(&all, "%s%s", i ? "; " : "", r->problems.v[i]);
	if (r->problems.n)
		return err_set(err, FAIL_CONFIG, "Error in configuration: %s", buf_text(&all));
	if (r->out->insecure && r->out->ca_pem.len)
		return err_set(err, FAIL_CONFIG,
			       "specifying a root certificates file with the insecure flag is not "
			       "allowed");
	return 0;
}

/* A token file must be there at the start, unless a token stands in for it. */
static int check_token_file(struct kube_config *c, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	struct err failed = ERR_INIT;
	bool blank = true;
	char os[128];

	if (!c->token_file)
		return 0;
	if (file_read(c->token_file, &text, &failed) < 0) {
		if (!c->token)
			return err_set(err, FAIL_CONFIG, "open %s: %s", c->token_file,
				       failed.fail == FAIL_OS ? config_os_text(failed.os, os)
							      : failed.msg);
		free(TAKE(c->token_file));
		return 0;
	}
	for (size_t i = 0; i < text.len; i++)
		blank = blank && strchr(" \t\r\n", text.data[i]);
	buf_wipe(&text);
	if (blank)
		free(TAKE(c->token_file));
	return 0;
}

static void drop_credentials(struct kube_config *c)
{
	wipe_str(&c->token);
	wipe_str(&c->password);
	free(TAKE(c->token_file));
	free(TAKE(c->username));
	buf_release(&c->ca_pem);
	buf_release(&c->cert_pem);
	buf_wipe(&c->key_pem);
	config_wipe_json(TAKE(c->exec));
}

static int check_identity(struct resolve *r, struct err *err)
{
	struct kube_config *c = r->out;

	/* Over http:// no credential is sent. */
	if (strncasecmp(c->server, "https://", 8) != 0) {
		drop_credentials(c);
		return 0;
	}
	if (check_token_file(c, err) < 0)
		return -1;
	if (json_get(r->user, "auth-provider") && !c->token && !c->token_file && !c->username &&
	    !c->cert_pem.len && resolve_provider(r, err) < 0)
		return -1;
	if (c->exec)
		return kuberc_allows(c->exec, r->env_get, err);
	if (c->token || c->token_file || c->username || c->password || c->cert_pem.len)
		return 0;
	return err_set(err, FAIL_CONFIG,
		       "no credentials for user \"%s\": the kubeconfig gives neither token, "
		       "client certificate, user name nor exec plugin, and there is no --token",
		       r->user_name);
}

static int resolve_user(struct resolve *r, struct err *err)
{
	if (resolve_impersonation(r, err) < 0 || resolve_token(r, err) < 0 ||
	    resolve_cert(r, err) < 0 || resolve_exec(r, err) < 0 || read_files(r, err) < 0 ||
	    verdict(r, err) < 0)
		return -1;
	return check_identity(r, err);
}

/* --- in a pod ------------------------------------------------------------- */

static bool in_cluster(const struct resolve *r)
{
	const struct kube_flags *f = r->flags;

	return r->merged.empty && !given(f->kubeconfig) && !given(f->server) &&
	       !given(f->context) && given(r->env_get("KUBERNETES_SERVICE_HOST")) &&
	       given(r->env_get("KUBERNETES_SERVICE_PORT")) && access(SA_DIR "/token", R_OK) == 0;
}

static int read_namespace(char **out)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	if (file_read(SA_DIR "/namespace", &text, NULL) < 0)
		return 0; /* then it is "default" */
	while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
		buf_cut(&text, text.len - 1);
	return text.len ? buf_finish(&text, out, NULL) : 0;
}

static int resolve_in_cluster(struct resolve *r, struct err *err)
{
	const char *host = r->env_get("KUBERNETES_SERVICE_HOST");
	struct kube_config *c = r->out;
	AUTO(buf) struct buf server = BUF_INIT(LIMIT_TEXT);
	bool v6 = strchr(host, ':');

	c->in_cluster = true;
	buf_printf(&server, "https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
		   r->env_get("KUBERNETES_SERVICE_PORT"));
	r->user_name = "";
	r->cert_file = r->key_file = "";
	r->ca_file = given(r->flags->certificate_authority) ? r->flags->certificate_authority
							    : SA_DIR "/ca.crt";
	c->insecure = r->flags->insecure_skip_tls_verify;
	if (c->insecure)
		r->ca_file = "";
	c->disable_compression = r->flags->disable_compression;
	if (buf_finish(&server, &c->server, err) < 0 ||
	    keep(r->flags->tls_server_name, &c->tls_server_name, err) < 0 ||
	    resolve_impersonation(r, err) < 0 || resolve_cert(r, err) < 0)
		return -1;
	if (given(r->flags->token) ? str_copy(r->flags->token, &c->token, err) < 0
				   : str_copy(SA_DIR "/token", &c->token_file, err) < 0)
		return -1;
	if (read_files(r, err) < 0 || verdict(r, err) < 0)
		return -1;
	if (!given(r->flags->namespace_) && read_namespace(&c->ns) < 0)
		return err_nomem(err);
	return 0;
}

/* --- the entry points ----------------------------------------------------- */

static int resolve_all(struct resolve *r, struct err *err)
{
	struct kube_config *c = r->out;

	c->request_timeout_s = r->flags->request_timeout_s;
	if (kubeconfig_read(r->flags, r->env_get, &r->merged, err) < 0)
		return -1;
	if (in_cluster(r)) {
		if (resolve_in_cluster(r, err) < 0)
			return -1;
	} else if (choose_context(r, err) < 0 || choose_stanzas(r, err) < 0 ||
		   resolve_cluster(r, err) < 0 || resolve_user(r, err) < 0) {
		return -1;
	}
	c->ns_given = given(r->flags->namespace_);
	if (!c->ns && keep(pick(r->flags->namespace_, r->context, "namespace"), &c->ns, err) < 0)
		return -1;
	return c->ns ? 0 : str_copy("default", &c->ns, err);
}

int kube_config_load(const struct kube_flags *flags, char *(*env_get)(const char *),
		     struct kube_config *out, struct err *err)
{
	struct kube_config c = KUBE_CONFIG_INIT;
	struct resolve r = { .flags = flags, .env_get = env_get, .user_name = "", .out = &c };
	int rc;

	c.ca_pem = c.cert_pem = c.key_pem = BUF_INIT(LIMIT_KUBECONFIG);
	r.ca_file = r.cert_file = r.key_file = "";
	rc = resolve_all(&r, err);
	if (rc == 0)
		*out = c;
	else
		kube_config_release(&c);
	kubeconfig_release(&r.merged);
	strs_release(&r.problems);
	return rc;
}

int kube_config_contexts(const struct kube_flags *flags, char *(*env_get)(const char *),
			 struct strs *out, struct err *err)
{
	AUTO(kubeconfig) struct kubeconfig merged = KUBECONFIG_INIT;
	const cJSON *context;

	if (kubeconfig_read(flags, env_get, &merged, err) < 0)
		return -1;
	json_each (context, merged.contexts) {
		if (strs_add(out, context->string, err) < 0)
			return -1;
	}
	strs_sort(out);
	return 0;
}
