#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the plugin with kubectl (and arena, where ARENA_BIN names it) side by side.

usage: plugin.py [--etjob PROGRAM] [--jobs 1,100,5000] [--runs N] [--json FILE]

Uses the cluster of KUBECONFIG, in a namespace of its own that is deleted at the end. Prints a table:
median wall time, most memory and requests of each command, and the ratio to `kubectl get` of the same
run. The promises (docs/architecture.md) are marked where they are missed; the exit status is 1 then.
"""
import argparse
import base64
import concurrent.futures
import http.client
import json
import os
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

NAMESPACE = f"etjob-bench-{os.getpid()}"
API = f"/apis/kai.alibabacloud.com/v1alpha1/namespaces/{NAMESPACE}"
PROMISED_RATIO = 1 / 3
PROMISED_KIB = 15 * 1024
PROMISED_REQUESTS = 3


class Server:
    """Direct requests, to make many objects fast. One connection a thread."""

    def __init__(self):
        config = json.loads(subprocess.run(["kubectl", "config", "view", "--raw", "--minify", "--flatten", "-o", "json"],
                                           check=True, capture_output=True).stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.headers = {"Content-Type": "application/json"}
        self.local = threading.local()
        self.context = None
        if self.url.scheme == "https":
            self.context = ssl.create_default_context(
                cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
            if "client-certificate-data" in user:
                with tempfile.NamedTemporaryFile() as pem:
                    pem.write(base64.b64decode(user["client-certificate-data"]) + b"\n" +
                              base64.b64decode(user["client-key-data"]))
                    pem.flush()
                    self.context.load_cert_chain(pem.name)
        if "token" in user:
            self.headers["Authorization"] = "Bearer " + user["token"]

    def request(self, method, path, body=None):
        if not hasattr(self.local, "connection"):
            kind = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
            options = {"context": self.context} if self.context else {}
            self.local.connection = kind(self.url.hostname, self.url.port, **options)
        self.local.connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        answer = self.local.connection.getresponse()
        text = answer.read()
        if answer.status >= 300 and answer.status not in (404, 409):
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]!r}")


def job(name, suspend=True):
    def template(command):
        return {"spec": {"containers": [dict({"name": "et", "image": "i", "env": [
            {"name": f"VARIABLE_{i}", "value": "x" * 20} for i in range(20)]}, **command)]}}
    return {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "TrainingJob",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"suspend": suspend, "etReplicaSpecs": {
                "launcher": {"replicas": 1, "template": template({"command": ["sh", "-c", "true"]})},
                "worker": {"replicas": 1, "minReplicas": 1, "maxReplicas": 9, "template": template({})}}}}


def once(command):
    """Milliseconds of a command that must succeed."""
    words = [w.replace("{n}", str(time.time_ns())) for w in command]
    start = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}: {done.stderr.decode()}")
    return (time.monotonic() - start) * 1000


def measure(commands, runs):
    """Median ms of each of several commands, which take turns, so that noise meets all alike."""
    times = [[once(command) for command in commands] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times)]


def memory(command):
    """Most KiB. Through time(1): a child of ours would begin with our own size."""
    timer = shutil.which("time")
    if not timer:
        return None
    words = [w.replace("{n}", str(time.time_ns())) for w in command]
    done = subprocess.run([timer, "-f", "%M"] + words, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def requests_of(command):
    """Requests of a command of the plugin, counted from its own log."""
    words = [w.replace("{n}", str(time.time_ns())) for w in command] + ["-v=6"]
    log = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    return sum(1 for line in log.splitlines() if any(f"{verb} http" in line for verb in ("GET", "POST", "PATCH", "DELETE")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etjob", default="build/kubectl-etjob")
    parser.add_argument("--jobs", default="1,100,5000")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json")
    args = parser.parse_args()
    if not shutil.which("kubectl"):
        raise SystemExit("kubectl is not on the PATH")
    etjob, server = [os.path.abspath(args.etjob), "-n", NAMESPACE], Server()
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    rows, missed = [], 0
    try:
        there = 0
        for count in (int(n) for n in args.jobs.split(",")):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda i: server.request("POST", API + "/trainingjobs", job(f"j{i}")), range(there, count)))
            there = count
            kubectl = ["kubectl", "-n", NAMESPACE, "get", "trainingjobs"]
            cases = [("list", ["list"], kubectl)]
            if count == 1:
                server.request("POST", API + "/trainingjobs", job("running", suspend=False))
                one = kubectl + ["j0"]
                cases += [("get", ["get", "j0"], one), ("get -o name", ["get", "j0", "-o", "name"], one),
                          ("submit", ["submit", "s{n}", "--image=i", "-q", "run"], one),
                          ("scaleout", ["scaleout", "running", "--dry-run=server", "-q"], one)]
            for name, words, base in cases:
                base_ms, ms = measure([base, etjob + words], args.runs)
                rows.append((count, " ".join(["kubectl"] + base[3:]), base_ms, memory(base), None, None))
                rows.append((count, "etjob " + name, ms, memory(etjob + words), requests_of(etjob + words), ms / base_ms))
        arena = os.environ.get("ARENA_BIN")
        if arena:
            for name, words in (("get", ["get", "j0", "--type", "etjob"]), ("list", ["list"])):
                command = [arena, "-n", NAMESPACE] + words
                rows.append((there, "arena " + name, measure([command], args.runs)[0], memory(command), None, None))
    finally:
        # a connection that was idle while commands ran may be closed by now
        Server().request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    print(f"{'jobs':>6}  {'command':<28} {'ms':>8} {'KiB':>8} {'requests':>8}  to kubectl")
    for count, name, ms, kib, requests, ratio in rows:
        bad = []
        if ratio is not None:
            bad += [f"more than {PROMISED_RATIO:.2f}"] if ratio > PROMISED_RATIO else []
            bad += ["memory"] if kib and kib > PROMISED_KIB and count <= 100 else []
            bad += ["requests"] if requests > PROMISED_REQUESTS and count <= 100 else []
        missed += bool(bad)
        print(f"{count:>6}  {name:<28} {ms:>8.1f} {'' if kib is None else kib:>8} {'' if requests is None else requests:>8}  "
              f"{'' if ratio is None else f'{ratio:.2f}'} {'MISSED: ' + ', '.join(bad) if bad else ''}")
    if not os.environ.get("ARENA_BIN"):
        print("arena: not measured, ARENA_BIN is not set")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([dict(zip(("jobs", "command", "ms", "kib", "requests", "ratio"), row)) for row in rows], file, indent=1)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
