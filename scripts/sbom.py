#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write an SPDX 2.3 document of a staged root file system.

usage: sbom.py NAME VERSION DIR >NAME.spdx.json

Programs are ours; each shared library is traced to the distribution's package on this machine
that it was copied from. The same files give the same document (time is SOURCE_DATE_EPOCH).
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time


def digest_of(path, kind):
    value = hashlib.new(kind)
    with open(path, "rb") as stream:
        while data := stream.read(1 << 20):
            value.update(data)
    return value.hexdigest()


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def package_of(path):
    """(name, version, architecture, source) of the package that owns a file of this machine."""
    candidates = [path, os.path.realpath(path)]
    # Where /lib is a link to /usr/lib, the database may know either name.
    candidates += [c[4:] for c in candidates if c.startswith("/usr/lib")]
    candidates += ["/usr" + c for c in candidates if c.startswith("/lib")]
    for candidate in candidates:
        found = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True,
                               check=False)
        if found.returncode == 0:
            owner = found.stdout.splitlines()[0].split(": ")[0].split(",")[0]
            fields = subprocess.run(
                ["dpkg-query", "-W", "-f",
                 "${Package}\t${Version}\t${Architecture}\t${source:Package}", owner],
                capture_output=True, text=True, check=True).stdout.split("\t")
            return tuple(fields)
    return None


def distribution():
    with open("/etc/os-release", encoding="utf-8") as stream:
        values = dict(line.rstrip().replace('"', "").split("=", 1) for line in stream if "=" in line)
    return values.get("ID", "linux"), values.get("VERSION_ID", "")


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    name, version, root = sys.argv[1:]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    distro, release = distribution()
    main_id = identifier(name)
    files, packages, links = [], {}, []
    paths = []
    for top, _, names in os.walk(root):
        paths += [os.path.join(top, n) for n in names]
    for path in sorted(paths):
        if os.path.islink(path):
            continue
        inside = "/" + os.path.relpath(path, root)
        file_id = identifier("File-" + inside.strip("/"))
        files.append({
            "SPDXID": file_id,
            "fileName": "." + inside,
            "checksums": [{"algorithm": kind.upper(), "checksumValue": digest_of(path, kind)}
                          for kind in ("sha1", "sha256")],
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        })
        owner = package_of(inside) if ".so" in os.path.basename(inside) else None
        if owner is None:
            links.append((main_id, "CONTAINS", file_id))
            continue
        package, package_version, arch, source = owner
        package_id = identifier("Package-" + package)
        if package_id not in packages:
            quoted = package_version.replace("+", "%2B").replace(":", "%3A").replace("~", "~")
            packages[package_id] = {
                "SPDXID": package_id,
                "name": package,
                "versionInfo": package_version,
                "supplier": f"Organization: {distro.capitalize()}",
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "sourceInfo": f"built from the source package {source}",
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": "NOASSERTION",
                "copyrightText": "NOASSERTION",
                "externalRefs": [{
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": f"pkg:deb/{distro}/{package}@{quoted}?arch={arch}"
                                        f"&distro={distro}-{release}",
                }],
            }
            links.append((main_id, "DEPENDS_ON", package_id))
        links.append((package_id, "CONTAINS", file_id))
    ours = {
        "SPDXID": main_id,
        "name": name,
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }
    content = hashlib.sha256("".join(
        f["checksums"][1]["checksumValue"] for f in files).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{content}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "creators": [f"Tool: kubectl-etjob-sbom-{version}"],
        },
        "packages": [ours] + [packages[key] for key in sorted(packages)],
        "files": files,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": main_id},
        ] + [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
             for a, kind, b in links],
    }
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
