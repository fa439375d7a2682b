#!/usr/bin/env python3
"""Runs the golden kubectl client cases with the plugin in place of kubectl.

    check.py --plugin build/kubectl-etjob --golden DIR [--case TEXT] [-v]
    check.py --plugin SHIM --as-kubectl --golden DIR      (proof of the harness with real kubectl)

DIR holds c1.py and c1.out (the cases and what kubectl 1.32 answered). For each case the
same files, environment, flags and a mock API server are set up, and compared are: the exit status,
standard output, the first request to the trainingjobs path (method, path, client certificate,
Authorization and Impersonate-* headers) and the class and key words of the error. Extra requests
(pods, events, discovery) are answered and ignored. Ports are chosen freely. Needs openssl.

Prints `same|DIFFERENT file: case[: why]` a case, then `N passed, N failed`; exit 1 when N failed > 0.
"""
import argparse
import base64
import collections
import http.server
import json
import os
import re
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import urllib.parse

GROUP = '/apis/kai.alibabacloud.com/v1alpha1'
KIND = {'apiVersion': 'kai.alibabacloud.com/v1alpha1', 'kind': 'TrainingJob'}
Request = collections.namedtuple('Request', 'method path query cert headers')


def job(name='a', namespace='default'):
    """A job as the mock server stores it: complete enough for a plugin that shows it."""
    def template(image):
        return {'spec': {'containers': [{'name': 'et', 'image': image, 'command': ['sleep', '1']}]}}
    return dict(KIND, metadata={
        'name': name, 'namespace': namespace, 'resourceVersion': '5', 'uid': 'u1', 'generation': 1,
        'creationTimestamp': '2026-01-01T00:00:00Z'},
        spec={'etReplicaSpecs': {
            'launcher': {'replicas': 1, 'template': template('i')},
            'worker': {'replicas': 1, 'minReplicas': 1, 'maxReplicas': 2, 'template': template('i')}}},
        status={'phase': 'Running', 'conditions': []})


def failure(code, reason, message, **details):
    answer = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure',
              'message': message, 'reason': reason, 'code': code}
    if details:
        answer['details'] = details
    return code, answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def send(self, code, answer):
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, path, body):
        fixed = {
            '/api': {'kind': 'APIVersions', 'versions': ['v1'], 'serverAddressByClientCIDRs': []},
            '/apis': {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': [{
                'name': 'kai.alibabacloud.com',
                'versions': [{'groupVersion': KIND['apiVersion'], 'version': 'v1alpha1'}],
                'preferredVersion': {'groupVersion': KIND['apiVersion'], 'version': 'v1alpha1'}}]},
            '/api/v1': {'kind': 'APIResourceList', 'groupVersion': 'v1', 'resources': [
                {'name': n, 'singularName': n[:-1], 'namespaced': True, 'kind': k,
                 'verbs': ['get', 'list', 'watch', 'create', 'delete']}
                for n, k in (('pods', 'Pod'), ('events', 'Event'), ('configmaps', 'ConfigMap'))]},
            GROUP: {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': KIND['apiVersion'],
                    'resources': [
                        {'name': n, 'singularName': n[:-1], 'namespaced': True, 'kind': k,
                         'verbs': ['get', 'list', 'watch', 'create', 'delete', 'patch', 'update']}
                        for n, k in (('trainingjobs', 'TrainingJob'), ('scaleouts', 'ScaleOut'),
                                     ('scaleins', 'ScaleIn'))]},
            '/version': {'major': '1', 'minor': '32', 'gitVersion': 'v1.32.0'},
        }
        if path in fixed:
            return 200, fixed[path]
        item = re.fullmatch(re.escape(GROUP) + r'/namespaces/default/trainingjobs(?:/([^/]+))?', path)
        if item:
            name = item.group(1)
            if name == 'unauth':
                return failure(401, 'Unauthorized', 'Unauthorized')
            if self.command == 'POST':
                return 201, json.loads(body)
            if name:
                return 200, job(name)
            return 200, dict(KIND, kind='TrainingJobList', metadata={'resourceVersion': '5'}, items=[job()])
        empty = re.fullmatch(r'/api/v1(?:/namespaces/default)?/(pods|events|nodes|resourcequotas)', path)
        if empty:
            kind = {'pods': 'PodList', 'events': 'EventList'}.get(empty.group(1), 'List')
            return 200, {'kind': kind, 'apiVersion': 'v1', 'metadata': {'resourceVersion': '1'}, 'items': []}
        empty = re.fullmatch(re.escape(GROUP) + r'(?:/namespaces/default)?/(scaleouts|scaleins)', path)
        if empty:
            kind = {'scaleouts': 'ScaleOutList', 'scaleins': 'ScaleInList'}[empty.group(1)]
            return 200, dict(KIND, kind=kind, metadata={'resourceVersion': '1'}, items=[])
        return failure(404, 'NotFound', 'the server could not find the requested resource')

    def do(self):
        size = int(self.headers.get('Content-Length') or 0)
        body = self.rfile.read(size) if size else b''
        cert = getattr(self.connection, 'getpeercert', lambda: None)()
        subject = cert and {k: v for rdn in cert['subject'] for k, v in rdn}
        url = urllib.parse.urlsplit(self.path)
        self.server.requests.append(Request(self.command, url.path, url.query, subject, self.headers.items()))
        self.send(*self.answer(url.path, body))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET

    def __init__(self, requests, plain, tls=None):
        self.requests, self.plain, self.tls = requests, plain, tls
        super().__init__(('127.0.0.1', 0), Handler)

    def handle_error(self, request, client_address):
        pass

    def finish_request(self, request, client_address):
        if self.tls is None:
            return super().finish_request(request, client_address)
        request.settimeout(20)
        first = request.recv(1, socket.MSG_PEEK)
        if first and first != b'\x16':
            # Plain HTTP on the TLS port: note what was said, then reset, as a TLS server does.
            self.plain.append(request.recv(65536).decode('latin-1'))
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            request.close()
            return None
        with self.tls.wrap_socket(request, server_side=True) as secure:
            return super().finish_request(secure, client_address)

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass


def make_certificates(folder):
    """ca, s (server: localhost and api.test, no address) and c (client alice of g1)."""
    def openssl(*args):
        subprocess.run(('openssl',) + args, cwd=folder, check=True, capture_output=True)
    os.makedirs(folder)
    for padding in range(12):
        openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '30',
                '-subj', '/CN=golden-ca' + 'x' * padding, '-addext', 'basicConstraints=critical,CA:TRUE')
        with open(folder + '/ca.crt', 'rb') as f:
            size = len(base64.b64encode(f.read()).rstrip(b'='))
        if (size - 3) % 4:  # a case cuts 3 letters off and wants that to be broken base64
            break
    for name, subject, extra in (('s', '/CN=server', 'subjectAltName=DNS:localhost,DNS:api.test\n'),
                                 ('c', '/O=g1/CN=alice', '')):
        with open(folder + '/ext', 'w') as f:
            f.write('basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n' + extra)
        openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', name + '.key', '-out', name + '.csr', '-subj', subject)
        openssl('x509', '-req', '-in', name + '.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial',
                '-days', '30', '-extfile', 'ext', '-out', name + '.crt')


# --- what kubectl answered -------------------------------------------------------------------

def recorded(path):
    """{case: (rc, out, err, request line, headers)} of a recorded output file."""
    cases = {}
    with open(path, encoding='utf-8') as f:
        blocks = f.read().split('## ')[1:]
    for block in blocks:
        name, rc_out, err, req = block.rstrip('\n').split('\n')
        rc, out = re.fullmatch(r'   rc=(\S+) out=(.*)', rc_out).groups()
        line, _, headers = req[len('   req='):].partition(' | ')
        cases[name] = {
            'rc': int(rc) if rc != 'TIMEOUT' else 'TIMEOUT', 'out': unquote(out), 'err': unquote(err[len('   err='):]),
            'request': line, 'headers': [h for h in headers.split('; ') if h]}
    return cases


def unquote(text):
    import ast
    return ast.literal_eval(text)


def translate(path):
    return path.replace('/apis/x.io/v1', GROUP).replace('/ts', '/trainingjobs')


# --- errors: class and key words --------------------------------------------------------------
# (pattern of the recorded error, what an error of that meaning must match, ignoring case; groups of
# the pattern may be used as {1}). The first matching row counts.
WORDS = [
    (r'The connection to the server (\S+) was refused', [r'connection to the server {1} was refused']),
    (r'^error: stat (\S+): no such file', ['{1}', 'no such file']),
    (r'error loading config file "([^"]+)".*is a directory', ['{1}', 'directory']),
    (r'error loading config file "([^"]+)".*duplicate name "(\w+)"', ['{1}', 'duplicate', '{2}']),
    (r'error loading config file "([^"]+)": yaml', ['{1}', r'yaml|line 1|column']),
    (r'error loading config file "([^"]+)".*for version "(v2)"', ['{1}', '{2}']),
    (r'error loading config file "([^"]+)".*no kind "(Confg)"', ['{1}', '{2}']),
    (r'error loading config file "([^"]+)".*unmarshal .*\.([\w-]+) of type (\w+)', ['{1}', '{2}', '{3}|number|integer']),
    (r'error loading config file "([^"]+)".*base64', ['{1}', 'base64']),
    (r'context was not found for specified context: (\w+)', ['context', '{1}']),
    (r'auth info "(\w+)" does not exist', ['"?{1}', 'does not exist|not found']),
    (r'no server found for cluster "(\w+)"', ['cluster', '{1}']),
    (r'root certificates file with the insecure flag', ['insecure', r'root|\bCA\b|certificate']),
    (r'cannot validate certificate for ([\d.]+)', ['connect to the server', 'certificate', '{1}']),
    (r'certificate signed by unknown authority', ['connect to the server', 'certificate',
                                                 r'unknown authority|unable to get (local )?issuer|self.signed|verify failed']),
    (r'unable to parse bytes as PEM', ['PEM|certificate']),
    (r'certificate-authority-data and certificate-authority are both specified',
     ['certificate-authority-data', r'certificate-authority\b', 'both']),
    (r'unable to read certificate-authority (\S+)', ['certificate-authority|CA', '{1}', 'no such file']),
    (r'client-key-data or client-key must be specified', ['client-key', r'\bu\b']),
    (r'client-cert-data and client-cert are both', ['client-cert', r'both|/nope']),
    (r'private key does not match', ['key', 'match']),
    (r'more than one authentication method', ['more than one|both|only one', 'token', 'basic|username']),
    (r'^error: open (\S+): no such file', ['{1}', 'no such file']),
    (r'invalid header field value for "([\w-]+)"', ['{1}|token|--as', 'invalid|newline|line break|control']),
    (r'auth plugin has been removed', ['gcp', 'gke-gcloud-auth-plugin']),
    (r'no Auth Provider found for name "(\w+)"', ['auth.?provider', '{1}']),
    (r'idp-issuer-url', ['idp-issuer-url']),
    (r'interactiveMode must be specified', ['interactiveMode', r'\bu\b']),
    (r'exec plugin: invalid apiVersion "([^"]+)"', ['exec', '{1}']),
    (r'configured to use API version \S+, plugin returned version (\S+__internal)', ['exec|plugin', 'version|empty|nothing|JSON|no output']),
    (r'configured to use API version (\S+), plugin returned version (\S+)', ['{1}', '{2}']),
    (r'apiVersion must be specified for u', ['apiVersion', r'\bu\b']),
    (r'command must be specified for u', ['command', r'\bu\b']),
    (r'cannot support interactive mode: standard input is not a terminal', ['interactive', 'terminal']),
    (r'invalid interactiveMode for u: "(\w+)"', ['interactiveMode', '{1}']),
    (r'executable (nosuchplug) not found', ['{1}', 'not found', 'install foo']),
    (r'executable (\w+) not found', ['{1}', 'not found']),
    (r'executable (\S+) failed with exit code (-1)', ['{1}', r'signal|killed|exit code -1']),
    (r'executable (\S+) failed with exit code (\d+)', ['{1}', r'exit(ed)?( with)?( code| status)? {2}']),
    (r"decoding stdout: couldn't get version", ['exec|plugin|credential', 'decod|pars|JSON|YAML']),
    (r'decoding stdout: parsing time "(\w+)"', ['{1}|expirationTimestamp', 'time|date|expirationTimestamp']),
    (r"didn't return a status field", ['status']),
    (r"didn't return a token", ['token', 'cert']),
    (r'only certificate or key, not both', ['certificate', 'key', 'both|only|without']),
    (r'failed parsing client key/certificate', ['certificate|key', 'PEM|pars|invalid']),
    (r'must be logged in to the server \(Unauthorized\)', [r'must be logged in to the server \(Unauthorized\)']),
    (r'fork/exec (\S+): permission denied', ['{1}', 'permission denied']),
    (r'fork/exec (.+): no such file', ['{1}', 'no such file|not found']),
    (r'without impersonating a user', ['user|--as', 'group|uid|extra']),
    (r'Error from server \(NotFound\)', [r'Error from server \(NotFound\)', 'could not find the requested resource']),
    (r'namespace from the provided object "(\w+)" does not match the namespace "(\w+)"', ['namespace', '{1}', '{2}']),
    (r'cannot be retrieved by name across all namespaces', [r'all.namespaces|-A\b']),
    (r'host must be a URL', [r'ht!tp://x y', 'URL|server|host|port']),
    (r'lookup (\S+) on', ['connect to the server', '{1}', r'no such host|resolve']),
    (r"invalid 'proxy-url' \"([^\"]+)\" for cluster \"(\w)\"", ['proxy-url', '{1}']),
    (r'^error: EOF', [r'EOF|credential|log.?in|user|auth']),
]

# Cases in which the plugin rightly answers otherwise than kubectl 1.32 (reason).
OVERRIDE = {
}
# Nothing of these may appear in what the plugin prints.
SECRETS = re.compile(r'Bearer (?!<masked>|\[REDACTED)\S+|EXECTOK|FILETOK|INLINE|PRIVATE KEY')


class Golden:
    def __init__(self, args):
        self.args = args
        self.root = tempfile.mkdtemp(prefix='golden.')
        os.environ['GOLDEN_DIR'] = self.root
        self.base = self.root + '/kc/w'
        self.tls = self.root + '/tls'
        make_certificates(self.tls)
        self.requests, self.plain = [], []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.tls + '/s.crt', self.tls + '/s.key')
        context.load_verify_locations(self.tls + '/ca.crt')
        context.verify_mode = ssl.CERT_OPTIONAL
        self.servers = [Server(self.requests, self.plain, context), Server(self.requests, self.plain)]
        self.ports = {'18443': str(self.servers[0].server_port), '18080': str(self.servers[1].server_port)}
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.passed = self.failed = 0

    def close(self):
        for server in self.servers:
            server.shutdown()
        shutil.rmtree(self.root, ignore_errors=True)

    def run_file(self, stem):
        answers = recorded(os.path.join(self.args.golden, stem + '.out'))
        with open(os.path.join(self.args.golden, stem + '.py'), encoding='utf-8') as f:
            source = f.read()
        for old, new in self.ports.items():
            source = source.replace(old, new)
        certificate_authority, certificate, key = (
            base64.b64encode(open(self.tls + '/' + n, 'rb').read()).decode() for n in ('ca.crt', 'c.crt', 'c.key'))

        def case(name, files, args='', env=None, cmd='get t a -o name', cwd=None, stdin=subprocess.DEVNULL):
            if self.args.case and self.args.case not in name:
                return
            answer = answers.get(name)
            if answer is None:
                self.report(stem, name, ['no recorded answer'])
                return
            self.one(stem, name, answer, files, args, env, cmd, cwd, stdin)
        exec(compile(source, stem + '.py', 'exec'), {  # the case files are ours
            'case': case, 'conf': self.conf, 'K': 'home/.kube/config', 'B': self.base, 'T': self.tls,
            'CA': certificate_authority, 'CRT': certificate, 'KEY': key, 'os': os, 'textwrap': textwrap,
            'b64': lambda path: base64.b64encode(open(path, 'rb').read()).decode()})

    def conf(self, cluster=None, user=None, ctx=None, cur='c', extra=''):
        if cluster is None:
            cluster = {'server': 'https://localhost:' + self.ports['18443'], 'certificate-authority': self.tls + '/ca.crt'}
        config = {
            'apiVersion': 'v1', 'kind': 'Config', 'clusters': [{'name': 'c', 'cluster': cluster}],
            'users': [{'name': 'u', 'user': user if user is not None else {'token': 'TOK'}}],
            'contexts': [{'name': 'c', 'context': ctx if ctx is not None else {'cluster': 'c', 'user': 'u'}}]}
        if cur is not None:
            config['current-context'] = cur
        return json.dumps(config, indent=1) + extra

    def shell_line(self, cmd, args):
        """kubectl's words of a case in the plugin's."""
        line = 'kubectl ' + cmd + ' ' + args
        line = re.sub(r'kubectl version --client', 'kubectl version', line)
        line = re.sub(r'kubectl create --validate=false', 'kubectl submit', line)
        line = re.sub(r'kubectl get ts\b', 'kubectl list', line)
        line = re.sub(r'kubectl get t (\w+)', r'kubectl get \1', line)
        return line.replace('kubectl ', "'" + self.args.plugin + "' ").replace('$B', self.base)

    def one(self, stem, name, answer, files, args, env, cmd, cwd, stdin):
        shutil.rmtree(self.base, ignore_errors=True)
        os.makedirs(self.base + '/home/.kube')
        os.makedirs(self.base + '/cwd')
        for path, content in files.items():
            path = path if path.startswith('/') else self.base + '/' + path
            os.makedirs(os.path.dirname(path), exist_ok=True)
            mode = 0o644
            if isinstance(content, tuple):
                content, mode = content
            if isinstance(content, str) and 'apiVersion: x.io/v1\nkind: T\n' in content:
                content = json.dumps({k: v for k, v in job('a', 'other').items() if k != 'status'})
            with open(path, 'wb') as f:
                f.write(content if isinstance(content, bytes) else (content or '').encode())
            os.chmod(path, mode)
        environment = {'PATH': os.environ['PATH'], 'HOME': self.base + '/home'}
        for key, value in (env or {}).items():
            environment[key] = value.replace('$B', self.base)
        del self.requests[:], self.plain[:]
        process = subprocess.Popen(
            self.shell_line(cmd, args), shell=True, env=environment, cwd=cwd and cwd.replace('$B', self.base) or self.base + '/cwd',
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=25)
            rc = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # its own session: only this case's processes
            out, err = process.communicate()
            rc = 'TIMEOUT'
        got = {'rc': rc, 'out': self.normal(out).strip(), 'err': self.normal(err)}
        why = self.compare(name, answer, got)
        self.report(stem, name, why)
        if self.args.verbose:
            jobs = [r for r in self.requests if 'trainingjobs' in r.path]
            print('   recorded %r\n   got      %r\n   requests %s\n   first %s\n   plain %r' % (
                answer, got, [r.method + ' ' + r.path for r in self.requests], jobs[:1], self.plain))

    def normal(self, data):
        text = data.decode('utf-8', 'replace')
        for old, new in self.ports.items():
            text = text.replace(new, old)
        text = '\n'.join(l for l in text.split('\n') if not re.match(r'[EWI]\d{4} ', l))
        return text.replace(self.base, '$B').replace(self.tls, '$T')

    def report(self, stem, name, why):
        if why:
            self.failed += 1
            print('DIFFERENT %s: %s: %s' % (stem, name, '; '.join(why)), flush=True)
        else:
            self.passed += 1
            print('same      %s: %s' % (stem, name), flush=True)

    def compare(self, name, answer, got):
        want = dict(answer)
        want['words'] = self.words(answer['err'])
        want['request'] = translate(answer['request'])
        if name in OVERRIDE and (not self.args.as_kubectl or name == 'KUBERNETES_MASTER env'):
            want.update(OVERRIDE[name][1])
        why = []
        if SECRETS.search(got['err']) and 'duplicate user name' not in name:
            why.append('a secret is printed')
        if want['rc'] == 'TIMEOUT':
            return why + self.no_credentials_over_plain(got)
        if got['rc'] not in (want['rc'] if isinstance(want['rc'], tuple) else (want['rc'],)):
            why.append('exit status %s, want %s' % (got['rc'], want['rc']))
        why += self.compare_out(name, want['out'], got)
        for word in want['words']:
            if not re.search(word, got['err'], re.I | re.S):
                why.append('error lacks /%s/: %r' % (word, got['err'].strip()[:160]))
        if 'installHint' in name and '\x1b' in got['err']:
            why.append('ESC is not escaped')
        why += self.compare_stderr_dump(name, answer['err'], got['err'])
        return why + self.compare_request(name, want)

    def words(self, err):
        for pattern, words in WORDS:
            found = re.search(pattern, err, re.M | re.S)
            if found:
                groups = ('',) + tuple(re.escape(g) for g in found.groups())
                return [re.sub(r'\{(\d)\}', lambda m: groups[int(m.group(1))], w) for w in words]
        if err.startswith(('error', 'Error', 'Unable')):
            raise SystemExit('check.py: no key words for the recorded error %r' % err)
        return []

    def no_credentials_over_plain(self, got):
        """kubectl hangs here (it retries resets); the meaning: plain HTTP, no credential, no success."""
        why = []
        if got['rc'] == 0:
            why.append('exit status 0 without an answer')
        if not self.plain:
            why.append('no plain HTTP request')
        if any(re.search(r'^authorization:', p, re.I | re.M) for p in self.plain):
            why.append('credentials sent over plain HTTP')
        return why

    def compare_out(self, name, want, got):
        out = got['out']
        if 'how many calls' in name or '401 from server' in name:
            calls = int((re.findall(r'^\s*(\d+)$', out, re.M) or ['-1'])[-1])
            if 'expired' in name:
                good = 1 <= calls <= 2 * len(self.requests)  # real kubectl: 7 for 5
                return [] if good else ['%d calls of the plugin for %d requests' % (calls, len(self.requests))]
            wanted = int(want.split()[-1])
            return [] if calls == wanted else ['%d calls of the credential plugin, want %d' % (calls, wanted)]
        want = want.replace('t.x.io/a', 'trainingjob.kai.alibabacloud.com/a')
        if want.startswith('Please enter'):
            want, out = '', out.replace('Please enter Username:', '').strip()  # a prompt is no must
        return [] if out == want else ['stdout %r, want %r' % (out[:120], want)]

    def compare_stderr_dump(self, name, want, got):
        """What the credential plugin of the case wrote to stderr passes through."""
        why = []
        if '{"kind":"ExecCredential"' in want and not want.startswith('Unable'):
            def first_json(text):
                start = text.find('{"') if '{"' in text else text.find('{')
                return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else None
            try:
                value = first_json(got)
            except ValueError as e:
                value = str(e)
            expected = first_json(want)
            if value != expected:
                why.append('KUBERNETES_EXEC_INFO %s, want %s' % (json.dumps(value), json.dumps(expected)))
        for pattern in (r'^bar ', r'^boom$', r'^\$B/cwd$', r'^0$'):
            if re.search(pattern, want, re.M) and not re.search(pattern, got, re.M):
                why.append('stderr of the credential plugin lost (%s)' % pattern)
        return why

    def compare_request(self, name, want):
        jobs = [r for r in self.requests if 'trainingjobs' in r.path and '/namespaces/' in r.path or r.path.endswith('/trainingjobs')]
        if not want['request']:
            return ['a request was sent: %s %s' % jobs[0][:2]] if jobs else []
        if not jobs:
            return ['no request to the trainingjobs path']
        first = jobs[0]
        method, path, cert = re.fullmatch(r'(\S+) (\S+) CERT=(.*)', want['request']).groups()
        why = []
        path = urllib.parse.urlsplit(path).path
        if (first.method, first.path) != (method, path):
            why.append('request %s %s, want %s %s' % (first.method, first.path, method, path))
        want_cert = {} if cert == 'None' else {k: v for rdn in unquote(cert) for k, v in rdn}
        if (first.cert or {}) != want_cert:
            why.append('client certificate %s, want %s' % (first.cert, want_cert))

        def pick(headers):
            kept = {}
            for key, value in headers:
                if re.match(r'authorization$|impersonate-', key, re.I):
                    kept.setdefault(key.lower(), []).append(value)
            return kept
        wanted = pick(h.split(': ', 1) for h in want['headers'])
        got = pick(first.headers)
        if got != wanted:
            why.append('headers %s, want %s' % (got, wanted))
        if name == 'disable-compression':
            coding = [v for k, v in first.headers if k.lower() == 'accept-encoding' and v != 'identity']
            if coding:
                why.append('Accept-Encoding %s' % coding)
        return why


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--plugin', required=True)
    parser.add_argument('--golden', default=os.environ.get('GOLDEN_CASES'), help='folder of c1.py and c1.out')
    parser.add_argument('--only', default='c1')
    parser.add_argument('--case', help='only cases whose name holds this text')
    parser.add_argument('--as-kubectl', action='store_true', help='the plugin is a shim over kubectl: compare with the recorded answers as they are')
    parser.add_argument('-v', '--verbose', action='store_true')
    args = parser.parse_args()
    if not args.golden:
        parser.error('--golden DIR (or GOLDEN_CASES) is needed')
    args.plugin = os.path.abspath(args.plugin)
    try:
        with socket.create_connection(('localhost', 8080), 2):
            parser.error('something listens on localhost:8080: the cases need it refused')
    except OSError:
        pass
    golden = Golden(args)
    try:
        for stem in args.only.split(','):
            golden.run_file(stem)
    finally:
        golden.close()
    print('%d passed, %d failed' % (golden.passed, golden.failed))
    return 1 if golden.failed else 0


if __name__ == '__main__':
    sys.exit(main())
