/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: fields that the API does not know. A schema is a list of names, of
 * which some lead to another schema; what has none is not looked into. The pod
 * template is known as deep as people mistype it: pods, containers, variables,
 * mounts, volumes, resources, probes.
 */
#include "base/opt.h"
#include "etjob/names.h"
#include "etjob/validate_int.h"

struct schema;

struct member {
	const char *name;
	const struct schema *schema; /* of the member, or of its items; NULL: anything */
	enum { ONE, MANY } count;    /* MANY: a list */
};

struct schema {
	const struct member *members;
	size_t n;
};

#define SCHEMA(stem) \
	static const struct schema stem##_schema = { stem##_members, ARRAY_LEN(stem##_members) }

static const struct member meta_members[] = {
	{ .name = "annotations" },
	{ .name = "creationTimestamp" },
	{ .name = "deletionGracePeriodSeconds" },
	{ .name = "deletionTimestamp" },
	{ .name = "finalizers" },
	{ .name = "generateName" },
	{ .name = "generation" },
	{ .name = "labels" },
	{ .name = "managedFields" },
	{ .name = "name" },
	{ .name = "namespace" },
	{ .name = "ownerReferences" },
	{ .name = "resourceVersion" },
	{ .name = "selfLink" },
	{ .name = "uid" },
};
SCHEMA(meta);

static const struct member key_ref_members[] = {
	{ .name = "key" },
	{ .name = "name" },
	{ .name = "optional" },
};
SCHEMA(key_ref);

static const struct member value_from_members[] = {
	{ .name = "configMapKeyRef", .schema = &key_ref_schema },
	{ .name = "fieldRef" },
	{ .name = "fileKeyRef" },
	{ .name = "resourceFieldRef" },
	{ .name = "secretKeyRef", .schema = &key_ref_schema },
};
SCHEMA(value_from);

static const struct member env_members[] = {
	{ .name = "name" },
	{ .name = "value" },
	{ .name = "valueFrom", .schema = &value_from_schema },
};
SCHEMA(env);

static const struct member env_from_members[] = {
	{ .name = "configMapRef" },
	{ .name = "prefix" },
	{ .name = "secretRef" },
};
SCHEMA(env_from);

static const struct member port_members[] = {
	{ .name = "containerPort" }, { .name = "hostIP" },   { .name = "hostPort" },
	{ .name = "name" },          { .name = "protocol" },
};
SCHEMA(port);

static const struct member mount_members[] = {
	{ .name = "mountPath" },   { .name = "mountPropagation" },  { .name = "name" },
	{ .name = "readOnly" },    { .name = "recursiveReadOnly" }, { .name = "subPath" },
	{ .name = "subPathExpr" },
};
SCHEMA(mount);

static const struct member resources_members[] = {
	{ .name = "claims" },
	{ .name = "limits" },
	{ .name = "requests" },
};
SCHEMA(resources);

static const struct member probe_members[] = {
	{ .name = "exec" },
	{ .name = "failureThreshold" },
	{ .name = "grpc" },
	{ .name = "httpGet" },
	{ .name = "initialDelaySeconds" },
	{ .name = "periodSeconds" },
	{ .name = "successThreshold" },
	{ .name = "tcpSocket" },
	{ .name = "terminationGracePeriodSeconds" },
	{ .name = "timeoutSeconds" },
};
SCHEMA(probe);

static const struct member lifecycle_members[] = {
	{ .name = "postStart" },
	{ .name = "preStop" },
	{ .name = "stopSignal" },
};
SCHEMA(lifecycle);

static const struct member container_security_members[] = {
	{ .name = "allowPrivilegeEscalation" },
	{ .name = "appArmorProfile" },
	{ .name = "capabilities" },
	{ .name = "privileged" },
	{ .name = "procMount" },
	{ .name = "readOnlyRootFilesystem" },
	{ .name = "runAsGroup" },
	{ .name = "runAsNonRoot" },
	{ .name = "runAsUser" },
	{ .name = "seLinuxOptions" },
	{ .name = "seccompProfile" },
	{ .name = "windowsOptions" },
};
SCHEMA(container_security);

static const struct member container_members[] = {
	{ .name = "args" },
	{ .name = "command" },
	{ .name = "env", .schema = &env_schema, .count = MANY },
	{ .name = "envFrom", .schema = &env_from_schema, .count = MANY },
	{ .name = "image" },
	{ .name = "imagePullPolicy" },
	{ .name = "lifecycle", .schema = &lifecycle_schema },
	{ .name = "livenessProbe", .schema = &probe_schema },
	{ .name = "name" },
	{ .name = "ports", .schema = &port_schema, .count = MANY },
	{ .name = "readinessProbe", .schema = &probe_schema },
	{ .name = "resizePolicy" },
	{ .name = "resources", .schema = &resources_schema },
	{ .name = "restartPolicy" },
	{ .name = "restartPolicyRules" },
	{ .name = "securityContext", .schema = &container_security_schema },
	{ .name = "startupProbe", .schema = &probe_schema },
	{ .name = "stdin" },
	{ .name = "stdinOnce" },
	{ .name = "terminationMessagePath" },
	{ .name = "terminationMessagePolicy" },
	{ .name = "tty" },
	{ .name = "volumeDevices" },
	{ .name = "volumeMounts", .schema = &mount_schema, .count = MANY },
	{ .name = "workingDir" },
};
SCHEMA(container);

static const struct member pod_security_members[] = {
	{ .name = "appArmorProfile" },
	{ .name = "fsGroup" },
	{ .name = "fsGroupChangePolicy" },
	{ .name = "runAsGroup" },
	{ .name = "runAsNonRoot" },
	{ .name = "runAsUser" },
	{ .name = "seLinuxChangePolicy" },
	{ .name = "seLinuxOptions" },
	{ .name = "seccompProfile" },
	{ .name = "supplementalGroups" },
	{ .name = "supplementalGroupsPolicy" },
	{ .name = "sysctls" },
	{ .name = "windowsOptions" },
};
SCHEMA(pod_security);

static const struct member toleration_members[] = {
	{ .name = "effect" },   { .name = "key" },
	{ .name = "operator" }, { .name = "tolerationSeconds" },
	{ .name = "value" },
};
SCHEMA(toleration);

static const struct member volume_members[] = {
	{ .name = "awsElasticBlockStore" },
	{ .name = "azureDisk" },
	{ .name = "azureFile" },
	{ .name = "cephfs" },
	{ .name = "cinder" },
	{ .name = "configMap" },
	{ .name = "csi" },
	{ .name = "downwardAPI" },
	{ .name = "emptyDir" },
	{ .name = "ephemeral" },
	{ .name = "fc" },
	{ .name = "flexVolume" },
	{ .name = "flocker" },
	{ .name = "gcePersistentDisk" },
	{ .name = "gitRepo" },
	{ .name = "glusterfs" },
	{ .name = "hostPath" },
	{ .name = "image" },
	{ .name = "iscsi" },
	{ .name = "name" },
	{ .name = "nfs" },
	{ .name = "persistentVolumeClaim" },
	{ .name = "photonPersistentDisk" },
	{ .name = "portworxVolume" },
	{ .name = "projected" },
	{ .name = "quobyte" },
	{ .name = "rbd" },
	{ .name = "scaleIO" },
	{ .name = "secret" },
	{ .name = "storageos" },
	{ .name = "vsphereVolume" },
};
SCHEMA(volume);

static const struct member pod_members[] = {
	{ .name = "activeDeadlineSeconds" },
	{ .name = "affinity" },
	{ .name = "automountServiceAccountToken" },
	{ .name = "containers", .schema = &container_schema, .count = MANY },
	{ .name = "dnsConfig" },
	{ .name = "dnsPolicy" },
	{ .name = "enableServiceLinks" },
	{ .name = "ephemeralContainers" },
	{ .name = "hostAliases" },
	{ .name = "hostIPC" },
	{ .name = "hostNetwork" },
	{ .name = "hostPID" },
	{ .name = "hostUsers" },
	{ .name = "hostname" },
	{ .name = "hostnameOverride" },
	{ .name = "imagePullSecrets" },
	{ .name = "initContainers", .schema = &container_schema, .count = MANY },
	{ .name = "nodeName" },
	{ .name = "nodeSelector" },
	{ .name = "os" },
	{ .name = "overhead" },
	{ .name = "preemptionPolicy" },
	{ .name = "priority" },
	{ .name = "priorityClassName" },
	{ .name = "readinessGates" },
	{ .name = "resourceClaims" },
	{ .name = "resources", .schema = &resources_schema },
	{ .name = "restartPolicy" },
	{ .name = "runtimeClassName" },
	{ .name = "schedulerName" },
	{ .name = "schedulingGates" },
	{ .name = "securityContext", .schema = &pod_security_schema },
	{ .name = "serviceAccount" },
	{ .name = "serviceAccountName" },
	{ .name = "setHostnameAsFQDN" },
	{ .name = "shareProcessNamespace" },
	{ .name = "subdomain" },
	{ .name = "terminationGracePeriodSeconds" },
	{ .name = "tolerations", .schema = &toleration_schema, .count = MANY },
	{ .name = "topologySpreadConstraints" },
	{ .name = "volumes", .schema = &volume_schema, .count = MANY },
	{ .name = "workloadRef" },
};
SCHEMA(pod);

static const struct member template_members[] = {
	{ .name = "metadata", .schema = &meta_schema },
	{ .name = "spec", .schema = &pod_schema },
};
SCHEMA(template);

static const struct member launcher_members[] = {
	{ .name = "replicas" },
	{ .name = "restartPolicy" },
	{ .name = "template", .schema = &template_schema },
};
SCHEMA(launcher);

static const struct member worker_members[] = {
	{ .name = "maxReplicas" },
	{ .name = "minReplicas" },
	{ .name = "replicas" },
	{ .name = "restartPolicy" },
	{ .name = "template", .schema = &template_schema },
};
SCHEMA(worker);

static const struct member replica_specs_members[] = {
	{ .name = "launcher", .schema = &launcher_schema },
	{ .name = "worker", .schema = &worker_schema },
};
SCHEMA(replica_specs);

static const struct member job_spec_members[] = {
	{ .name = "activeDeadlineSeconds" },
	{ .name = "backoffLimit" },
	{ .name = "cleanPodPolicy" },
	{ .name = "etReplicaSpecs", .schema = &replica_specs_schema },
	{ .name = "launcherAttachMode" },
	{ .name = "restartPolicy" },
	{ .name = "slotsPerWorker" },
	{ .name = "startPolicy" },
	{ .name = "suspend" },
	{ .name = "ttlSecondsAfterFinished" },
};
SCHEMA(job_spec);

static const struct member job_members[] = {
	{ .name = "apiVersion" },
	{ .name = "kind" },
	{ .name = "metadata", .schema = &meta_schema },
	{ .name = "spec", .schema = &job_spec_schema },
	{ .name = "status" },
};
SCHEMA(job);

static const struct member selector_members[] = {
	{ .name = "name" },
};
SCHEMA(selector);

static const struct member to_add_members[] = {
	{ .name = "count" },
};
SCHEMA(to_add);

static const struct member to_delete_members[] = {
	{ .name = "count" },
	{ .name = "podNames" },
};
SCHEMA(to_delete);

static const struct member scale_out_spec_members[] = {
	{ .name = "backoffLimit" },
	{ .name = "env", .schema = &env_schema, .count = MANY },
	{ .name = "script" },
	{ .name = "selector", .schema = &selector_schema },
	{ .name = "timeout" },
	{ .name = "toAdd", .schema = &to_add_schema },
	{ .name = "ttlSecondsAfterFinished" },
};
SCHEMA(scale_out_spec);

static const struct member scale_in_spec_members[] = {
	{ .name = "backoffLimit" },
	{ .name = "env", .schema = &env_schema, .count = MANY },
	{ .name = "script" },
	{ .name = "selector", .schema = &selector_schema },
	{ .name = "timeout" },
	{ .name = "toDelete", .schema = &to_delete_schema },
	{ .name = "ttlSecondsAfterFinished" },
};
SCHEMA(scale_in_spec);

static const struct member scale_out_members[] = {
	{ .name = "apiVersion" },
	{ .name = "kind" },
	{ .name = "metadata", .schema = &meta_schema },
	{ .name = "spec", .schema = &scale_out_spec_schema },
	{ .name = "status" },
};
SCHEMA(scale_out);

static const struct member scale_in_members[] = {
	{ .name = "apiVersion" },
	{ .name = "kind" },
	{ .name = "metadata", .schema = &meta_schema },
	{ .name = "spec", .schema = &scale_in_spec_schema },
	{ .name = "status" },
};
SCHEMA(scale_in);

static const struct member *find_member(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->members[i].name, name) == 0)
			return &s->members[i];
	}
	return NULL;
}

static void unknown(struct check *c, const struct schema *s, const char *name)
{
	enum { MOST = 64 };
	const char *words[MOST];
	size_t n = s->n < MOST ? s->n : MOST;
	const char *near;

	for (size_t i = 0; i < n; i++)
		words[i] = s->members[i].name;
	near = opt_nearest(name, words, n);
	if (near)
		check_fault(c, CODE_INVALID, "unknown-field",
			    "is not a field of the API: did you mean \"%s\"?", near);
	else
		check_fault(c, CODE_INVALID, "unknown-field",
			    "is not a field of the API: remove it");
}

static void walk(struct check *c, const cJSON *v, const struct schema *s)
{
	const cJSON *item, *entry;

	if (!cJSON_IsObject(v))
		return; /* of another type: the rules on values say it */
	json_each (item, v) {
		const struct member *m = find_member(s, item->string);
		struct mark here = check_into(c, item->string);
		size_t i = 0;

		if (!m) {
			unknown(c, s, item->string);
		} else if (m->schema && m->count == ONE) {
			walk(c, item, m->schema);
		} else if (m->schema && cJSON_IsArray(item)) {
			json_each (entry, item) {
				struct mark inner = check_into_index(c, i++);

				walk(c, entry, m->schema);
				check_back(c, inner);
			}
		}
		check_back(c, here);
	}
}

int validate_unknown(const cJSON *obj, struct faults *out, struct err *err)
{
	static const struct {
		const char *kind;
		const struct schema *schema;
	} kinds[] = {
		{ KIND_JOB, &job_schema },
		{ KIND_SCALEOUT, &scale_out_schema },
		{ KIND_SCALEIN, &scale_in_schema },
	};
	const char *kind = json_get_str(obj, "kind", "");
	struct check c;

	check_start(&c, out, err);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kind, kinds[i].kind) == 0)
			walk(&c, obj, kinds[i].schema);
	}
	return check_end(&c);
}
