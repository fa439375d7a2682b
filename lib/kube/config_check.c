/* SPDX-License-Identifier: Apache-2.0 */
/* config_check: the types of kubeconfig's fields. */
#include "base/limits.h"
#include "kube/config_int.h"
#include "wire/base64.h"

enum type { T_STR, T_BOOL, T_BYTES, T_STRS, T_STR_MAP, T_STRS_MAP, T_OBJ, T_LIST, T_ANY };

struct field {
	const char *name;
	enum type type;
	const struct field *sub; /* T_OBJ, T_LIST */
	const char *go;          /* struct of sub */
};

static const struct field extension_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "extension", T_ANY, NULL, NULL },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field cluster_fields[] = {
	{ "server", T_STR, NULL, NULL },
	{ "tls-server-name", T_STR, NULL, NULL },
	{ "insecure-skip-tls-verify", T_BOOL, NULL, NULL },
	{ "certificate-authority", T_STR, NULL, NULL },
	{ "certificate-authority-data", T_BYTES, NULL, NULL },
	{ "proxy-url", T_STR, NULL, NULL },
	{ "disable-compression", T_BOOL, NULL, NULL },
	{ "extensions", T_LIST, extension_fields, "NamedExtension" },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field env_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "value", T_STR, NULL, NULL },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field exec_fields[] = {
	{ "command", T_STR, NULL, NULL },
	{ "args", T_STRS, NULL, NULL },
	{ "env", T_LIST, env_fields, "ExecEnvVar" },
	{ "apiVersion", T_STR, NULL, NULL },
	{ "installHint", T_STR, NULL, NULL },
	{ "provideClusterInfo", T_BOOL, NULL, NULL },
	{ "interactiveMode", T_STR, NULL, NULL },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field provider_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "config", T_STR_MAP, NULL, NULL },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field user_fields[] = {
	{ "client-certificate", T_STR, NULL, NULL },
	{ "client-certificate-data", T_BYTES, NULL, NULL },
	{ "client-key", T_STR, NULL, NULL },
	{ "client-key-data", T_BYTES, NULL, NULL },
	{ "token", T_STR, NULL, NULL },
	{ "tokenFile", T_STR, NULL, NULL },
	{ "as", T_STR, NULL, NULL },
	{ "as-uid", T_STR, NULL, NULL },
	{ "as-groups", T_STRS, NULL, NULL },
	{ "as-user-extra", T_STRS_MAP, NULL, NULL },
	{ "username", T_STR, NULL, NULL },
	{ "password", T_STR, NULL, NULL },
	{ "auth-provider", T_OBJ, provider_fields, "AuthProviderConfig" },
	{ "exec", T_OBJ, exec_fields, "ExecConfig" },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field context_fields[] = {
	{ "cluster", T_STR, NULL, NULL },
	{ "user", T_STR, NULL, NULL },
	{ "namespace", T_STR, NULL, NULL },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field named_cluster_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "cluster", T_OBJ, cluster_fields, "Cluster" },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field named_user_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "user", T_OBJ, user_fields, "AuthInfo" },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field named_context_fields[] = {
	{ "name", T_STR, NULL, NULL },
	{ "context", T_OBJ, context_fields, "Context" },
	{ NULL, T_ANY, NULL, NULL },
};
static const struct field config_fields[] = {
	{ "apiVersion", T_STR, NULL, NULL },
	{ "kind", T_STR, NULL, NULL },
	{ "current-context", T_STR, NULL, NULL },
	{ "clusters", T_LIST, named_cluster_fields, "NamedCluster" },
	{ "users", T_LIST, named_user_fields, "NamedAuthInfo" },
	{ "contexts", T_LIST, named_context_fields, "NamedContext" },
	{ NULL, T_ANY, NULL, NULL },
};

/* Where we are: "AuthInfo" and "users.user". */
struct place {
	const char *go;
	const struct buf *path;
	const char *field;
};

static const char *json_type(const cJSON *v)
{
	if (cJSON_IsString(v))
		return "string";
	if (cJSON_IsBool(v))
		return "bool";
	if (cJSON_IsArray(v))
		return "array";
	return cJSON_IsObject(v) ? "object" : "number";
}

static int mismatch(const struct place *at, const cJSON *v, const char *type, struct err *err)
{
	return err_set(err, FAIL_INPUT,
		       "json: cannot unmarshal %s into Go struct field %s.%s%s%s of type %s",
		       json_type(v), at->go, buf_text(at->path), at->path->len ? "." : "",
		       at->field, type);
}

static int check_bytes(const struct place *at, const cJSON *v, struct err *err)
{
	AUTO(buf) struct buf out = BUF_INIT(LIMIT_KUBECONFIG);
	const char *text = json_str(v);
	int rc;

	if (!text)
		return mismatch(at, v, "[]uint8", err);
	rc = base64_decode(text, strlen(text), &out, err);
	buf_wipe(&out);
	return rc;
}

static int check_strs(const struct place *at, const cJSON *v, struct err *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(v))
		return mismatch(at, v, "[]string", err);
	json_each (item, v) {
		if (!cJSON_IsString(item) && !cJSON_IsNull(item))
			return mismatch(at, item, "string", err);
	}
	return 0;
}

static int check_map(const struct place *at, const cJSON *v, bool lists, struct err *err)
{
	const cJSON *item;

	if (!cJSON_IsObject(v))
		return mismatch(at, v, lists ? "map[string][]string" : "map[string]string", err);
	json_each (item, v) {
		if (cJSON_IsNull(item))
			continue;
		if (lists && check_strs(at, item, err) < 0)
			return -1;
		if (!lists && !cJSON_IsString(item))
			return mismatch(at, item, "string", err);
	}
	return 0;
}

static int check_object(const cJSON *v, const struct field *fields, const char *go,
			struct buf *path, struct err *err);

static int check_sub(const struct place *at, const cJSON *v, const struct field *f,
		     struct buf *path, struct err *err)
{
	size_t len = path->len;
	const cJSON *item;
	int rc = 0;

	if (f->type == T_LIST ? !cJSON_IsArray(v) : !cJSON_IsObject(v))
		return mismatch(at, v, f->go, err);
	buf_printf(path, "%s%s", len ? "." : "", f->name);
	if (f->type == T_OBJ) {
		rc = check_object(v, f->sub, f->go, path, err);
	} else {
		json_each (item, v) {
			if (cJSON_IsNull(item))
				continue;
			if (!cJSON_IsObject(item))
				rc = mismatch(at, item, f->go, err);
			else
				rc = check_object(item, f->sub, f->go, path, err);
			if (rc < 0)
				break;
		}
	}
	buf_cut(path, len);
	return rc;
}

static int check_object(const cJSON *v, const struct field *fields, const char *go,
			struct buf *path, struct err *err)
{
	for (const struct field *f = fields; f->name; f++) {
		const cJSON *value = json_get(v, f->name);
		struct place at = { .go = go, .path = path, .field = f->name };
		int rc = 0;

		if (!value)
			continue;
		if (f->type == T_STR && !cJSON_IsString(value))
			rc = mismatch(&at, value, "string", err);
		else if (f->type == T_BOOL && !cJSON_IsBool(value))
			rc = mismatch(&at, value, "bool", err);
		else if (f->type == T_BYTES)
			rc = check_bytes(&at, value, err);
		else if (f->type == T_STRS)
			rc = check_strs(&at, value, err);
		else if (f->type == T_STR_MAP || f->type == T_STRS_MAP)
			rc = check_map(&at, value, f->type == T_STRS_MAP, err);
		else if (f->type == T_OBJ || f->type == T_LIST)
			rc = check_sub(&at, value, f, path, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int kubeconfig_check(const cJSON *root, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);
	const char *version, *kind;

	if (!cJSON_IsObject(root))
		return err_set(err, FAIL_INPUT,
			       "json: cannot unmarshal %s into Go value of type v1.Config",
			       json_type(root));
	if (check_object(root, config_fields, "Config", &path, err) < 0 ||
	    buf_check(&path, err) < 0)
		return -1;
	version = json_get_str(root, "apiVersion", "");
	kind = json_get_str(root, "kind", "");
	if ((version[0] && !str_eq(version, "v1")) || (kind[0] && !str_eq(kind, "Config")))
		return err_set(err, FAIL_INPUT, "no kind \"%s\" is registered for version \"%s\"",
			       kind[0] ? kind : "Config", version[0] ? version : "v1");
	return 0;
}
