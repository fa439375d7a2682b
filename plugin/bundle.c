/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: parsing what the program carries. */
#include "bundle.h"

#include "base/limits.h"
#include "embedded.h"

static const struct kube_res others[] = {
	{ "", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", true },
	{ "rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", false },
	{ "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding",
	  "ClusterRoleBinding", false },
	{ "rbac.authorization.k8s.io", "v1", "roles", "role", "Role", true },
	{ "rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", true },
	{ "scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", false },
	{ "policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget",
	  true },
	{ "networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", true },
};

const struct kube_res *bundle_res(const cJSON *obj)
{
	static const struct kube_res *const known[] = {
		&kube_namespaces,       &kube_crds,
		&kube_services,         &kube_deployments,
		&kube_secrets,          &kube_configmaps,
		&kube_mutatingwebhooks, &kube_validatingwebhooks,
	};
	const char *kind = json_get_str(obj, "kind", "");

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq(known[i]->kind, kind))
			return known[i];
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_eq(others[i].kind, kind))
			return &others[i];
	return NULL;
}

static int set_image(cJSON *obj, const char *image, struct err *err)
{
	cJSON *c;

	if (!str_eq(json_get_str(obj, "kind", ""), "Deployment"))
		return 0;
	json_each (c, json_at_mut(obj, "spec", "template", "spec", "containers", NULL))
		if (json_set_str(c, "image", image, err) < 0)
			return -1;
	return 0;
}

int bundle_read(const char *image, struct yaml_docs *out, struct err *err)
{
	struct yaml_docs docs = { 0 };

	if (yaml_parse(embedded_install, embedded_install_bytes, 0, &docs, err) < 0)
		return err_wrap(err, "embedded manifests");
	for (size_t i = 0; image && i < docs.n; i++) {
		if (set_image(docs.v[i].json, image, err) < 0) {
			yaml_docs_release(&docs);
			return -1;
		}
	}
	*out = docs;
	return 0;
}

const cJSON *bundle_crd(const struct yaml_docs *docs, const char *name)
{
	for (size_t i = 0; i < docs->n; i++)
		if (str_eq(json_get_str(docs->v[i].json, "kind", ""), "CustomResourceDefinition") &&
		    str_eq(json_get_str(json_get(docs->v[i].json, "metadata"), "name", ""), name))
			return docs->v[i].json;
	return NULL;
}

bool bundle_within(const cJSON *have, const cJSON *want, struct buf *where)
{
	size_t mark = where->len, i = 0;
	const cJSON *w;

	if (cJSON_IsObject(want) && cJSON_IsObject(have)) {
		json_each (w, want) {
			buf_printf(where, "%s%s", where->len ? "." : "", w->string);
			if (!bundle_within(json_get(have, w->string), w, where))
				return false;
			buf_cut(where, mark);
		}
		return true;
	}
	if (cJSON_IsArray(want) && cJSON_IsArray(have)) {
		json_each (w, want) {
			buf_printf(where, "[%zu]", i);
			if (!bundle_within(json_index(have, i++), w, where))
				return false;
			buf_cut(where, mark);
		}
		return true;
	}
	return have && json_equal(have, want);
}
