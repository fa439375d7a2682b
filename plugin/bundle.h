/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: the embedded manifests as objects, and where each of their kinds lives in the API. */
#ifndef PLUGIN_BUNDLE_H
#define PLUGIN_BUNDLE_H
#include "kube/client.h"
#include "wire/yaml.h"

#define BUNDLE_NAMESPACE "etjob-system"
#define BUNDLE_CONTROLLER "etjob-controller" /* Deployment and Lease */
#define BUNDLE_WEBHOOK "etjob-webhook"       /* Deployment, Service and both configurations */

/* All objects in the order of installation. image NULL: as they are. */
MUST_USE int bundle_read(const char *image, struct yaml_docs *out, struct err *err);
/* The resource of an object's kind, or NULL. Static. */
const struct kube_res *bundle_res(const cJSON *obj);
/* The embedded CRD of that name ("trainingjobs.kai…"), borrowed from docs, or NULL. */
const cJSON *bundle_crd(const struct yaml_docs *docs, const char *name);
/* Whether all that `want` says is in `have`: members of objects, items of lists by place. */
bool bundle_within(const cJSON *have, const cJSON *want, struct buf *where);
#endif
