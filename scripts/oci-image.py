#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make an OCI image archive of one layer from a directory, without a container engine.

The same files give the same bytes: names are sorted, owners are 0:0, all times are
SOURCE_DATE_EPOCH (0 where it is unset). Import it with `ctr image import`, `podman load`,
`docker load` (25 and newer) or `skopeo copy oci-archive:FILE ...`.
"""

import argparse
import hashlib
import io
import json
import os
import stat
import tarfile
import time

MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "amd64": "amd64", "arm64": "arm64"}


def plain(info, epoch):
    """A tar entry says nothing about who made it and when."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = epoch
    return info


def layer_of(root, epoch):
    """The tar of a directory, parents before children."""
    paths = []
    for top, dirs, files in os.walk(root):
        for name in dirs + files:
            paths.append(os.path.relpath(os.path.join(top, name), root))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(paths):
            full = os.path.join(root, path)
            mode = os.lstat(full).st_mode
            info = plain(tarfile.TarInfo(path), epoch)
            if stat.S_ISLNK(mode):
                info.type = tarfile.SYMTYPE
                info.linkname = os.readlink(full)
                info.mode = 0o777
                tar.addfile(info)
            elif stat.S_ISDIR(mode):
                info.type = tarfile.DIRTYPE
                info.mode = stat.S_IMODE(mode) & 0o1777 | 0o755
                tar.addfile(info)
            elif stat.S_ISREG(mode):
                info.mode = 0o755 if mode & 0o111 else stat.S_IMODE(mode) & 0o644 | 0o400
                info.size = os.path.getsize(full)
                with open(full, "rb") as data:
                    tar.addfile(info, data)
            else:
                raise SystemExit(f"oci-image: {full}: not a file, directory or link")
    return out.getvalue()


def blob(store, data, kind):
    """Keep data under its digest; the descriptor that points to it."""
    digest = hashlib.sha256(data).hexdigest()
    store[f"blobs/sha256/{digest}"] = data
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True, help="repository:tag")
    parser.add_argument("--out", required=True, help="archive to write")
    parser.add_argument("--arch", default=os.uname().machine)
    parser.add_argument("--user", default="", help="uid:gid that the image runs as")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("root", help="directory that becomes the file system")
    parser.add_argument("entrypoint", nargs="*")
    args = parser.parse_args()

    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    arch = MACHINES.get(args.arch, args.arch)
    config = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"] + args.env, "WorkingDir": "/"}
    if args.user:
        config["User"] = args.user
    if args.entrypoint:
        config["Entrypoint"] = args.entrypoint
    if args.label:
        config["Labels"] = dict(label.split("=", 1) for label in args.label)

    store = {}
    layer = blob(store, layer_of(args.root, epoch), "application/vnd.oci.image.layer.v1.tar")
    image = blob(store, encode({
        "architecture": arch,
        "os": "linux",
        "created": created,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "history": [{"created": created, "created_by": "oci-image.py"}],
    }), "application/vnd.oci.image.config.v1+json")
    manifest = blob(store, encode({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": image,
        "layers": [layer],
    }), "application/vnd.oci.image.manifest.v1+json")
    manifest["platform"] = {"architecture": arch, "os": "linux"}
    manifest["annotations"] = {
        "io.containerd.image.name": args.name,
        "org.opencontainers.image.ref.name": args.name.rsplit(":", 1)[-1],
    }
    files = {
        "oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": encode({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [manifest],
        }),
        **store,
    }
    partial = args.out + ".partial"
    with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = plain(tarfile.TarInfo(name), epoch)
            info.mode = 0o644
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))
    os.replace(partial, args.out)


if __name__ == "__main__":
    main()
