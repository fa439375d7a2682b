/* SPDX-License-Identifier: Apache-2.0 */
/* config_user: who we are: credentials, impersonation, and what is wrong with them. */
#include "base/file.h"
#include "base/limits.h"
#include "kube/config_int.h"
#include "kube/exec.h"
#include "wire/base64.h"

int config_impersonation(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	struct kube_config *c = r->out;
	const cJSON *item, *value;

	if (config_keep(config_pick(f->as, r->user, "as"), &c->as, err) < 0 ||
	    config_keep(config_pick(f->as_uid, r->user, "as-uid"), &c->as_uid, err) < 0)
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
		return config_problem(
			r, err,
			"requesting uid, groups or user-extra for %s without impersonating "
			"a user",
			r->user_name);
	return 0;
}

int config_cert(struct resolve *r, struct err *err)
{
	const struct kube_flags *f = r->flags;
	const char *cert = json_get_str(r->user, "client-certificate-data", "");
	const char *key = json_get_str(r->user, "client-key-data", "");

	if (config_given(f->client_certificate))
		cert = "";
	if (config_given(f->client_key))
		key = "";
	r->cert_file = config_pick(f->client_certificate, r->user, "client-certificate");
	r->key_file = config_pick(f->client_key, r->user, "client-key");
	if (!cert[0] && !r->cert_file[0]) {
		r->key_file = "";
		return 0; /* a key without a certificate is no credential */
	}
	if (cert[0] && r->cert_file[0] &&
	    config_problem(
		    r, err,
		    "client-cert-data and client-cert are both specified for %s. client-cert-data "
		    "will override.",
		    r->user_name) < 0)
		return -1;
	if (key[0] && r->key_file[0] &&
	    config_problem(
		    r, err,
		    "client-key-data and client-key are both specified for %s; client-key-data "
		    "will override",
		    r->user_name) < 0)
		return -1;
	if (!key[0] && !r->key_file[0] &&
	    config_problem(
		    r, err,
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
	const char *user = config_pick(f->username, r->user, "username");
	const char *password = config_pick(f->password, r->user, "password");

	if (config_keep(config_pick(f->token, r->user, "token"), &c->token, err) < 0)
		return -1;
	if (!config_given(f->token) &&
	    config_keep(json_get_str(r->user, "tokenFile", ""), &c->token_file, err) < 0)
		return -1;
	if (config_keep(user, &c->username, err) < 0 ||
	    config_keep(password, &c->password, err) < 0)
		return -1;
	if (c->token && (c->username || c->password))
		return config_problem(
			r, err,
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
	    config_problem(
		    r, err,
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
		return config_problem(r, err, "unable to read %s %s for %s due to open %s: %s",
				      what, path, owner, path, config_os_text(failed.os, os));
	return config_problem(r, err, "unable to read %s %s for %s: %s", what, path, owner,
			      failed.msg);
}

/* kubectl also opens a file whose contents it will not use. */
static int check_unused_file(struct resolve *r, const char *path, const char *what,
			     const struct buf *data, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);

	return data->len ? read_pem(r, path, what, r->user_name, &text, err) : 0;
}

int config_read_files(struct resolve *r, struct err *err)
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

int config_verdict(struct resolve *r, struct err *err)
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
	config_wipe_str(&c->token);
	config_wipe_str(&c->password);
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

int config_user(struct resolve *r, struct err *err)
{
	if (config_impersonation(r, err) < 0 || resolve_token(r, err) < 0 ||
	    config_cert(r, err) < 0 || resolve_exec(r, err) < 0 || config_read_files(r, err) < 0 ||
	    config_verdict(r, err) < 0)
		return -1;
	return check_identity(r, err);
}
