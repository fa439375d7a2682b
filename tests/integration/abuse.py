#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""abuse.py SCENARIO PORT HEALTH_PORT: what a hostile client does to the webhook's HTTPS port.

Each scenario asserts on what the client sees, and that a good request is answered meanwhile.
"""
import json
import os
import re
import select
import socket
import ssl
import sys
import time
import urllib.request

PORT, HEALTH = int(sys.argv[2]), int(sys.argv[3])
MIB = 1 << 20
RSS = int(os.environ.get("ABUSE_RSS_MIB", "300")) * MIB  # more under a sanitizer
LIMIT_S = 10  # a request from its first byte to its answer

TLS = ssl.create_default_context()
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE

JOB = {
    "apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "et", "namespace": "a"},
    "spec": {"etReplicaSpecs": {
        "launcher": {"template": {"spec": {"containers": [{"name": "l", "image": "i"}]}}},
        "worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "w", "image": "i"}]}}},
    }},
}


def review(uid="u-1", job=None, **more):
    kind = {"group": "kai.alibabacloud.com", "version": "v1alpha1", "kind": "TrainingJob"}
    return json.dumps({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {"uid": uid, "kind": kind, "operation": "CREATE", "namespace": "a",
                    "name": "et", "object": job or JOB, "dryRun": True, **more},
    }).encode()


def head(n, path="/mutate", more=b"", version=b"1.1", method=b"POST",
         content_type=b"application/json"):
    return (method + b" " + path.encode() + b" HTTP/" + version + b"\r\nHost: x\r\nContent-Type: "
            + content_type + (b"\r\nContent-Length: %d" % n if n is not None else b"")
            + b"\r\n" + more + b"\r\n")


def tcp():
    s = socket.create_connection(("127.0.0.1", PORT), timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def connect():
    return TLS.wrap_socket(tcp(), server_hostname="localhost")


def read_answer(s):
    """Status, headers in lower case, body; or None when the server closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(65536)
        if not piece:
            return None
        data += piece
    first, rest = data.split(b"\r\n\r\n", 1)
    lines = first.decode().split("\r\n")
    headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
    n = int(headers.get("content-length", "0"))
    while len(rest) < n:
        rest += s.recv(65536)
    return int(lines[0].split()[1]), headers, rest


def ask(request):
    with connect() as s:
        s.sendall(request)
        return read_answer(s)


def good():
    """A good request is answered, and quickly enough for a busy machine."""
    body = review()
    start = time.monotonic()
    status, headers, text = ask(head(len(body)) + body)
    assert status == 200 and headers["content-type"] == "application/json"
    assert json.loads(text)["response"]["allowed"] is True
    assert time.monotonic() - start < 5, "a good request took too long"


def metric(name):
    text = urllib.request.urlopen(f"http://127.0.0.1:{HEALTH}/metrics", timeout=10).read().decode()
    found = re.search("^" + re.escape(name) + r" (\S+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


def until(what, condition, limit=30):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"after {limit} s not: {what}"
        time.sleep(0.1)


def closed(s):
    """Whether the server has closed a connection that it owes nothing."""
    try:
        if not select.select([s], [], [], 0)[0]:
            return False
        return s.recv(65536) == b""
    except (ssl.SSLWantReadError, BlockingIOError):
        return False
    except OSError:
        return True


def all_close(sockets, limit):
    end = time.monotonic() + limit
    left = list(sockets)
    while left:
        assert time.monotonic() < end, f"{len(left)} connections are still open"
        left = [s for s in left if not closed(s)]
        time.sleep(0.1)


# --- slow ones ------------------------------------------------------------------------------

def slow_heads():
    """Heads that come byte by byte are given up after the time of a request."""
    before = metric('etjob_webhook_connections_closed_total{reason="slow"}')
    sockets = [connect() for _ in range(100)]
    start = time.monotonic()
    text = head(100)
    for byte in text[:8]:
        for s in sockets:
            s.sendall(bytes([byte]))
        good()
        time.sleep(0.3)
    all_close(sockets, LIMIT_S + 5)
    assert time.monotonic() - start > LIMIT_S - 3
    after = metric('etjob_webhook_connections_closed_total{reason="slow"}')
    assert after - before == 100, after - before


def slow_bodies():
    """A body that never ends is given up, too."""
    sockets = [connect() for _ in range(50)]
    for s in sockets:
        s.sendall(head(5000) + b"{")
    good()
    until("the requests are in flight", lambda: metric("etjob_webhook_requests_in_flight") == 50)
    all_close(sockets, LIMIT_S + 5)
    until("no request is in flight", lambda: metric("etjob_webhook_requests_in_flight") == 0)
    assert metric("etjob_webhook_body_bytes") == 0


def half_open():
    """Handshakes that never go on."""
    hello = bytes.fromhex("160301020001000" "1fc0303") + b"\0" * 40
    sockets = []
    for i in range(200):
        s = tcp()
        s.sendall(hello[: i % len(hello)])
        sockets.append(s)
    good()
    all_close(sockets, LIMIT_S + 5)


# --- many ------------------------------------------------------------------------------------

def idle():
    """1,000 connections that ask for nothing leave room for those that do."""
    before = metric('etjob_webhook_connections_closed_total{reason="slow"}')
    sockets = [connect() for _ in range(1000)]
    # on a busy machine the first are given up before the last have come
    gone = metric('etjob_webhook_connections_closed_total{reason="slow"}') - before
    assert metric("etjob_webhook_connections") + gone >= 1000
    for _ in range(20):
        good()
    for s in sockets:
        s.close()
    until("they are gone", lambda: metric("etjob_webhook_connections") == 0)


def too_many():
    """Above the limit the idlest goes: new clients get in, the number stays bounded."""
    sockets = [connect() for _ in range(1300)]
    good()
    until("the number is bounded", lambda: metric("etjob_webhook_connections") <= 1024)
    # on a busy machine some are given up as slow before
    gone = sum(metric(f'etjob_webhook_connections_closed_total{{reason="{r}"}}')
               for r in ("evicted", "slow"))
    assert gone >= 276, gone
    for s in sockets:
        s.close()
    until("they are gone", lambda: metric("etjob_webhook_connections") == 0)


def proven_stays():
    """A client that works is not thrown out for a crowd that does not."""
    body = review()
    with connect() as worker:
        worker.sendall(head(len(body)) + body)
        assert read_answer(worker)[0] == 200
        crowd = [connect() for _ in range(1200)]
        worker.sendall(head(len(body)) + body)
        assert read_answer(worker)[0] == 200
        for s in crowd:
            s.close()


# --- odd bytes ---------------------------------------------------------------------------------

def garbage():
    """Bytes that are no TLS, and TLS with bytes that are no HTTP."""
    for data in (b"\0" * 2000, b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, b"\x16\x03\x01\xff\xff"):
        s = tcp()
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass
        s.close()
    for data in (b"\0" * 2000 + b"\r\n\r\n", b"\r\n" * 500, b"POST\r\n\r\n", b"A" * 100000,
                 b"POST /mutate HTTP/9.9\r\n\r\n", b"POST /mutate HTTP/1.1\r\nHost: x\r\n" +
                 b"X: " + b"y" * 60000 + b"\r\n\r\n", b"POST /mutate HTTP/1.1\r\n" + b"A: b\r\n" * 9000
                 + b"\r\n", b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                 b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"):
        try:
            with connect() as s:
                s.settimeout(LIMIT_S + 5)
                s.sendall(data)
                answer = read_answer(s)
            assert answer is None or answer[0] >= 400, answer
        except OSError:
            pass  # reset is an answer, too
        good()


def protocol():
    """The corners of HTTP."""
    body = review()
    assert ask(head(len(body), more=b"Transfer-Encoding: chunked\r\n") + body)[0] == 400
    status, headers, _ = ask(head(len(body), version=b"1.0") + body)
    assert status == 200
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7])
                       for i in range(0, len(body), 7)) + b"0\r\n\r\n"
    assert ask(head(None, more=b"Transfer-Encoding: chunked\r\n") + chunked)[0] == 200
    with connect() as s:  # pipelined: answers come in order
        one, two = review("u-one"), review("u-two")
        s.sendall(head(len(one)) + one + head(len(two)) + two)
        for uid in ("u-one", "u-two"):
            status, _, text = read_answer(s)
            assert status == 200 and json.loads(text)["response"]["uid"] == uid
    with connect() as s:  # kept alive
        for _ in range(3):
            s.sendall(head(len(body)) + body)
            assert read_answer(s)[0] == 200
    with connect() as s:  # asks before it sends
        s.sendall(head(len(body), more=b"Expect: 100-continue\r\n"))
        data = s.recv(1000)
        assert data.startswith(b"HTTP/1.1 100"), data
        s.sendall(body)
        assert read_answer(s)[0] == 200
    assert ask(head(len(body), content_type=b"text/plain") + body)[0] == 415
    assert ask(head(len(body), content_type=b"application/jsonp") + body)[0] == 415
    assert ask(head(len(body), content_type=b"application/json; charset=utf-8") + body)[0] == 200
    assert ask(head(len(body), path="/other") + body)[0] == 404
    status, headers, _ = ask(head(0, method=b"GET"))
    assert status == 405 and headers["allow"] == "POST"
    assert ask(head(0))[0] == 400
    good()


def padded(size):
    bare = len(review(job={**JOB, "metadata": {**JOB["metadata"], "annotations": {"a": ""}}}))
    body = review(job={**JOB, "metadata": {**JOB["metadata"], "annotations": {"a": "x" * (size - bare)}}})
    assert len(body) == size
    return body


def sizes():
    """A body of exactly 7 MiB is decided, one byte more is refused."""
    body = padded(7 * MIB)
    status, _, text = ask(head(len(body)) + body)
    assert status == 200 and json.loads(text)["response"]["allowed"] is True
    body += b" "
    assert ask(head(len(body)) + body)[0] == 413
    size = b"%x\r\n" % len(body)
    assert ask(head(None, more=b"Transfer-Encoding: chunked\r\n") + size + body + b"\r\n0\r\n\r\n")[0] == 413
    assert ask(head(1 << 40))[0] == 413
    good()


def large_at_once():
    """Many large bodies at once: some are told to come again, memory stays bounded."""
    body = padded(7 * MIB - 1)
    sockets = [connect() for _ in range(24)]
    # all but the last byte of each: nothing can be decided, all of it is held
    for s in sockets:
        s.settimeout(60)
        s.sendall(head(len(body)) + body[:-1])
    good()
    held = metric("etjob_webhook_body_bytes")
    assert 32 * MIB < held <= 96 * MIB, held
    for _ in range(20):
        good()
    statuses = []
    for s in sockets:
        s.sendall(body[-1:])
    for s in sockets:
        statuses.append(read_answer(s)[0])
        s.close()
    assert set(statuses) == {200, 503}, statuses
    assert metric("process_resident_memory_bytes") < RSS
    until("the bodies are gone", lambda: metric("etjob_webhook_body_bytes") == 0)


def bombs():
    """Few bytes that would become much memory."""
    deep = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","object":'
    for n in (1000, 100000, 3 * MIB):
        body = deep + b"[" * n + b"]" * n + b"}}"
        status, _, text = ask(head(len(body)) + body)
        assert status == 200 and json.loads(text)["response"]["allowed"] is False
    body = deep + b"[" + b"0," * (3 * MIB) + b"0]}}"
    status, _, text = ask(head(len(body)) + body)
    assert status == 200 and "values" in json.loads(text)["response"]["status"]["message"]
    body = deep + b'{"a":"' + b"\\u0041" * MIB + b'"}}}'
    assert ask(head(len(body)) + body)[0] == 200
    assert metric("process_resident_memory_bytes") < RSS
    good()


SCENARIOS = [slow_heads, slow_bodies, half_open, idle, too_many, proven_stays, garbage, protocol,
             sizes, large_at_once, bombs]
{f.__name__: f for f in SCENARIOS}[sys.argv[1]]()
