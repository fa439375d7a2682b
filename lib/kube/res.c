/* SPDX-License-Identifier: Apache-2.0 */
/* res: the kinds that the programs use, and their paths. */
#include "base/limits.h"
#include "kube/client.h"
#include "wire/url.h"

#define RES(var, grp, ver, plur, sing, knd, ns) \
	const struct kube_res kube_##var = {    \
		.group = (grp),                 \
		.version = (ver),               \
		.plural = (plur),               \
		.singular = (sing),             \
		.kind = (knd),                  \
		.namespaced = (ns),             \
	}
#define ETJOB_GROUP "kai.alibabacloud.com"
#define ADMISSION_GROUP "admissionregistration.k8s.io"

RES(trainingjobs, ETJOB_GROUP, "v1alpha1", "trainingjobs", "trainingjob", "TrainingJob", true);
RES(scaleouts, ETJOB_GROUP, "v1alpha1", "scaleouts", "scaleout", "ScaleOut", true);
RES(scaleins, ETJOB_GROUP, "v1alpha1", "scaleins", "scalein", "ScaleIn", true);
RES(pods, "", "v1", "pods", "pod", "Pod", true);
RES(services, "", "v1", "services", "service", "Service", true);
RES(configmaps, "", "v1", "configmaps", "configmap", "ConfigMap", true);
RES(secrets, "", "v1", "secrets", "secret", "Secret", true);
RES(events, "", "v1", "events", "event", "Event", true);
RES(nodes, "", "v1", "nodes", "node", "Node", false);
RES(namespaces, "", "v1", "namespaces", "namespace", "Namespace", false);
RES(leases, "coordination.k8s.io", "v1", "leases", "lease", "Lease", true);
RES(deployments, "apps", "v1", "deployments", "deployment", "Deployment", true);
RES(crds, "apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
    "CustomResourceDefinition", false);
RES(mutatingwebhooks, ADMISSION_GROUP, "v1", "mutatingwebhookconfigurations",
    "mutatingwebhookconfiguration", "MutatingWebhookConfiguration", false);
RES(validatingwebhooks, ADMISSION_GROUP, "v1", "validatingwebhookconfigurations",
    "validatingwebhookconfiguration", "ValidatingWebhookConfiguration", false);
RES(resourcequotas, "", "v1", "resourcequotas", "resourcequota", "ResourceQuota", true);
RES(endpointslices, "discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice",
    true);
RES(persistentvolumeclaims, "", "v1", "persistentvolumeclaims", "persistentvolumeclaim",
    "PersistentVolumeClaim", true);

RES(podgroups, "scheduling.volcano.sh", "v1beta1", "podgroups", "podgroup", "PodGroup", true);

int kube_path(const struct kube_res *res, const char *ns, const char *name, const char *sub,
	      struct buf *out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_TEXT);

	if (res->group[0])
		buf_printf(&path, "/apis/%s/%s", res->group, res->version);
	else
		buf_printf(&path, "/api/%s", res->version);
	if (res->namespaced && ns) {
		buf_str(&path, "/namespaces");
		if (url_segment(&path, ns, err) < 0)
			return err_wrap(err, "namespace");
	}
	buf_printf(&path, "/%s", res->plural);
	if (name && url_segment(&path, name, err) < 0)
		return err_wrap(err, "name of the %s", res->singular);
	if (sub)
		buf_printf(&path, "/%s", sub);
	if (buf_check(&path, err) < 0)
		return -1;
	buf_add(out, buf_text(&path), path.len);
	return buf_check(out, err);
}
