/* SPDX-License-Identifier: Apache-2.0 */
/* kuberc: the user's own preferences on which credential plugins may run. */
#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "kube/config_int.h"
#include "wire/yaml.h"

#define FAILED "Unable to connect to the server: getting credentials: "

static int kuberc_path(char *(*env_get)(const char *), struct buf *out, struct err *err)
{
	const char *path = env_get("KUBERC");
	const char *home = env_get("HOME");

	if (path && path[0])
		buf_str(out, path);
	else if (home && home[0])
		buf_printf(out, "%s/.kube/kuberc", home);
	return buf_check(out, err);
}

/* The full path of a command, as the system would find it; empty when it does not. */
static int look_up(const char *command, const char *path_env, struct buf *out, struct err *err)
{
	AUTO(strs) struct strs dirs = STRS_INIT;

	buf_clear(out);
	if (strchr(command, '/')) {
		buf_str(out, command);
		return buf_check(out, err);
	}
	if (strs_split(&dirs, path_env ? path_env : "", ':', false, err) < 0)
		return -1;
	for (size_t i = 0; i < dirs.n; i++) {
		buf_clear(out);
		buf_printf(out, "%s/%s", dirs.v[i], command);
		if (buf_check(out, err) < 0)
			return -1;
		if (access(buf_text(out), X_OK) == 0)
			return 0;
	}
	buf_clear(out);
	return 0;
}

static int allowlisted(const cJSON *rc, const char *command, const char *path_env, bool *yes,
		       struct err *err)
{
	AUTO(buf) struct buf wanted = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf allowed = BUF_INIT(LIMIT_TEXT);
	const cJSON *entry;

	*yes = false;
	if (look_up(command, path_env, &wanted, err) < 0)
		return -1;
	json_each (entry, json_get(rc, "credentialPluginAllowlist")) {
		/* "name" until kubectl 1.35, "command" from 1.36 on */
		const char *name = json_get_str(entry, "command", json_get_str(entry, "name", ""));

		if (!name[0])
			continue;
		if (look_up(name, path_env, &allowed, err) < 0)
			return -1;
		if (allowed.len && strcmp(buf_text(&allowed), buf_text(&wanted)) == 0)
			*yes = true;
	}
	return 0;
}

static int decide(const cJSON *rc, const cJSON *exec, char *(*env_get)(const char *),
		  struct err *err)
{
	const char *policy = json_get_str(rc, "credentialPluginPolicy", "");
	const char *command = json_get_str(exec, "command", "");
	bool yes;

	if (!str_eq(policy, "Allowlist") && json_get(rc, "credentialPluginAllowlist"))
		return err_set(err, FAIL_CONFIG,
			       "kuberc has a credentialPluginAllowlist, but its "
			       "credentialPluginPolicy is \"%s\", not Allowlist",
			       policy);
	if (!policy[0] || str_eq(policy, "AllowAll"))
		return 0;
	if (str_eq(policy, "DenyAll"))
		return err_set(err, FAIL_CONFIG,
			       FAILED "plugin \"%s\" not allowed: policy set to \"DenyAll\"",
			       command);
	if (!str_eq(policy, "Allowlist"))
		return err_set(err, FAIL_CONFIG,
			       "invalid credentialPluginPolicy \"%s\" in kuberc: it is AllowAll, "
			       "DenyAll or Allowlist",
			       policy);
	if (allowlisted(rc, command, env_get("PATH"), &yes, err) < 0)
		return -1;
	if (yes)
		return 0;
	return err_set(err, FAIL_CONFIG,
		       FAILED
		       "plugin \"%s\" not allowed: it is not in the credentialPluginAllowlist of "
		       "kuberc",
		       command);
}

int kuberc_allows(const cJSON *exec, char *(*env_get)(const char *), struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_KUBECONFIG);
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	struct stat st;

	if (kuberc_path(env_get, &path, err) < 0)
		return -1;
	if (path.len == 0 || strcmp(buf_text(&path), "off") == 0)
		return 0;
	if (stat(buf_text(&path), &st) < 0 && errno == ENOENT)
		return 0;
	if (file_read(buf_text(&path), &text, err) < 0 ||
	    yaml_parse(buf_text(&text), text.len, 0, &docs, err) < 0)
		return err_wrap(err, "kuberc \"%s\"", buf_text(&path));
	for (size_t i = 0; i < docs.n; i++)
		if (decide(docs.v[i].json, exec, env_get, err) < 0)
			return -1;
	return 0;
}
