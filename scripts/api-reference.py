#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/api.md from the CRDs: api-reference.py CRD.yaml... >docs/api.md"""

import sys

import yaml

INTRO = """# API: kai.alibabacloud.com/v1alpha1

<!-- Made by scripts/api-reference.py from manifests/crds: change it there. -->

The three kinds are those of et-operator and arena. `kubectl explain trainingjob.spec --recursive` shows the same as this page.

A job `<name>` owns these objects in its namespace: pods `<name>-launcher` and `<name>-worker-<n>`, the headless Service `<name>-workers`, ConfigMap `<name>-config` (keys `discover_hosts.sh`, `hostfile`), Secret `<name>-ssh`. All carry the labels `group-name=kai.alibabacloud.com` and `training-job-name=<name>`; pods also `training-job-role=launcher|worker` and `replica-index`.
"""

AFTER = {
    "TrainingJob": """
### What the webhook adds

In every container of both templates, where they are absent: the variables `workers` (replicas), `gpus` (those of the worker's first container, 0 if none), `minWorkers`, `maxWorkers` (1000 where there is no bound). In the launcher's first container: the host list, mounted read-only at `/etc/edl`. What you set yourself is never overwritten. The annotation `kai.alibabacloud.com/inject: disabled` leaves the object as it is; the controller then adds the same to the pods only.

### What is refused

* a name that is no DNS label, is longer than 50 characters, or is taken by a job in any namespace
* no launcher or no worker, no container, a container without name or image, two things of one name
* numbers that are not whole (`3.0`, `"3"`), or not 1 <= minReplicas <= replicas <= maxReplicas
* `workers`, `gpus`, `minWorkers` or `maxWorkers` set to something that is no number
* a change of templates, slotsPerWorker or launcherAttachMode while the job runs (suspend it first)
* maxReplicas below the workers that it has
* any change of a finished job but metadata, ttlSecondsAfterFinished and suspend

All errors of an object are reported at once, each with its field and what to do. Warnings come for what is allowed and probably not meant, such as a horovodrun without `--host-discovery-script`.
""",
    "ScaleOut": """
Refused: a job that is not there, finished, suspended or being deleted; a result above maxReplicas, with all pending scalings counted in. Carried out one at a time for a job, oldest first. The spec cannot be changed. The last 20 finished ones of a job are kept.
""",
    "ScaleIn": """
Refused: as for ScaleOut, and a result below minReplicas, a name that is no worker of this job, or a name given twice. By count, pending and failed workers go first, then the one with the highest number.
""",
}


def type_of(schema):
    kind = schema.get("type", "object")
    if kind == "array":
        return "list of " + type_of(schema["items"])
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("format") == "date-time":
        return "time"
    if isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return kind


def notes_of(schema):
    notes = []
    if schema.get("description"):
        notes.append(" ".join(schema["description"].split()))
    if "default" in schema:
        notes.append(f"Default: {schema['default']}.")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and low == high:
        notes.append(f"Always {low}.")
    elif low is not None:
        notes.append(f"At least {low}.")
    return " ".join(notes).replace("|", "\\|")


def rows(schema, path, out):
    required = schema.get("required", [])
    for name, prop in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        star = " (required)" if name in required else ""
        out.append(f"| `{here}`{star} | {type_of(prop)} | {notes_of(prop)} |")
        if name == "template":
            continue
        if prop.get("type") == "array":
            rows(prop["items"], here + "[]", out)
        elif isinstance(prop.get("additionalProperties"), dict):
            rows(prop["additionalProperties"], here + ".*", out)
        else:
            rows(prop, here, out)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    print(INTRO)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as stream:
            crd = yaml.safe_load(stream)
        names = crd["spec"]["names"]
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        print(f"## {names['kind']}\n\n{' '.join(schema['description'].split())} "
              f"Short names: {', '.join(f'`{s}`' for s in names['shortNames'])}.")
        for part in "spec", "status":
            out = []
            rows(schema["properties"][part], part, out)
            print(f"\n### {names['kind']} {part}\n\n| field | type | |\n|---|---|---|")
            print("\n".join(out))
        print(AFTER[names["kind"]])


if __name__ == "__main__":
    main()
