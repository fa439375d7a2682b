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

void config_wipe_str(char **s)
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
	config_wipe_str(&c->token);
	free(c->token_file);
	free(c->username);
	config_wipe_str(&c->password);
	free(c->as);
	free(c->as_uid);
	strs_release(&c->as_groups);
	strs_release(&c->as_extras);
	config_wipe_json(c->exec);
	free(c->exec_dir);
	cJSON_Delete(c->cluster_json);
	*c = KUBE_CONFIG_INIT;
}

bool config_given(const char *text)
{
	return text && text[0];
}

const char *config_pick(const char *flag, const cJSON *stanza, const char *key)
{
	return config_given(flag) ? flag : json_get_str(stanza, key, "");
}

int config_keep(const char *text, char **to, struct err *err)
{
	return config_given(text) ? str_copy(text, to, err) : 0;
}

int config_problem(struct resolve *r, struct err *err, const char *fmt, ...)
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
	const char *name = config_given(r->flags->context) ? r->flags->context : r->merged.current;

	if (!config_given(name))
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
	const char *cluster = config_pick(f->cluster, r->context, "cluster");
	const char *user = config_pick(f->user, r->context, "user");

	r->cluster = cluster[0] ? json_get(r->merged.clusters, cluster) : NULL;
	r->user = user[0] ? json_get(r->merged.users, user) : NULL;
	r->user_name = user;
	if (config_given(f->user) && !r->user)
		return err_set(err, FAIL_CONFIG, "auth info \"%s\" does not exist", user);
	if (config_given(f->cluster) && !r->cluster)
		return err_set(err, FAIL_CONFIG, "no server found for cluster \"%s\"", cluster);
	if (config_keep(cluster, &r->out->cluster_name, err) < 0)
		return -1;
	return config_keep(user, &r->out->user_name, err);
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
	return config_problem(r, err,
			      "invalid 'proxy-url' \"%s\" for cluster \"%s\": it must be http://, "
			      "https:// or socks5://",
			      proxy, r->out->cluster_name ? r->out->cluster_name : "");
}

static int resolve_cluster(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	struct kube_config *c = r->out;
	const char *server = config_pick(f->server, r->cluster, "server");
	const char *env = r->env_get("KUBERNETES_MASTER");
	const char *data = json_get_str(r->cluster, "certificate-authority-data", "");
	const char *proxy = config_pick(f->proxy_url, r->cluster, "proxy-url");

	r->ca_file = config_pick(f->certificate_authority, r->cluster, "certificate-authority");
	c->insecure = f->insecure_skip_tls_verify ||
		      json_get_bool(r->cluster, "insecure-skip-tls-verify", false);
	if (f->insecure_skip_tls_verify)
		r->ca_file = data = "";
	else if (config_given(f->certificate_authority))
		data = "";
	c->disable_compression =
		f->disable_compression || json_get_bool(r->cluster, "disable-compression", false);
	if (!server[0])
		server = config_given(env) ? env : DEFAULT_SERVER;
	if (set_server(r, server, c->insecure || data[0] || r->ca_file[0], err) < 0)
		return -1;
	if (config_given(f->tls_server_name) || !config_given(f->server)) {
		if (config_keep(config_pick(f->tls_server_name, r->cluster, "tls-server-name"),
				&c->tls_server_name, err) < 0)
			return -1;
	}
	if (config_keep(proxy, &c->proxy_url, err) < 0)
		return -1;
	if (c->proxy_url && check_proxy(r, proxy, err) < 0)
		return -1;
	if (data[0] && r->ca_file[0] &&
	    config_problem(
		    r, err,
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

/* --- in a pod ------------------------------------------------------------- */

static bool in_cluster(const struct resolve *r)
{
	const struct kube_flags *f = r->flags;

	return r->merged.empty && !config_given(f->kubeconfig) && !config_given(f->server) &&
	       !config_given(f->context) && config_given(r->env_get("KUBERNETES_SERVICE_HOST")) &&
	       config_given(r->env_get("KUBERNETES_SERVICE_PORT")) &&
	       access(SA_DIR "/token", R_OK) == 0;
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
	r->ca_file = config_given(r->flags->certificate_authority) ? r->flags->certificate_authority
								   : SA_DIR "/ca.crt";
	c->insecure = r->flags->insecure_skip_tls_verify;
	if (c->insecure)
		r->ca_file = "";
	c->disable_compression = r->flags->disable_compression;
	if (buf_finish(&server, &c->server, err) < 0 ||
	    config_keep(r->flags->tls_server_name, &c->tls_server_name, err) < 0 ||
	    config_impersonation(r, err) < 0 || config_cert(r, err) < 0)
		return -1;
	if (config_given(r->flags->token) ? str_copy(r->flags->token, &c->token, err) < 0
					  : str_copy(SA_DIR "/token", &c->token_file, err) < 0)
		return -1;
	if (config_read_files(r, err) < 0 || config_verdict(r, err) < 0)
		return -1;
	if (!config_given(r->flags->namespace_) && read_namespace(&c->ns) < 0)
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
		   resolve_cluster(r, err) < 0 || config_user(r, err) < 0) {
		return -1;
	}
	c->ns_given = config_given(r->flags->namespace_);
	if (!c->ns && config_keep(config_pick(r->flags->namespace_, r->context, "namespace"),
				  &c->ns, err) < 0)
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
