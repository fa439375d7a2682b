/* SPDX-License-Identifier: Apache-2.0 */
/* config_merge: which kubeconfig files there are, and how they become one. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "kube/config_int.h"
#include "wire/yaml.h"

/* One kind of stanza: its list, the member that holds it, and Go's types for messages. */
struct section {
	const char *list, *member;
	const char *go_list, *go_map;
};

static const struct section sections[] = {
	{ "clusters", "cluster", "*[]NamedCluster", "*map[string]*api.Cluster" },
	{ "users", "user", "*[]NamedAuthInfo", "*map[string]*api.AuthInfo" },
	{ "contexts", "context", "*[]NamedContext", "*map[string]*api.Context" },
};

/* Depth is bounded by the parser's limit, so this recursion is too. */
static void wipe_strings(cJSON *v)
{
	cJSON *child;

	json_each (child, v) {
		if (child->valuestring)
			explicit_bzero(child->valuestring, strlen(child->valuestring));
		wipe_strings(child);
	}
}

void config_wipe_json(cJSON *v)
{
	wipe_strings(v);
	cJSON_Delete(v);
}

void kubeconfig_release(struct kubeconfig *k)
{
	config_wipe_json(k->clusters);
	config_wipe_json(k->users);
	config_wipe_json(k->contexts);
	free(k->current);
	*k = KUBECONFIG_INIT;
}

const char *config_os_text(int errno_value, char out[128])
{
	(void)snprintf(out, 128, "%s", err_os_text(errno_value));
	/* "Is a directory", but "EOF" stays as it is */
	if (out[0] >= 'A' && out[0] <= 'Z' && out[1] >= 'a' && out[1] <= 'z')
		out[0] = (char)(out[0] - 'A' + 'a');
	return out;
}

/* The folder of the file as it was named (a link's own folder), made absolute. */
static int folder_of(const char *path, struct buf *out, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char cwd[PATH_MAX];

	if (path[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_os(err, errno, "cannot tell the current directory");
		buf_printf(out, "%s/", cwd);
	}
	if (slash)
		buf_add(out, path, (size_t)(slash - path));
	return buf_check(out, err);
}

static int make_absolute(cJSON *stanza, const char *key, const char *dir, struct err *err)
{
	const char *value = json_get_str(stanza, key, "");
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);

	if (!value[0] || value[0] == '/')
		return 0;
	buf_printf(&path, "%s/%s", dir, value);
	if (buf_check(&path, err) < 0)
		return -1;
	return json_set_str(stanza, key, buf_text(&path), err);
}

static int make_paths_absolute(cJSON *stanza, const char *dir, struct err *err)
{
	static const char *const keys[] = { "certificate-authority", "client-certificate",
					    "client-key", "tokenFile" };
	cJSON *exec = json_get_mut(stanza, "exec");

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (make_absolute(stanza, keys[i], dir, err) < 0)
			return -1;
	/* A bare command is looked up in PATH. */
	if (exec && strchr(json_get_str(exec, "command", ""), '/'))
		return make_absolute(exec, "command", dir, err);
	return 0;
}

/* Stanzas of one file; a name that an earlier file has is passed over. */
static int merge_section(const struct section *s, cJSON *root, const char *dir, cJSON *into,
			 struct err *err)
{
	AUTO_JSON cJSON *seen = cJSON_CreateObject();
	cJSON *list = json_get_mut(root, s->list), *entry;

	if (!seen)
		return err_nomem(err);
	json_each (entry, list) {
		const char *name = json_get_str(entry, "name", "");
		cJSON *stanza = json_get_mut(entry, s->member);
		cJSON *copy;

		if (cJSON_GetObjectItemCaseSensitive(seen, name))
			return err_set(err, FAIL_CONFIG,
				       "error converting %s into %s: duplicate name \"%s\" in list",
				       s->go_list, s->go_map, name);
		if (json_set_bool(seen, name, true, err) < 0)
			return -1;
		if (cJSON_GetObjectItemCaseSensitive(into, name))
			continue;
		copy = stanza ? json_copy(stanza, err) : cJSON_CreateObject();
		if (!copy)
			return err_nomem(err);
		if (make_paths_absolute(copy, dir, err) < 0) {
			config_wipe_json(copy);
			return -1;
		}
		if (json_set(into, name, copy, err) < 0)
			return -1;
	}
	return 0;
}

static int merge_root(struct kubeconfig *k, cJSON *root, const char *path, struct err *err)
{
	AUTO(buf) struct buf dir = BUF_INIT(LIMIT_TEXT);
	cJSON *const into[] = { k->clusters, k->users, k->contexts };
	const char *current = json_get_str(root, "current-context", "");

	if (kubeconfig_check(root, err) < 0 || folder_of(path, &dir, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (merge_section(&sections[i], root, buf_text(&dir), into[i], err) < 0)
			return -1;
	if (!k->current && current[0] && str_copy(current, &k->current, err) < 0)
		return -1;
	return 0;
}

static int merge_text(struct kubeconfig *k, const struct buf *text, const char *path,
		      struct err *err)
{
	struct yaml_docs docs = { 0 };
	int rc = 0;

	if (yaml_parse(buf_text(text), text->len, 0, &docs, err) < 0)
		return err && err->fail == FAIL_NOMEM ? -1 : err_wrap(err, "yaml");
	if (docs.n > 0) /* only the first document counts, as in kubectl */
		rc = merge_root(k, docs.v[0].json, path, err);
	for (size_t i = 0; i < docs.n; i++)
		config_wipe_json(TAKE(docs.v[i].json));
	yaml_docs_release(&docs);
	return rc;
}

/* must_exist: named by --kubeconfig. */
static int merge_file(struct kubeconfig *k, const char *path, bool must_exist, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_KUBECONFIG);
	struct err failed = ERR_INIT;
	struct stat st;
	char os[128];
	int rc;

	if (stat(path, &st) < 0) {
		if (errno == ENOENT && !must_exist)
			return 0;
		if (must_exist)
			return err_set(err, FAIL_CONFIG, "stat %s: %s", path,
				       config_os_text(errno, os));
		return err_set(err, FAIL_CONFIG, "error loading config file \"%s\": open %s: %s",
			       path, path, config_os_text(errno, os));
	}
	if (S_ISDIR(st.st_mode))
		return err_set(err, FAIL_CONFIG, "error loading config file \"%s\": read %s: %s",
			       path, path, config_os_text(EISDIR, os));
	if (file_read(path, &text, &failed) < 0) {
		if (failed.fail == FAIL_OS)
			return err_set(err, FAIL_CONFIG,
				       "error loading config file \"%s\": open %s: %s", path, path,
				       config_os_text(failed.os, os));
		return err_set(err, failed.fail, "error loading config file \"%s\": %s", path,
			       failed.msg);
	}
	rc = merge_text(k, &text, path, &failed);
	buf_wipe(&text);
	if (rc == 0)
		return 0;
	return err_set(err, failed.fail == FAIL_NOMEM ? FAIL_NOMEM : FAIL_CONFIG,
		       "error loading config file \"%s\": %s", path, failed.msg);
}

static int merge_list(struct kubeconfig *k, const char *list, struct err *err)
{
	AUTO(strs) struct strs paths = STRS_INIT;
	AUTO(strs) struct strs seen = STRS_INIT;

	if (strs_split(&paths, list, ':', false, err) < 0)
		return -1;
	for (size_t i = 0; i < paths.n; i++) {
		if (strs_has(&seen, paths.v[i]))
			continue;
		if (strs_add(&seen, paths.v[i], err) < 0 ||
		    merge_file(k, paths.v[i], false, err) < 0)
			return -1;
	}
	return 0;
}

static int merge_files(struct kubeconfig *k, const struct kube_flags *flags,
		       char *(*env_get)(const char *), struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	const char *text = flags->kubeconfig;

	if (text && text[0])
		return merge_file(k, text, true, err);
	text = env_get("KUBECONFIG");
	if (text && text[0])
		return merge_list(k, text, err);
	text = env_get("HOME");
	if (!text || !text[0])
		return 0;
	buf_printf(&path, "%s/.kube/config", text);
	if (buf_check(&path, err) < 0)
		return -1;
	return merge_file(k, buf_text(&path), false, err);
}

int kubeconfig_read(const struct kube_flags *flags, char *(*env_get)(const char *),
		    struct kubeconfig *out, struct err *err)
{
	struct kubeconfig k = KUBECONFIG_INIT;

	k.clusters = cJSON_CreateObject();
	k.users = cJSON_CreateObject();
	k.contexts = cJSON_CreateObject();
	if (!k.clusters || !k.users || !k.contexts) {
		kubeconfig_release(&k);
		return err_nomem(err);
	}
	if (merge_files(&k, flags, env_get, err) < 0) {
		kubeconfig_release(&k);
		return -1;
	}
	k.empty = !k.clusters->child && !k.users->child && !k.contexts->child && !k.current;
	*out = k;
	return 0;
}
