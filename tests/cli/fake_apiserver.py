#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording fake Kubernetes API server for tests: only Python's library and the openssl command.

    fake_apiserver.py --dir DIR [--objects FILE] [--rules FILE] [--token TOK] [--plain]
                      [--without PLURAL]... [--certs DIR] [--proxy]

It listens on two free ports of 127.0.0.1: the API (TLS, or plain HTTP with --plain) and a plain
control port. When it is ready it has written into DIR:

    url             https://localhost:PORT of the API        control     http://127.0.0.1:PORT
    ca.crt          the server's CA                          pid         its process id
    kubeconfig      context "fake", user "fake" with a token (namespace "default")
    kubeconfig-cert the same with a client certificate (alice of group g1)
    requests.log    one JSON object a line for each API request:
                    {"n", "method", "path", "query": {k: [v]}, "headers": {lower-case: [v]},
                     "body": parsed JSON or text or null, "cert": {"commonName": ...} or null,
                     "status": code sent, or "reset", "close", "stall"...}
    proxy           127.0.0.1:PORT of an HTTP and SOCKS5 proxy to anywhere on this machine (--proxy)
    ready           made last

It ends on SIGTERM, SIGINT, or when its standard input is closed (with --stdin).

The store is empty but for --objects (a JSON list, or {"items": [...]}). It knows create, get, list
(labelSelector, fieldSelector, limit and continue, Table), watch (bookmarks, resourceVersion, 410),
merge, JSON, strategic (as merge) and apply patches, put, delete (with owners' children), the status
and scale subresources, dryRun, generateName, resourceVersion conflicts and logs (follow, previous,
tailLines, sinceTime, sinceSeconds, limitBytes, timestamps).

Control port (JSON bodies):
    POST /rules     a list of rules, put before those that are there (see below)
    DELETE /rules   forget all rules
    GET  /requests  the recorded requests as a list;  DELETE forgets them (and empties the file)
    GET  /objects   all objects as a list
    POST /objects   objects to create or replace as they are (one, a list, or {"items": []})
    DELETE /objects?path=/api/v1/namespaces/x/pods/y   removes one, with a DELETED event
    POST /logs      {"namespace", "pod", "container", "lines": ["text" or ["RFC 3339", "text"]],
                     "end": true, "previous": true, "rest": "text"}: appends lines; end closes
                    followers, after a last line without a newline when there is "rest"
    POST /drop      {"how": "close"|"reset"|"end"}: ends open watches and logs: without the end of
                    the chunked body, with a TCP reset, or properly
    POST /expire    watches and continue tokens from before this moment answer 410
    GET  /proxied   what the proxy was asked for: ["CONNECT localhost:1234", "SOCKS5 ...", ...]
    POST /bookmark  sends a bookmark to all open watches that allow it

A rule is an object; the first one that fits a request is used:
    method, path     regular expressions for the whole method and path (default: all)
    query            {key: regular expression}
    times            how often it fits; default 1, -1: always;  after: fits only after so many times
    and what it does, one or more of:
    delay            seconds to wait before anything else (also true for the normal answer)
    warnings         list of texts sent as Warning: 299 headers with the answer
    headers          {name: value} added to the answer, as {"Retry-After": "1"}
    status           an HTTP status with a Status object: reason, message, details are taken along
    body             text sent as the body (default status 200), content_type as given
    fault            "reset": RST without an answer; "close": FIN without an answer; "stall": no answer
                     until the client goes away; "headers": headers, then nothing; "garbage": bytes
                     that are no HTTP; "truncate": a body that ends too early; "huge": a JSON answer
                     of `bytes` bytes; "endless": a JSON answer without end
    events           list of objects or texts: a watch that sends just these lines, then ends
                     (fault "reset", "close" or "stall" may say how)
"""
import argparse
import base64
import collections
import copy
import datetime
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

ET = 'kai.alibabacloud.com/v1alpha1'
ADMISSION = 'admissionregistration.k8s.io/v1'
# (group/version, plural): (kind, namespaced)
RESOURCES = {
    (ET, 'trainingjobs'): ('TrainingJob', True), (ET, 'scaleouts'): ('ScaleOut', True),
    (ET, 'scaleins'): ('ScaleIn', True), ('v1', 'pods'): ('Pod', True),
    ('v1', 'services'): ('Service', True), ('v1', 'configmaps'): ('ConfigMap', True),
    ('v1', 'secrets'): ('Secret', True), ('v1', 'events'): ('Event', True),
    ('v1', 'nodes'): ('Node', False), ('v1', 'namespaces'): ('Namespace', False),
    ('v1', 'serviceaccounts'): ('ServiceAccount', True), ('v1', 'endpoints'): ('Endpoints', True),
    ('v1', 'resourcequotas'): ('ResourceQuota', True), ('v1', 'limitranges'): ('LimitRange', True),
    ('v1', 'persistentvolumeclaims'): ('PersistentVolumeClaim', True),
    ('coordination.k8s.io/v1', 'leases'): ('Lease', True),
    ('events.k8s.io/v1', 'events'): ('Event', True),
    ('apps/v1', 'deployments'): ('Deployment', True),
    ('policy/v1', 'poddisruptionbudgets'): ('PodDisruptionBudget', True),
    ('networking.k8s.io/v1', 'networkpolicies'): ('NetworkPolicy', True),
    ('discovery.k8s.io/v1', 'endpointslices'): ('EndpointSlice', True),
    ('scheduling.k8s.io/v1', 'priorityclasses'): ('PriorityClass', False),
    ('rbac.authorization.k8s.io/v1', 'clusterroles'): ('ClusterRole', False),
    ('rbac.authorization.k8s.io/v1', 'clusterrolebindings'): ('ClusterRoleBinding', False),
    ('rbac.authorization.k8s.io/v1', 'roles'): ('Role', True),
    ('rbac.authorization.k8s.io/v1', 'rolebindings'): ('RoleBinding', True),
    ('apiextensions.k8s.io/v1', 'customresourcedefinitions'): ('CustomResourceDefinition', False),
    (ADMISSION, 'mutatingwebhookconfigurations'): ('MutatingWebhookConfiguration', False),
    (ADMISSION, 'validatingwebhookconfigurations'): ('ValidatingWebhookConfiguration', False),
    ('metrics.k8s.io/v1beta1', 'pods'): ('PodMetrics', True),
    ('metrics.k8s.io/v1beta1', 'nodes'): ('NodeMetrics', False),
}
REVIEWS = {'selfsubjectaccessreviews': 'SelfSubjectAccessReview',
           'selfsubjectrulesreviews': 'SelfSubjectRulesReview',
           'selfsubjectreviews': 'SelfSubjectReview'}
STATUS_GENERATION = (ET, 'apps/v1')  # metadata.generation counts changes of spec


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def parse_time(text):
    """RFC 3339 to (nanoseconds since 1970)."""
    whole, fraction = re.fullmatch(r'([^.]*?)(?:\.(\d+))?(?:Z|[+]00:00)', text).groups()
    seconds = datetime.datetime.strptime(whole, '%Y-%m-%dT%H:%M:%S').replace(
        tzinfo=datetime.timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(((fraction or '0') + '0' * 9)[:9])


def format_ns(ns):
    text = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S')
    return '%s.%09dZ' % (text, ns % 10**9)


class Refusal(Exception):
    """An error answer: code, reason, message, details."""

    def __init__(self, code, reason, message, details=None, headers=None):
        super().__init__(message)
        self.code, self.headers = code, headers or {}
        self.body = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure',
                     'message': message, 'reason': reason, 'code': code}
        if details:
            self.body['details'] = details


Place = collections.namedtuple('Place', 'gv plural ns name sub')


def parse_path(path):
    """The place of a resource path, or None."""
    found = re.fullmatch(r'/(?:api/(v1)|apis/([^/]+/[^/]+))'
                         r'(?:/namespaces/([^/]+)(?=/[^/]+))?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?', path)
    if not found:
        return None
    core, group, ns, plural, name, sub = found.groups()
    if plural == 'namespaces' or (core or group, plural) in RESOURCES or plural in REVIEWS:
        unquote = urllib.parse.unquote
        return Place(core or group, plural, ns and unquote(ns), name and unquote(name), sub)
    return None


def selector(text):
    """A label selector as a function of labels."""
    tests = []
    for part in re.findall(r'(?:[^,(]|\([^)]*\))+', text):
        part = part.strip()
        among = re.fullmatch(r'(\S+)\s+(in|notin)\s+\(([^)]*)\)', part)
        if among:
            key, word, values = among.group(1), among.group(2), {v.strip() for v in among.group(3).split(',')}
            tests.append((lambda l, k=key, v=values: l.get(k) in v) if word == 'in' else
                         (lambda l, k=key, v=values: l.get(k) not in v))
        elif '!=' in part:
            key, value = part.split('!=')
            tests.append(lambda l, k=key.strip(), v=value.strip(): l.get(k) != v)
        elif '=' in part:
            key, value = re.split('==?', part, maxsplit=1)
            tests.append(lambda l, k=key.strip(), v=value.strip(): l.get(k) == v)
        elif part.startswith('!'):
            tests.append(lambda l, k=part[1:].strip(): k not in l)
        elif part:
            tests.append(lambda l, k=part: k in l)
    return lambda labels: all(t(labels or {}) for t in tests)


def field_selector(text):
    def value(obj, path):
        for key in path.split('.'):
            obj = (obj or {}).get(key)
        return '' if obj is None else str(obj)
    tests = []
    for part in filter(None, text.split(',')):
        if '!=' in part:
            path, want = part.split('!=')
            tests.append(lambda o, p=path, w=want: value(o, p) != w)
        else:
            path, want = re.split('==?', part, maxsplit=1)
            tests.append(lambda o, p=path, w=want: value(o, p) == w)
    return lambda obj: all(t(obj) for t in tests)


def merge(target, patch):
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def json_patch(obj, ops):
    obj = copy.deepcopy(obj)
    for op in ops:
        path = [p.replace('~1', '/').replace('~0', '~') for p in op['path'].split('/')[1:]]
        parent = obj
        for key in path[:-1]:
            parent = parent[int(key)] if isinstance(parent, list) else parent[key]
        key = path[-1]
        if isinstance(parent, list):
            if op['op'] == 'add':
                parent.insert(len(parent) if key == '-' else int(key), op['value'])
            elif op['op'] == 'replace':
                parent[int(key)] = op['value']
            elif op['op'] == 'remove':
                del parent[int(key)]
            elif op['op'] == 'test' and parent[int(key)] != op['value']:
                raise ValueError('test failed')
        elif op['op'] in ('add', 'replace'):
            if op['op'] == 'replace' and key not in parent:
                raise ValueError('no such path')
            parent[key] = op['value']
        elif op['op'] == 'remove':
            del parent[key]
        elif op['op'] == 'test' and parent.get(key) != op['value']:
            raise ValueError('test failed')
    return obj


class Store:
    """Objects, their history for watches, and container logs. Everything under one condition."""

    def __init__(self):
        self.changed = threading.Condition()
        self.objects = {}   # (gv, plural, ns or '', name) -> object
        self.history = []   # (rv, gv, plural, type, object)
        self.rv = 1000
        self.oldest = 0     # what a watch must not be older than
        self.bookmarks = 0  # how many were asked for
        self.drops = []     # how open streams were told to end, in order
        self.logs = {}      # (ns, pod, container, previous) -> {'lines': [(ns, text)], 'end': bool}

    def record(self, kind, key, obj):
        self.history.append((self.rv, key[0], key[1], kind, copy.deepcopy(obj)))
        self.changed.notify_all()

    def put(self, key, obj):
        self.rv += 1
        obj['metadata']['resourceVersion'] = str(self.rv)
        kind = 'MODIFIED' if key in self.objects else 'ADDED'
        self.objects[key] = obj
        self.record(kind, key, obj)
        return obj

    def remove(self, key):
        obj = self.objects.pop(key)
        self.rv += 1
        obj = copy.deepcopy(obj)
        obj['metadata']['resourceVersion'] = str(self.rv)
        self.record('DELETED', key, obj)
        uid = obj['metadata'].get('uid')
        for other, child in list(self.objects.items()):
            owners = child['metadata'].get('ownerReferences') or []
            if other in self.objects and any(o.get('uid') == uid for o in owners):
                self.remove(other)

    def put_as_is(self, obj):
        gv, kind = obj['apiVersion'], obj['kind']
        plural = next((p for (g, p), (k, _) in RESOURCES.items() if (g, k) == (gv, kind)), None)
        if plural is None:
            raise Refusal(400, 'BadRequest', 'unknown kind %s %s' % (gv, kind))
        meta = obj.setdefault('metadata', {})
        namespaced = RESOURCES[(gv, plural)][1]
        if namespaced:
            meta.setdefault('namespace', 'default')
        key = (gv, plural, meta.get('namespace', '') if namespaced else '', meta['name'])
        old = self.objects.get(key, {}).get('metadata', {})
        meta.setdefault('uid', old.get('uid') or str(uuid.uuid5(uuid.NAMESPACE_URL, '/'.join(key))))
        meta.setdefault('creationTimestamp', old.get('creationTimestamp') or now_text())
        return self.put(key, obj)


class Api:
    """What the server answers; no sockets here."""

    def __init__(self, args):
        self.store = Store()
        self.without = set(args.without)
        self.rules, self.rules_lock = [], threading.Lock()

    # -- rules

    def rule_for(self, method, path, query):
        with self.rules_lock:
            for rule in self.rules:
                if not re.fullmatch(rule.get('method', '.*'), method) or \
                        not re.fullmatch(rule.get('path', '.*'), path):
                    continue
                if any(not any(re.fullmatch(v, got) for got in query.get(k, ['']))
                       for k, v in rule.get('query', {}).items()):
                    continue
                if rule.get('after', 0) > 0:
                    rule['after'] -= 1
                    continue
                if rule.get('times', 1) == 0:
                    continue
                rule['times'] = rule.get('times', 1) - 1 if rule.get('times', 1) > 0 else -1
                return dict(rule)
        return None

    # -- discovery

    def discovery(self, path):
        groups = collections.OrderedDict()
        for gv, _ in RESOURCES:
            if '/' in gv:
                groups.setdefault(gv.split('/')[0], []).append(gv)
        if path == '/version':
            return {'major': '1', 'minor': '34', 'gitVersion': 'v1.34.0', 'platform': 'linux/amd64'}
        if path == '/api':
            return {'kind': 'APIVersions', 'versions': ['v1'], 'serverAddressByClientCIDRs': []}
        if path == '/apis':
            def version(gv):
                return {'groupVersion': gv, 'version': gv.split('/')[1]}
            return {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': [
                {'name': g, 'versions': [version(v) for v in sorted(set(vs))], 'preferredVersion': version(vs[0])}
                for g, vs in groups.items()]}
        found = re.fullmatch(r'/(?:api/(v1)|apis/([^/]+/[^/]+))', path)
        if found:
            gv = found.group(1) or found.group(2)
            names = [(p, k, n) for (g, p), (k, n) in RESOURCES.items() if g == gv and p not in self.without]
            if names:
                return {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': gv, 'resources': [
                    {'name': p, 'singularName': k.lower(), 'namespaced': n, 'kind': k,
                     'verbs': ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']}
                    for p, k, n in names]}
        return None

    # -- reading

    @staticmethod
    def resource_name(gv, plural):
        return plural + ('.' + gv.split('/')[0] if '/' in gv else '')

    def not_found(self, place):
        group = place.gv.split('/')[0] if '/' in place.gv else ''
        details = {'name': place.name, 'kind': place.plural}
        if group:
            details['group'] = group
        return Refusal(404, 'NotFound', '%s "%s" not found' % (
            self.resource_name(place.gv, place.plural), place.name), details)

    def key(self, place):
        return (place.gv, place.plural, place.ns or '', place.name)

    def find(self, place):
        obj = self.store.objects.get(self.key(place))
        if obj is None:
            raise self.not_found(place)
        return obj

    def matching(self, place, query):
        by_label = selector(query.get('labelSelector', [''])[0])
        by_field = field_selector(query.get('fieldSelector', [''])[0])

        def fits(gv, plural, obj):
            meta = obj['metadata']
            return (gv, plural) == (place.gv, place.plural) and \
                (not place.ns or meta.get('namespace') == place.ns) and \
                (not place.name or meta['name'] == place.name) and \
                by_label(meta.get('labels')) and by_field(obj)
        return fits

    def list(self, place, query):
        fits, store = self.matching(place, query), self.store
        start, rv = 0, store.rv
        if 'continue' in query:
            start, rv = json.loads(base64.urlsafe_b64decode(query['continue'][0]))
            if rv < store.oldest:
                token = base64.urlsafe_b64encode(json.dumps([start, store.rv]).encode()).decode()
                refusal = Refusal(410, 'Expired', 'The provided continue parameter is too old to display a '
                                                  'consistent list result.')
                refusal.body['metadata'] = {'continue': token}
                raise refusal
        items = [o for k, o in sorted(store.objects.items()) if fits(k[0], k[1], o)]
        meta = {'resourceVersion': str(rv)}
        limit = int(query.get('limit', ['0'])[0])
        rest = len(items) - start - limit
        items = items[start:start + limit] if limit else items[start:]
        if limit and rest > 0:
            meta['continue'] = base64.urlsafe_b64encode(json.dumps([start + limit, rv]).encode()).decode()
            meta['remainingItemCount'] = rest
        kind = RESOURCES[(place.gv, place.plural)][0]
        if not place.gv == ET:  # lists of custom resources keep kind and apiVersion in each item
            items = [{k: v for k, v in o.items() if k not in ('kind', 'apiVersion')} for o in items]
        return {'kind': kind + 'List', 'apiVersion': place.gv, 'metadata': meta, 'items': items}

    @staticmethod
    def table(answer):
        items = answer['items'] if 'items' in answer else [answer]
        return {'kind': 'Table', 'apiVersion': 'meta.k8s.io/v1', 'metadata': answer['metadata'] if 'items' in answer else {},
                'columnDefinitions': [
                    {'name': 'Name', 'type': 'string', 'format': 'name', 'description': '', 'priority': 0},
                    {'name': 'Age', 'type': 'string', 'format': '', 'description': '', 'priority': 0}],
                'rows': [{'cells': [i['metadata']['name'], '5m'], 'object': {
                    'kind': 'PartialObjectMetadata', 'apiVersion': 'meta.k8s.io/v1', 'metadata': i['metadata']}}
                    for i in items]}

    # -- writing

    @staticmethod
    def scale_of(obj):
        spec = obj['spec']
        worker = spec.get('etReplicaSpecs', {}).get('worker')
        return {'kind': 'Scale', 'apiVersion': 'autoscaling/v1',
                'metadata': {k: v for k, v in obj['metadata'].items() if k in (
                    'name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp')},
                'spec': {'replicas': (worker or spec).get('replicas', 0)},
                'status': {'replicas': obj.get('status', {}).get('currentWorkers', 0)}}

    def create(self, place, body, dry):
        if place.plural in REVIEWS:
            return dict(body, status={'allowed': True})
        if not isinstance(body, dict) or not isinstance(body.get('metadata'), dict):
            raise Refusal(400, 'BadRequest', 'the object provided is unrecognized (must be of type %s)'
                          % RESOURCES[(place.gv, place.plural)][0])
        obj = copy.deepcopy(body)
        meta = obj['metadata']
        if meta.get('generateName') and not meta.get('name'):
            meta['name'] = meta['generateName'] + uuid.uuid4().hex[:5]
        if not meta.get('name'):
            raise Refusal(422, 'Invalid', '%s "" is invalid: metadata.name: Required value' % place.plural)
        if place.ns:
            if meta.get('namespace', place.ns) != place.ns:
                raise Refusal(400, 'BadRequest', 'the namespace of the provided object does not match the '
                                                 'namespace sent on the request')
            meta['namespace'] = place.ns
        key = self.key(place._replace(name=meta['name']))
        if key in self.store.objects:
            raise Refusal(409, 'AlreadyExists', '%s "%s" already exists' % (
                self.resource_name(place.gv, place.plural), meta['name']),
                {'name': meta['name'], 'kind': place.plural})
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=now_text())
        if place.gv in STATUS_GENERATION:
            meta['generation'] = 1
            obj.pop('status', None)
        if dry:
            return obj
        return self.store.put(key, obj)

    def change(self, place, new, dry):
        """Takes a changed object over, as far as the subresource lets it."""
        old = self.find(place)
        kept = copy.deepcopy(old)
        wanted_rv = (new.get('metadata') or {}).get('resourceVersion')
        if wanted_rv and wanted_rv != old['metadata']['resourceVersion']:
            raise Refusal(409, 'Conflict', 'Operation cannot be fulfilled on %s "%s": the object has been '
                          'modified; please apply your changes to the latest version and try again' % (
                              self.resource_name(place.gv, place.plural), place.name),
                          {'name': place.name, 'kind': place.plural})
        if place.sub == 'status':
            kept['status'] = new.get('status', {})
        elif place.sub == 'scale':
            spec = kept['spec']
            spec.get('etReplicaSpecs', {}).get('worker', spec)['replicas'] = new['spec']['replicas']
        else:
            status = old.get('status')
            kept = copy.deepcopy(new)
            for field in ('uid', 'creationTimestamp', 'namespace', 'name'):
                if field in old['metadata']:
                    kept['metadata'][field] = old['metadata'][field]
            if place.gv in STATUS_GENERATION:
                kept.pop('status', None)
                if status is not None:
                    kept['status'] = status
        if place.gv in STATUS_GENERATION and kept.get('spec') != old.get('spec'):
            kept['metadata']['generation'] = old['metadata'].get('generation', 1) + 1
        kept['metadata']['resourceVersion'] = old['metadata']['resourceVersion']
        if not dry and kept != old:
            if kept['metadata'].get('deletionTimestamp') and not kept['metadata'].get('finalizers'):
                self.store.objects[self.key(place)] = kept
                self.store.remove(self.key(place))
            else:
                self.store.put(self.key(place), kept)
        return self.scale_of(kept) if place.sub == 'scale' else kept

    def patch(self, place, body, content_type, dry):
        if content_type.startswith('application/apply-patch'):
            if self.key(place) not in self.store.objects:
                return 201, self.create(place, body, dry)
            return 200, self.change(place, merge(copy.deepcopy(self.find(place)), dict(
                body, metadata={k: v for k, v in body['metadata'].items() if v is not None})), dry)
        old = self.find(place)
        base = self.scale_of(old) if place.sub == 'scale' else old
        if content_type.startswith('application/json-patch'):
            try:
                return 200, self.change(place, json_patch(base, body), dry)
            except (KeyError, IndexError, ValueError) as e:
                raise Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request: %s' % e)
        if 'merge-patch' not in content_type:
            raise Refusal(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format - accepted '
                          'media types include: application/json-patch+json, application/merge-patch+json')
        new = merge(copy.deepcopy(base), body)
        if 'resourceVersion' not in (body.get('metadata') or {}):
            new['metadata'].pop('resourceVersion', None)
        return 200, self.change(place, new, dry)

    def delete(self, place, body, dry):
        obj = self.find(place)
        wanted = ((body or {}).get('preconditions') or {}).get('uid')
        if wanted and wanted != obj['metadata'].get('uid'):
            raise Refusal(409, 'Conflict', 'Precondition failed: UID in precondition: %s, UID in object meta: %s'
                          % (wanted, obj['metadata'].get('uid')), {'name': place.name, 'kind': place.plural})
        if not dry:
            if obj['metadata'].get('finalizers'):
                obj = copy.deepcopy(obj)
                obj['metadata'].setdefault('deletionTimestamp', now_text())
                self.store.put(self.key(place), obj)
            else:
                self.store.remove(self.key(place))
        return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success',
                'details': {'name': place.name, 'kind': place.plural, 'uid': obj['metadata'].get('uid')}}

    def answer(self, method, path, query, body, headers):
        """(status, object) of a request that is no stream."""
        if path in ('/healthz', '/livez', '/readyz'):
            return 200, 'ok'
        found = self.discovery(path)
        if found is not None:
            return 200, found
        place = parse_path(path)
        if place is None or place.plural in self.without:
            raise Refusal(404, 'NotFound', 'the server could not find the requested resource', {})
        dry = query.get('dryRun') == ['All']
        accept = headers.get('accept', [''])[0]
        with self.store.changed:
            if method == 'GET' and place.name:
                obj = self.find(place)
                answer = self.scale_of(obj) if place.sub == 'scale' else obj
                return 200, self.table(answer) if 'as=Table' in accept else copy.deepcopy(answer)
            if method == 'GET':
                answer = copy.deepcopy(self.list(place, query))
                return 200, self.table(answer) if 'as=Table' in accept else answer
            if method == 'POST' and not place.name:
                return 201, copy.deepcopy(self.create(place, body, dry))
            if method == 'PUT' and place.name:
                return 200, copy.deepcopy(self.change(place, body, dry))
            if method == 'PATCH' and place.name:
                code, obj = self.patch(place, body, headers.get('content-type', [''])[0], dry)
                return code, copy.deepcopy(obj)
            if method == 'DELETE' and place.name:
                return 200, self.delete(place, body, dry)
            if method == 'DELETE':
                fits = self.matching(place, query)
                for key in [k for k, o in self.store.objects.items() if fits(k[0], k[1], o)]:
                    self.delete(place._replace(ns=key[2], name=key[3]), None, dry)
                return 200, {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success'}
        raise Refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')


class Gone(Exception):
    """The connection was ended on purpose."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    server_version = 'fake'

    def log_message(self, *args):
        pass

    # -- sending

    def reset(self):
        """Ends the connection with a TCP reset."""
        raw = self.request
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.end_now(raw)

    def end_now(self, raw):
        # The descriptor itself, below TLS: no close_notify, no flush.
        self.close_connection = True
        self.server.forget.add(raw)
        os.close(raw.detach())
        raise Gone()

    def send_object(self, code, obj, headers=()):
        body = obj.encode() if isinstance(obj, str) else json.dumps(obj).encode()
        self.send_response(code)
        self.send_header('Content-Type', 'text/plain' if isinstance(obj, str) else 'application/json')
        if len(body) > 4096 and 'gzip' in self.headers.get('Accept-Encoding', ''):
            body = gzip.compress(body, 1)
            self.send_header('Content-Encoding', 'gzip')
        for key, value in headers:
            self.send_header(key, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start_stream(self, content_type='application/json', headers=()):
        self.send_response(200)
        self.send_header('Content-Type', content_type)
        self.send_header('Transfer-Encoding', 'chunked')
        for key, value in headers:
            self.send_header(key, value)
        self.end_headers()
        self.wfile.flush()

    def chunk(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        if data:
            self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
            self.wfile.flush()

    def end_stream(self):
        self.wfile.write(b'0\r\n\r\n')
        self.wfile.flush()

    def wait_for_client(self, seconds=3600):
        """Until the client goes away."""
        end = time.monotonic() + seconds
        self.request.settimeout(0.2)
        while time.monotonic() < end and not self.server.stopping:
            try:
                if not self.request.recv(1):
                    break
            except (socket.timeout, ssl.SSLWantReadError):
                continue
            except OSError:
                break
        self.close_connection = True

    # -- rules

    def headers_of(self, rule):
        return list(rule.get('headers', {}).items()) + [
            ('Warning', '299 - "%s"' % w.replace('\\', '\\\\').replace('"', '\\"')) for w in rule.get('warnings', [])]

    def fault(self, rule, headers):
        kind = rule['fault']
        self.record['status'] = kind
        self.log()
        if kind == 'reset':
            self.reset()
        elif kind == 'close':
            self.end_now(self.request)
        elif kind == 'stall':
            self.wait_for_client()
        elif kind == 'headers':
            self.start_stream(headers=headers)
            self.wait_for_client()
        elif kind == 'garbage':
            self.wfile.write(b'\x00\x01\x02 this is no HTTP\r\n\r\n')
            self.close_connection = True
        elif kind == 'truncate':
            self.send_response(200)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', '100000')
            self.end_headers()
            self.wfile.write(b'{"kind":"TrainingJobLi')
            self.wfile.flush()
            self.end_now(self.request)
        elif kind in ('huge', 'endless'):
            self.start_stream(headers=headers)
            left = rule.get('bytes', 100 << 20) if kind == 'huge' else float('inf')
            self.chunk('{"kind":"Status","message":"')
            while left > 0 and not self.server.stopping:
                self.chunk(b'x' * 65536)
                left -= 65536
            self.chunk('"}')
            self.end_stream()
        else:
            raise ValueError('unknown fault ' + kind)

    def by_rule(self, rule):
        """True when the rule has answered."""
        headers = self.headers_of(rule)
        if 'events' in rule:
            self.record['status'] = 200
            self.log()
            self.start_stream(headers=headers)
            for event in rule['events']:
                self.chunk(event if isinstance(event, str) else json.dumps(event) + '\n')
            if rule.get('fault') in ('reset', 'close'):
                self.fault(rule, headers)
            if rule.get('fault') == 'stall':
                self.wait_for_client()
            else:
                self.end_stream()
            return True
        if 'fault' in rule:
            self.fault(rule, headers)
            return True
        if 'body' in rule:
            body = rule['body'].encode()
            self.record['status'] = rule.get('status', 200)
            self.log()
            self.send_response(rule.get('status', 200))
            self.send_header('Content-Type', rule.get('content_type', 'application/json'))
            for key, value in headers:
                self.send_header(key, value)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return True
        if 'status' in rule:
            refusal = Refusal(rule['status'], rule.get('reason', ''), rule.get('message', ''), rule.get('details'))
            if 'metadata' in rule:
                refusal.body['metadata'] = rule['metadata']
            self.record['status'] = rule['status']
            self.log()
            self.send_object(rule['status'], refusal.body, headers)
            return True
        return False

    # -- streams

    def dropped(self, since):
        """Ends this stream when the control port said so."""
        drops = self.server.api.store.drops
        if len(drops) <= since:
            return False
        how = drops[since]
        if how == 'reset':
            self.reset()
        if how == 'close':
            self.end_now(self.request)
        self.end_stream()
        return True

    def watch(self, place, query, headers):
        store = self.server.api.store
        fits = self.server.api.matching(place, query)
        start = int(query.get('resourceVersion', ['0'])[0] or 0)
        until = time.monotonic() + float(query.get('timeoutSeconds', ['3600'])[0])
        if start and start < store.oldest:
            raise Refusal(410, 'Expired', 'too old resource version: %d (%d)' % (start, store.oldest))
        with store.changed:
            drops, marks, at = len(store.drops), store.bookmarks, 0
            initial = [] if start else [o for k, o in sorted(store.objects.items()) if fits(k[0], k[1], o)]
            if not start:
                start = store.rv
        self.record['status'] = 200
        self.log()
        self.start_stream(headers=headers)
        for obj in initial:
            self.chunk(json.dumps({'type': 'ADDED', 'object': obj}) + '\n')
        while time.monotonic() < until and not self.server.stopping:
            with store.changed:
                while at == len(store.history) and len(store.drops) == drops and store.bookmarks == marks and \
                        not self.server.stopping and time.monotonic() < until:
                    store.changed.wait(min(0.5, max(0.01, until - time.monotonic())))
                news, at = store.history[at:], len(store.history)
                rv, mark = store.rv, store.bookmarks
                expired = store.oldest > start and not news and rv < store.oldest
            for when, gv, plural, kind, obj in news:
                if when > start and fits(gv, plural, obj):
                    self.chunk(json.dumps({'type': kind, 'object': obj}) + '\n')
            if mark != marks and query.get('allowWatchBookmarks') == ['true']:
                self.chunk(json.dumps({'type': 'BOOKMARK', 'object': {
                    'kind': RESOURCES[(place.gv, place.plural)][0], 'apiVersion': place.gv,
                    'metadata': {'resourceVersion': str(rv), 'creationTimestamp': None}}}) + '\n')
            marks = mark
            if expired or self.dropped(drops):
                return
        self.end_stream()

    def pod_log(self, place, query, headers):
        store = self.server.api.store
        with store.changed:
            pod = self.server.api.find(place._replace(sub=None))
            names = [c['name'] for c in pod.get('spec', {}).get('containers', [])]
            container = query.get('container', [names[0] if names else ''])[0]
            previous = query.get('previous') == ['true']
            key = (place.ns, place.name, container, previous)
            if names and container not in names:
                raise Refusal(400, 'BadRequest', 'container %s is not valid for pod %s' % (container, place.name))
            if previous and key not in store.logs:
                raise Refusal(400, 'BadRequest', 'previous terminated container "%s" in pod "%s" not found' % (
                    container, place.name))
            if key not in store.logs and pod.get('status', {}).get('phase') == 'Pending':
                raise Refusal(400, 'BadRequest', 'container "%s" in pod "%s" is waiting to start: ContainerCreating'
                              % (container, place.name))
            log = store.logs.setdefault(key, {'lines': [], 'end': pod.get('status', {}).get('phase') != 'Running'})
            drops, at = len(store.drops), 0
            since = 0
            if 'sinceTime' in query:
                since = parse_time(query['sinceTime'][0])
            if 'sinceSeconds' in query:
                since = time.time_ns() - int(query['sinceSeconds'][0]) * 10**9
            first = [l for l in log['lines'] if l[0] >= since]
            if 'tailLines' in query:
                first = first[len(first) - min(len(first), int(query['tailLines'][0])):]
            at = len(log['lines'])
        left = int(query.get('limitBytes', [str(1 << 62)])[0])
        follow = query.get('follow') == ['true']
        self.record['status'] = 200
        self.log()
        self.start_stream('text/plain', headers)
        news, rest = first, ''
        while not self.server.stopping:
            for when, text in news:
                line = (text if query.get('timestamps') != ['true'] else format_ns(when) + ' ' + text) + '\n'
                self.chunk(line.encode()[:left])
                left -= min(left, len(line.encode()))
            with store.changed:
                if not follow or left <= 0 or (log['end'] and at == len(log['lines'])):
                    rest = log.get('rest') and format_ns(time.time_ns()) + ' ' + log['rest']
                    break
                while at == len(log['lines']) and len(store.drops) == drops and not log['end'] and \
                        not self.server.stopping:
                    store.changed.wait(0.5)
                news, at = [l for l in log['lines'][at:] if l[0] >= since], len(log['lines'])
            if not news and self.dropped(drops):
                return
        self.chunk(rest or '')
        self.end_stream()

    # -- one request

    def log(self):
        """Writes the record, once, before the answer: who has the answer finds the record."""
        if self.record.pop('open', None):
            self.server.log(self.record)

    def authorized(self, headers, cert):
        token = self.server.token
        if not token or cert or headers.get('authorization') == ['Bearer ' + token]:
            return
        raise Refusal(401, 'Unauthorized', 'Unauthorized')

    def do(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        size = int(self.headers.get('Content-Length') or 0)
        text = self.rfile.read(size).decode() if size else ''
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = text
        headers = {}
        for key, value in self.headers.items():
            headers.setdefault(key.lower(), []).append(value)
        cert = getattr(self.request, 'getpeercert', lambda: None)()
        cert = {k: v for rdn in cert['subject'] for k, v in rdn} if cert else None
        self.record = {'open': True, 'method': self.command, 'path': url.path, 'query': query, 'headers': headers,
                       'body': body, 'cert': cert, 'status': None}
        try:
            self.serve(url.path, query, body, headers, cert)
        except Gone:
            pass
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError, OSError):
            self.close_connection = True
        finally:
            self.log()

    def serve(self, path, query, body, headers, cert):
        api = self.server.api
        rule = api.rule_for(self.command, path, query) or {}
        if rule.get('delay'):
            time.sleep(rule['delay'])
        extra = self.headers_of(rule)
        try:
            if rule and self.by_rule(rule):
                return
            self.authorized(headers, cert)
            place = parse_path(path)
            if place and place.plural in api.without:
                place = None
            if place and self.command == 'GET' and query.get('watch') in (['true'], ['1']):
                self.watch(place, query, extra)
            elif place and self.command == 'GET' and place.plural == 'pods' and place.sub == 'log':
                self.pod_log(place, query, extra)
            else:
                code, answer = api.answer(self.command, path, query, body, headers)
                self.record['status'] = code
                self.log()
                self.send_object(code, answer, extra)
        except Refusal as refusal:
            self.record['status'] = refusal.code
            self.log()
            self.send_object(refusal.code, refusal.body, extra)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    stopping = False

    def __init__(self, handler, tls=None):
        self.tls, self.forget = tls, set()
        super().__init__(('127.0.0.1', 0), handler)

    def handle_error(self, request, client_address):
        if os.environ.get('FAKE_DEBUG'):
            super().handle_error(request, client_address)

    def finish_request(self, request, client_address):
        if self.tls is None:
            return super().finish_request(request, client_address)
        request.settimeout(30)
        with self.tls.wrap_socket(request, server_side=True) as secure:
            secure.settimeout(None)
            return super().finish_request(secure, client_address)

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass


class ApiServer(Server):
    def __init__(self, api, args, tls):
        super().__init__(Handler, tls)
        self.api, self.token = api, args.token
        self.requests, self.lock = [], threading.Lock()
        self.log_path = os.path.join(args.dir, 'requests.log')
        open(self.log_path, 'w').close()

    def log(self, record):
        with self.lock:
            record = dict(record, n=len(self.requests) + 1)
            self.requests.append(record)
            with open(self.log_path, 'a', encoding='utf-8') as f:
                f.write(json.dumps(record) + '\n')

    def forget_requests(self):
        with self.lock:
            self.requests = []
            open(self.log_path, 'w').close()


class Proxy(socketserver.ThreadingTCPServer):
    """CONNECT and SOCKS5 (names resolved here), told apart by the first byte."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        self.asked = []
        super().__init__(('127.0.0.1', 0), ProxyHandler)


class ProxyHandler(socketserver.StreamRequestHandler):
    def handle(self):
        first = self.rfile.read(1)
        if first == b'\x05':
            self.rfile.read(self.rfile.read(1)[0])
            self.wfile.write(b'\x05\x00')
            _, _, _, kind = self.rfile.read(4)
            if kind == 3:
                host = self.rfile.read(self.rfile.read(1)[0]).decode()
            else:
                host = socket.inet_ntoa(self.rfile.read(4))
            port = struct.unpack('>H', self.rfile.read(2))[0]
            self.server.asked.append('SOCKS5 %s%s:%d' % ('' if kind == 3 else 'address ', host, port))
            self.tunnel(host, port, b'\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00')
        else:
            line = (first + self.rfile.readline()).decode()
            while self.rfile.readline().strip():
                pass
            method, target, _ = line.split()
            self.server.asked.append('%s %s' % (method, target))
            host, port = target.rsplit(':', 1)
            self.tunnel(host, int(port), b'HTTP/1.1 200 Connection established\r\n\r\n')

    def tunnel(self, host, port, answer):
        with socket.create_connection((host, port)) as there:
            self.wfile.write(answer)
            back = threading.Thread(target=self.copy, args=(there, self.request), daemon=True)
            back.start()
            self.copy(self.request, there)
            back.join()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Control(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do(self):
        url = urllib.parse.urlsplit(self.path)
        size = int(self.headers.get('Content-Length') or 0)
        try:
            body = json.loads(self.rfile.read(size)) if size else None
            answer, code = self.run(self.command, url.path, urllib.parse.parse_qs(url.query), body), 200
        except Refusal as refusal:
            answer, code = refusal.body, refusal.code
        except (ValueError, KeyError, TypeError) as e:
            answer, code = {'error': repr(e)}, 400
        text = json.dumps(answer).encode() + b'\n'
        self.send_response(code)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = do

    def run(self, method, path, query, body):
        server = self.server.api_server
        api, store = server.api, server.api.store
        if path == '/rules':
            with api.rules_lock:
                api.rules = (body if isinstance(body, list) else [body]) + api.rules if method == 'POST' else []
            return {}
        if path == '/requests':
            if method == 'DELETE':
                server.forget_requests()
            with server.lock:
                return list(server.requests)
        if path == '/proxied':
            return self.server.proxy.asked if self.server.proxy else []
        if path == '/objects' and method == 'GET':
            with store.changed:
                return copy.deepcopy([o for _, o in sorted(store.objects.items())])
        with store.changed:
            if path == '/objects' and method == 'POST':
                for obj in body if isinstance(body, list) else body['items'] if 'items' in body else [body]:
                    store.put_as_is(obj)
            elif path == '/objects':
                store.remove(api.key(parse_path(query['path'][0])))
            elif path == '/logs':
                key = (body.get('namespace', 'default'), body['pod'], body['container'], bool(body.get('previous')))
                log = store.logs.setdefault(key, {'lines': [], 'end': False})
                for line in body.get('lines', []):
                    when, text = (time.time_ns(), line) if isinstance(line, str) else (parse_time(line[0]), line[1])
                    log['lines'].append((when, text))
                log['end'] = bool(body.get('end', log['end']))
                log['rest'] = body.get('rest', '')
            elif path == '/drop':
                store.drops.append((body or {}).get('how', 'close'))
            elif path == '/expire':
                store.rv += 1
                store.oldest = store.rv
            elif path == '/bookmark':
                store.bookmarks += 1
            else:
                raise Refusal(404, 'NotFound', 'no such control: ' + path)
            store.changed.notify_all()
        return {}


def make_certificates(folder):
    """ca, server (localhost, api.test, 127.0.0.1) and client (alice of g1), unless they are there."""
    if os.path.exists(folder + '/client.crt'):
        return
    place, folder = folder, '%s.%d' % (folder, os.getpid())
    os.makedirs(folder)

    def openssl(*args):
        subprocess.run(('openssl',) + args, cwd=folder, check=True, capture_output=True)
    new_key = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')
    openssl('req', '-x509', *new_key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '3650', '-subj', '/CN=fake-ca',
            '-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign')
    for name, subject, extra in (
            ('server', '/CN=server', 'subjectAltName=DNS:localhost,DNS:api.test,IP:127.0.0.1\n'),
            ('client', '/O=g1/CN=alice', '')):
        with open(folder + '/ext', 'w', encoding='utf-8') as f:
            f.write('basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n' + extra)
        openssl('req', *new_key, '-keyout', name + '.key', '-out', name + '.csr', '-subj', subject)
        openssl('x509', '-req', '-in', name + '.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial',
                '-days', '3650', '-extfile', 'ext', '-out', name + '.crt')
    try:
        os.rename(folder, place)
    except OSError:  # another server was faster
        shutil.rmtree(folder)


def kubeconfig(cluster, user):
    return json.dumps({
        'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'fake',
        'clusters': [{'name': 'fake', 'cluster': cluster}], 'users': [{'name': 'fake', 'user': user}],
        'contexts': [{'name': 'fake', 'context': {'cluster': 'fake', 'user': 'fake', 'namespace': 'default'}}]}, indent=1)


def encoded(path):
    with open(path, 'rb') as f:
        return base64.b64encode(f.read()).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--dir', required=True)
    parser.add_argument('--objects', help='JSON file of objects to begin with')
    parser.add_argument('--rules', help='JSON file of rules to begin with')
    parser.add_argument('--token', help='the only bearer token that is accepted (default: any)')
    parser.add_argument('--plain', action='store_true', help='plain HTTP')
    parser.add_argument('--without', action='append', default=[], help='a plural that the server does not know')
    parser.add_argument('--certs', help='folder to keep the certificates in for the next run')
    parser.add_argument('--proxy', action='store_true', help='run a proxy too')
    parser.add_argument('--stdin', action='store_true', help='end when standard input is closed')
    args = parser.parse_args()
    args.dir = os.path.abspath(args.dir)
    os.makedirs(args.dir, exist_ok=True)
    folder = os.path.abspath(args.certs or args.dir + '/certs')
    context = None
    if not args.plain:
        make_certificates(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + '/server.crt', folder + '/server.key')
        context.load_verify_locations(folder + '/ca.crt')
        context.verify_mode = ssl.CERT_OPTIONAL
    api = Api(args)
    if args.objects:
        with open(args.objects, encoding='utf-8') as f:
            objects = json.load(f)
        with api.store.changed:
            for obj in objects['items'] if isinstance(objects, dict) else objects:
                api.store.put_as_is(obj)
    if args.rules:
        with open(args.rules, encoding='utf-8') as f:
            api.rules = json.load(f)
    server = ApiServer(api, args, context)
    control = Server(Control)
    control.api_server, control.proxy = server, Proxy() if args.proxy else None
    url = '%s://localhost:%d' % ('http' if args.plain else 'https', server.server_port)
    cluster = {'server': url}
    if not args.plain:
        cluster['certificate-authority-data'] = encoded(folder + '/ca.crt')
    files = {'url': url + '\n', 'control': 'http://127.0.0.1:%d\n' % control.server_port, 'pid': '%d\n' % os.getpid(),
             'kubeconfig': kubeconfig(cluster, {'token': args.token or 'fake-token'})}
    if not args.plain:
        with open(folder + '/ca.crt', encoding='utf-8') as f:
            files['ca.crt'] = f.read()
        files['kubeconfig-cert'] = kubeconfig(cluster, {
            'client-certificate-data': encoded(folder + '/client.crt'), 'client-key-data': encoded(folder + '/client.key')})
    if args.proxy:
        threading.Thread(target=control.proxy.serve_forever, daemon=True).start()
        files['proxy'] = '127.0.0.1:%d\n' % control.proxy.server_address[1]
    files['ready'] = ''
    for name, text in files.items():
        with open(os.path.join(args.dir, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def stop():
        server.stopping = control.stopping = True
        with api.store.changed:
            api.store.changed.notify_all()
        server.shutdown()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop).start())
    signal.signal(signal.SIGINT, lambda *_: threading.Thread(target=stop).start())
    threading.Thread(target=control.serve_forever, daemon=True).start()
    if args.stdin:
        def until_closed():
            sys.stdin.buffer.read()
            stop()
        threading.Thread(target=until_closed, daemon=True).start()
    server.serve_forever()


if __name__ == '__main__':
    main()
