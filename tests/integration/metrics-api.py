#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""External metrics for an autoscaler: each metric has the value that is in a file.

  metrics-api.py PORT CERT KEY FILE
"""

import http.server
import json
import ssl
import sys
import time

PORT, CERT, KEY, FILE = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
VERSION = "external.metrics.k8s.io/v1beta1"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        if "/namespaces/" in path:
            with open(FILE, encoding="utf-8") as value:
                item = {"metricName": path.rsplit("/", 1)[1], "metricLabels": {},
                        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        "value": value.read().strip()}
            answer = {"kind": "ExternalMetricValueList", "apiVersion": VERSION, "metadata": {},
                      "items": [item]}
        else:
            answer = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION,
                      "resources": [{"name": "queue", "namespaced": True, "singularName": "",
                                     "kind": "ExternalMetricValueList", "verbs": ["get"]}]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
