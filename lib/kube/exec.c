/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/limits.h"
#include "kube/tls.h"
#include "wire/base64.h"
#include "wire/time.h"

#define API_V1 "client.authentication.k8s.io/v1"
#define API_V1BETA1 "client.authentication.k8s.io/v1beta1"
#define EXTENSION "client.authentication.k8s.io/exec"
#define FAILED "Unable to connect to the server: getting credentials: "

/* The plugin gets the caller's environment; nothing here reads or changes ours. */
extern char **environ;

void exec_cred_release(struct exec_cred *c)
{
	buf_wipe(&c->token);
	buf_wipe(&c->cert_pem);
	buf_wipe(&c->key_pem);
	c->expires_ms = INT64_MAX;
}

PRINTF(3, 4) static int add_problem(struct strs *problems, struct err *err, const char *fmt, ...)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (buf_check(&text, err) < 0)
		return -1;
	return strs_add(problems, buf_text(&text), err);
}

static const char *interactive_mode(const cJSON *exec)
{
	const char *mode = json_get_str(exec, "interactiveMode", "");

	if (!mode[0] && str_eq(json_get_str(exec, "apiVersion", ""), API_V1BETA1))
		return "IfAvailable";
	return mode;
}

int exec_check(const cJSON *exec, const char *user, struct strs *problems, struct err *err)
{
	static const char to_use[] = "to use exec authentication plugin";
	const char *version = json_get_str(exec, "apiVersion", "");
	const char *mode = interactive_mode(exec);
	size_t before = problems->n;
	const cJSON *env;

	if (!json_get_str(exec, "command", "")[0] &&
	    add_problem(problems, err, "command must be specified for %s %s", user, to_use) < 0)
		return -1;
	if (!version[0] &&
	    add_problem(problems, err, "apiVersion must be specified for %s %s", user, to_use) < 0)
		return -1;
	json_each (env, json_get(exec, "env")) {
		if (json_get_str(env, "name", "")[0])
			continue;
		if (add_problem(problems, err, "env variable name must be specified for %s %s",
				user, to_use) < 0)
			return -1;
	}
	if (!mode[0]) {
		if (add_problem(problems, err, "interactiveMode must be specified for %s %s", user,
				to_use) < 0)
			return -1;
	} else if (!str_eq(mode, "Never") && !str_eq(mode, "IfAvailable") &&
		   !str_eq(mode, "Always")) {
		if (add_problem(problems, err, "invalid interactiveMode for %s: \"%s\"", user,
				mode) < 0)
			return -1;
	}
	if (problems->n == before && !str_eq(version, API_V1) && !str_eq(version, API_V1BETA1))
		return add_problem(problems, err, "exec plugin: invalid apiVersion \"%s\"",
				   version);
	return 0;
}

/* --- what the plugin is told ---------------------------------------------- */

static int put_cluster(const struct kube_config *c, cJSON *spec, struct err *err)
{
	AUTO(buf) struct buf ca = BUF_INIT(LIMIT_OBJECT);
	cJSON *cluster = json_need_object(spec, "cluster", err);
	const cJSON *ext, *found = NULL;
	cJSON *copy;

	if (!cluster || json_set_str(cluster, "server", c->server, err) < 0)
		return -1;
	if (c->tls_server_name &&
	    json_set_str(cluster, "tls-server-name", c->tls_server_name, err) < 0)
		return -1;
	if (c->insecure && json_set_bool(cluster, "insecure-skip-tls-verify", true, err) < 0)
		return -1;
	if (c->proxy_url && json_set_str(cluster, "proxy-url", c->proxy_url, err) < 0)
		return -1;
	if (c->disable_compression && json_set_bool(cluster, "disable-compression", true, err) < 0)
		return -1;
	base64_encode(&ca, c->ca_pem.data, c->ca_pem.len);
	if (buf_check(&ca, err) < 0)
		return -1;
	if (ca.len && json_set_str(cluster, "certificate-authority-data", buf_text(&ca), err) < 0)
		return -1;
	json_each (ext, json_get(c->cluster_json, "extensions")) {
		if (str_eq(json_get_str(ext, "name", ""), EXTENSION))
			found = json_get(ext, "extension");
	}
	copy = found ? json_copy(found, err) : cJSON_CreateNull();
	return copy ? json_set(cluster, "config", copy, err) : err_nomem(err);
}

static int exec_info(const struct kube_config *c, bool interactive, struct buf *out,
		     struct err *err)
{
	AUTO_JSON cJSON *info = cJSON_CreateObject();
	cJSON *spec;

	if (!info)
		return err_nomem(err);
	if (json_set_str(info, "kind", "ExecCredential", err) < 0 ||
	    json_set_str(info, "apiVersion", json_get_str(c->exec, "apiVersion", ""), err) < 0)
		return -1;
	spec = json_need_object(info, "spec", err);
	if (!spec || json_set_bool(spec, "interactive", interactive, err) < 0)
		return -1;
	if (json_get_bool(c->exec, "provideClusterInfo", false) && put_cluster(c, spec, err) < 0)
		return -1;
	return json_print(info, out, err);
}

static bool same_name(const char *pair, const char *name)
{
	size_t n = strlen(name);

	return strncmp(pair, name, n) == 0 && pair[n] == '=';
}

static bool overridden(const cJSON *exec, const char *pair)
{
	const cJSON *e;

	if (same_name(pair, "KUBERNETES_EXEC_INFO"))
		return true;
	json_each (e, json_get(exec, "env")) {
		if (same_name(pair, json_get_str(e, "name", "")))
			return true;
	}
	return false;
}

static int make_env(const struct kube_config *c, bool interactive, struct strs *out,
		    struct err *err)
{
	AUTO(buf) struct buf info = BUF_INIT(LIMIT_OBJECT);
	const cJSON *e;

	for (char **p = environ; *p; p++)
		if (!overridden(c->exec, *p) && strs_add(out, *p, err) < 0)
			return -1;
	json_each (e, json_get(c->exec, "env")) {
		AUTO(buf) struct buf pair = BUF_INIT(LIMIT_OBJECT);

		buf_printf(&pair, "%s=%s", json_get_str(e, "name", ""),
			   json_get_str(e, "value", ""));
		if (buf_check(&pair, err) < 0 || strs_add(out, buf_text(&pair), err) < 0)
			return -1;
	}
	buf_str(&info, "KUBERNETES_EXEC_INFO=");
	if (exec_info(c, interactive, &info, err) < 0)
		return -1;
	return strs_add(out, buf_text(&info), err);
}

static int make_argv(const struct kube_config *c, struct strs *out, struct err *err)
{
	const cJSON *arg;

	if (strs_add(out, json_get_str(c->exec, "command", ""), err) < 0)
		return -1;
	json_each (arg, json_get(c->exec, "args")) {
		const char *text = json_str(arg);

		if (strs_add(out, text ? text : "", err) < 0)
			return -1;
	}
	return 0;
}

/* The NULL-terminated array that posix_spawn wants; borrowed strings. */
static char **vector(const struct strs *s, struct err *err)
{
	char **v = calloc(s->n + 1, sizeof(*v));

	if (!v) {
		(void)err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i];
	return v;
}

/* --- finding and running it ----------------------------------------------- */

static int not_found(const struct kube_config *c, struct err *err)
{
	const char *hint = json_get_str(c->exec, "installHint", "");
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	for (const char *p = hint; *p; p++)
		buf_char(&text, *p == '\n' ? ' ' : *p);
	return err_set(err, FAIL_CONFIG, FAILED "exec: executable %s not found%s%s",
		       json_get_str(c->exec, "command", ""), text.len ? ": " : "", buf_text(&text));
}

static const char *env_path(void)
{
	for (char **p = environ; *p; p++)
		if (same_name(*p, "PATH"))
			return *p + strlen("PATH=");
	return "";
}

/* Only absolute entries of PATH are searched: a plugin is not taken from where we happen to be. */
static int find_program(const struct kube_config *c, struct buf *out, struct err *err)
{
	const char *command = json_get_str(c->exec, "command", "");
	AUTO(strs) struct strs dirs = STRS_INIT;

	if (strchr(command, '/')) {
		if (command[0] != '/' && c->exec_dir)
			buf_printf(out, "%s/", c->exec_dir);
		buf_str(out, command);
		if (buf_check(out, err) < 0)
			return -1;
		if (access(buf_text(out), X_OK) < 0)
			return err_set(err, FAIL_CONFIG, FAILED "exec: fork/exec %s: %s",
				       buf_text(out), err_os_text(errno));
		return 0;
	}
	if (strs_split(&dirs, env_path(), ':', false, err) < 0)
		return -1;
	for (size_t i = 0; i < dirs.n; i++) {
		struct stat st;

		if (dirs.v[i][0] != '/')
			continue;
		buf_clear(out);
		buf_printf(out, "%s/%s", dirs.v[i], command);
		if (buf_check(out, err) < 0)
			return -1;
		if (stat(buf_text(out), &st) == 0 && S_ISREG(st.st_mode) &&
		    access(buf_text(out), X_OK) == 0)
			return 0;
	}
	return not_found(c, err);
}

static int spawn(const char *program, char **argv, char **envp, int out_fd, bool interactive,
		 pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	rc = posix_spawn_file_actions_init(&files);
	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc) {
		(void)posix_spawn_file_actions_destroy(&files); /* can not fail */
		return rc;
	}
	/* The program may have blocked signals for its loop: a plugin must die of Ctrl-C. */
	(void)sigemptyset(&none); /* these two can not fail */
	(void)sigfillset(&all);
	rc = posix_spawnattr_setsigmask(&attr, &none);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(&attr, &all);
	if (!rc)
		rc = posix_spawnattr_setflags(&attr,
					      POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!rc && !interactive)
		rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&files, out_fd, 1);
	if (!rc)
		rc = posix_spawn(pid, program, &files, &attr, argv, envp);
	(void)posix_spawnattr_destroy(&attr); /* can not fail */
	(void)posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Reads to the end; what exceeds the cap is thrown away, so that the plugin can end. */
static int drain(int fd, struct buf *out, struct err *err)
{
	char piece[4096];

	for (;;) {
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(err, errno, FAILED "reading from the credential plugin");
		if (n == 0 && out->fail == FAIL_LIMIT)
			return err_set(err, FAIL_CONFIG,
				       FAILED "the credential plugin printed more than %zu bytes",
				       out->cap);
		if (n == 0)
			return buf_check(out, err);
		buf_add(out, piece, (size_t)n);
	}
}

static int wait_for(pid_t pid, const char *program, struct err *err)
{
	int status;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_os(err, errno, FAILED "waiting for the credential plugin");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec: executable %s was killed by signal %d", program,
			       WTERMSIG(status));
	return err_set(err, FAIL_CONFIG, FAILED "exec: executable %s failed with exit code %d",
		       program, WEXITSTATUS(status));
}

static int run(const struct kube_config *c, const char *program, bool interactive, struct buf *out,
	       struct err *err)
{
	const char *command = json_get_str(c->exec, "command", "");
	AUTO(strs) struct strs args = STRS_INIT;
	AUTO(strs) struct strs env = STRS_INIT;
	AUTO_FREE char **argv = NULL;
	AUTO_FREE char **envp = NULL;
	struct err read_err = ERR_INIT;
	int fds[2], rc, read_rc;
	pid_t pid;

	if (make_argv(c, &args, err) < 0 || make_env(c, interactive, &env, err) < 0)
		return -1;
	argv = vector(&args, err);
	envp = argv ? vector(&env, err) : NULL;
	if (!envp)
		return -1;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_os(err, errno, FAILED "pipe");
	rc = spawn(program, argv, envp, fds[1], interactive, &pid);
	(void)close(fds[1]); /* nothing of ours was written to it */
	if (rc) {
		(void)close(fds[0]);
		return rc == ENOENT && !strchr(command, '/')
			       ? not_found(c, err)
			       : err_set(err, FAIL_CONFIG, FAILED "exec: fork/exec %s: %s", program,
					 err_os_text(rc));
	}
	read_rc = drain(fds[0], out, &read_err);
	(void)close(fds[0]);
	if (wait_for(pid, command, err) < 0)
		return -1;
	if (read_rc < 0 && err)
		*err = read_err;
	return read_rc;
}

/* --- what it answers ------------------------------------------------------ */

static int read_expiry(const cJSON *status, struct exec_cred *cred, struct err *err)
{
	const char *text = json_get_str(status, "expirationTimestamp", NULL);

	if (text && time_parse(text, &cred->expires_ms, NULL) < 0)
		return err_set(err, FAIL_CONFIG,
			       FAILED "decoding stdout: parsing time \"%s\" of "
				      "expirationTimestamp as RFC 3339",
			       text);
	return 0;
}

static int read_status(const cJSON *status, struct exec_cred *cred, struct err *err)
{
	const char *token = json_get_str(status, "token", "");
	const char *cert = json_get_str(status, "clientCertificateData", "");
	const char *key = json_get_str(status, "clientKeyData", "");

	if (!status)
		return err_set(err, FAIL_CONFIG, FAILED "exec plugin didn't return a status field");
	if (!token[0] && !cert[0] && !key[0])
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec plugin didn't return a token or cert/key pair");
	if (!cert[0] != !key[0])
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec plugin returned only certificate or key, not both");
	if (read_expiry(status, cred, err) < 0)
		return -1;
	buf_str(&cred->token, token);
	buf_str(&cred->cert_pem, cert);
	buf_str(&cred->key_pem, key);
	if (buf_check(&cred->token, err) < 0 || buf_check(&cred->cert_pem, err) < 0 ||
	    buf_check(&cred->key_pem, err) < 0)
		return -1;
	if (cert[0] && tls_check_pair(&cred->cert_pem, &cred->key_pem, err) < 0)
		return err_wrap(err, FAILED "failed parsing client key/certificate");
	return 0;
}

static int read_answer(const struct kube_config *c, const struct buf *text, struct exec_cred *cred,
		       struct err *err)
{
	const char *want = json_get_str(c->exec, "apiVersion", "");
	AUTO_JSON cJSON *answer = NULL;
	struct err bad = ERR_INIT;
	const char *version;

	if (text->len == 0)
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec plugin is configured to use API version %s, plugin "
				      "returned version client.authentication.k8s.io/__internal "
				      "(it printed nothing)",
			       want);
	/* The parser's text may quote what was printed, which may be a secret: leave it out. */
	if (json_parse_lenient(buf_text(text), text->len, &answer, &bad) < 0)
		return bad.fail == FAIL_NOMEM
			       ? err_nomem(err)
			       : err_set(err, FAIL_CONFIG,
					 FAILED "decoding stdout: couldn't get version/kind; json "
						"parse error: it is no JSON document");
	version = json_get_str(answer, "apiVersion", "");
	if (!str_eq(version, want) || !str_eq(json_get_str(answer, "kind", ""), "ExecCredential"))
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec plugin is configured to use API version %s, plugin "
				      "returned version %s",
			       want, version[0] ? version : "(none)");
	return read_status(json_get(answer, "status"), cred, err);
}

int exec_run(const struct kube_config *config, struct exec_cred *out, struct err *err)
{
	const char *mode = interactive_mode(config->exec);
	AUTO(buf) struct buf program = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	struct exec_cred cred = EXEC_CRED_INIT;
	bool tty = isatty(0) == 1;
	int rc;

	if (str_eq(mode, "Always") && !tty)
		return err_set(err, FAIL_CONFIG,
			       FAILED "exec plugin cannot support interactive mode: standard "
				      "input is not a terminal");
	cred.token = BUF_INIT(LIMIT_OBJECT);
	cred.cert_pem = BUF_INIT(LIMIT_OBJECT);
	cred.key_pem = BUF_INIT(LIMIT_OBJECT);
	if (find_program(config, &program, err) < 0)
		return -1;
	rc = run(config, buf_text(&program), tty && !str_eq(mode, "Never"), &text, err);
	if (rc == 0)
		rc = read_answer(config, &text, &cred, err);
	buf_wipe(&text);
	if (rc < 0) {
		exec_cred_release(&cred);
		return -1;
	}
	*out = cred;
	return 0;
}
