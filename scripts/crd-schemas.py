#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export the CRDs' schemas as JSON Schema files, laid out as kubeconform looks for them.

usage: crd-schemas.py OUTDIR CRD.yaml...
"""

import json
import os
import sys

import yaml


def strict(schema, top=False):
    """Close every object, except where the API server keeps fields that it does not know."""
    out = {}
    preserve = schema.get("x-kubernetes-preserve-unknown-fields", False)
    for key, value in schema.items():
        if key.startswith("x-kubernetes-"):
            continue
        if key == "properties":
            value = {name: strict(prop) for name, prop in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            value = strict(value)
        elif key == "format" and value in ("int32", "int64"):
            if value == "int32":
                out["maximum"] = min(schema.get("maximum", 2147483647), 2147483647)
            continue
        if key not in out:
            out[key] = value
    if "properties" in out and not preserve and "additionalProperties" not in out:
        out["additionalProperties"] = False
    if top:
        out["properties"]["metadata"] = {"type": "object"}
        out["required"] = sorted(set(out.get("required", [])) | {"apiVersion", "kind"})
    return out


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__.strip().splitlines()[-1])
    outdir = sys.argv[1]
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as stream:
            crd = yaml.safe_load(stream)
        spec = crd["spec"]
        kind = spec["names"]["kind"]
        for version in spec["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"], top=True)
            schema["$schema"] = "http://json-schema.org/draft-07/schema#"
            schema["properties"]["kind"] = {"type": "string", "enum": [kind]}
            schema["properties"]["apiVersion"] = {
                "type": "string", "enum": [f"{spec['group']}/{version['name']}"]}
            name = os.path.join(outdir, spec["group"], f"{kind.lower()}_{version['name']}.json")
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as out:
                json.dump(schema, out, indent=2, sort_keys=True)
                out.write("\n")


if __name__ == "__main__":
    main()
