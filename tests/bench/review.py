#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""review.py BYTES: an AdmissionReview of about that size, as an API server sends it.

The job is realistic: containers with env, resources, probes and volumes, and annotations with
long text for what is left.
"""
import json
import sys

def container(name, n):
    return {
        "name": name,
        "image": "registry.example.com/ml/horovod:0.28.1",
        "command": ["sh", "-c", "horovodrun -np $((${workers}*${gpus})) --host-discovery-script "
                    "/etc/edl/discover_hosts.sh python /examples/train.py --epochs 90"],
        "env": [{"name": f"SETTING_{i}", "value": f"value-{i}-of-a-setting"} for i in range(n)],
        "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"},
                      "requests": {"cpu": "4", "memory": "16Gi"}},
        "volumeMounts": [{"name": f"data-{i}", "mountPath": f"/data/{i}", "readOnly": False}
                         for i in range(n // 8)],
        "imagePullPolicy": "IfNotPresent",
    }

def review(n, pad):
    template = {
        "metadata": {"labels": {"app": "train"}},
        "spec": {
            "containers": [container("main", n), container("side", n // 2)],
            "volumes": [{"name": f"data-{i}", "persistentVolumeClaim": {"claimName": f"d-{i}"}}
                        for i in range(n // 8)],
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }
    job = {
        "apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "TrainingJob",
        "metadata": {
            "name": "elastic-training", "namespace": "team-a", "uid": "8d4e2c1a-0000-4000-8000-1",
            "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 1,
            "annotations": {"note": "x" * pad},
            "managedFields": [{"manager": "kubectl", "operation": "Update",
                               "apiVersion": "kai.alibabacloud.com/v1alpha1",
                               "fieldsType": "FieldsV1",
                               "fieldsV1": {"f:spec": {"f:etReplicaSpecs": {".": {}}}}}],
        },
        "spec": {"slotsPerWorker": 1, "etReplicaSpecs": {
            "launcher": {"replicas": 1, "template": template},
            "worker": {"replicas": 2, "minReplicas": 1, "maxReplicas": 9, "template": template}}},
    }
    gvk = {"group": "kai.alibabacloud.com", "version": "v1alpha1"}
    return json.dumps({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {**gvk, "kind": "TrainingJob"}, "resource": {**gvk, "resource": "trainingjobs"},
            "requestKind": {**gvk, "kind": "TrainingJob"},
            "requestResource": {**gvk, "resource": "trainingjobs"},
            "name": "elastic-training", "namespace": "team-a", "operation": "CREATE",
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": job, "oldObject": None, "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }, separators=(",", ":"))

def main():
    want = int(sys.argv[1])
    n = 0
    while len(review(n + 1, 0)) <= want:
        n += 1
    text = review(n, 0)
    sys.stdout.write(review(n, max(0, want - len(text))))

main()
