/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "fault.h"
#include "kube/config.h"
#include "kube/exec.h"
#include "unit.h"

/* A scratch folder and an environment; the stand-in for getenv has no argument for them. */
static char scratch[64];
static const char *fake_env[16]; /* name, value, ..., NULL */

static char *env_get(const char *name)
{
	for (size_t i = 0; fake_env[i]; i += 2)
		if (str_eq(fake_env[i], name))
			return (char *)(uintptr_t)fake_env[i + 1];
	return NULL;
}

static const char *path_of(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *out = paths[next++ % 8];

	(void)snprintf(out, sizeof(paths[0]), "%s/%s", scratch, name);
	return out;
}

static void put_mode(const char *name, const char *text, unsigned mode)
{
	struct err err = ERR_INIT;

	unit_assert_ok(file_write(path_of(name), text, strlen(text), mode, &err), &err);
}

static void put(const char *name, const char *text)
{
	put_mode(name, text, 0600);
}

static int set_up(void **state)
{
	(void)snprintf(scratch, sizeof(scratch), "/tmp/etjob-config-XXXXXX");
	if (!mkdtemp(scratch))
		return -1;
	memset(fake_env, 0, sizeof(fake_env));
	fake_env[0] = "HOME";
	fake_env[1] = scratch;
	return mkdir(path_of(".kube"), 0700);
}

static int tear_down(void **state)
{
	static const char *const names[] = { ".kube/config", ".kube/kuberc", ".kube/tok", "a", "b",
					     "plugin",       "count",        "count.tmp" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (unlink(path_of(names[i])) < 0 && errno != ENOENT)
			return -1;
	return rmdir(path_of(".kube")) < 0 || rmdir(scratch) < 0 ? -1 : 0;
}

#define CONFIG(user)                                                             \
	"apiVersion: v1\nkind: Config\ncurrent-context: c\n"                     \
	"clusters: [{name: c, cluster: {server: 'https://h:6443'}}]\n"           \
	"contexts: [{name: c, context: {cluster: c, user: u, namespace: ns}}]\n" \
	"users: [{name: u, user: " user "}]\n"

static void load(const struct kube_flags *flags, struct kube_config *out)
{
	struct err err = ERR_INIT;

	unit_assert_ok(kube_config_load(flags, env_get, out, &err), &err);
}

static void load_fails(const struct kube_flags *flags, const char *part)
{
	struct kube_config c = KUBE_CONFIG_INIT;
	struct err err = ERR_INIT;

	unit_assert_fails(kube_config_load(flags, env_get, &c, &err), &err, FAIL_CONFIG, part);
	assert_null(c.server); /* untouched */
}

static void a_context_gives_server_user_and_namespace(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;

	put(".kube/config", CONFIG("{token: T}"));
	load(&(struct kube_flags){ 0 }, &c);
	assert_string_equal(c.server, "https://h:6443");
	assert_string_equal(c.token, "T");
	assert_string_equal(c.ns, "ns");
	assert_string_equal(c.context, "c");
	assert_string_equal(c.cluster_name, "c");
	assert_string_equal(c.user_name, "u");
	assert_false(c.ns_given);
	assert_false(c.in_cluster);
}

static void no_file_at_all_is_the_server_of_old_on_localhost(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;

	load(&(struct kube_flags){ 0 }, &c);
	assert_string_equal(c.server, "http://localhost:8080");
	assert_string_equal(c.ns, "default");
	assert_null(c.token);
}

static void flags_come_before_the_file(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	const char *const groups[] = { "g1", "g2" };
	const char *const extras[] = { "k=v" };

	put(".kube/config",
	    CONFIG("{token: T, as: old, as-groups: [g0], as-user-extra: {scopes: [a, b]}}"));
	load(&(struct kube_flags){ .server = "https://other:1",
				   .token = "T2",
				   .namespace_ = "n2",
				   .as = "jane",
				   .as_group = groups,
				   .n_as_group = 2,
				   .as_user_extra = extras,
				   .n_as_user_extra = 1,
				   .request_timeout_s = 7 },
	     &c);
	assert_string_equal(c.server, "https://other:1");
	assert_string_equal(c.token, "T2");
	assert_string_equal(c.ns, "n2");
	assert_true(c.ns_given);
	assert_string_equal(c.as, "jane");
	assert_int_equal(c.as_groups.n, 2);
	assert_string_equal(c.as_groups.v[1], "g2");
	assert_int_equal(c.as_extras.n, 1);
	assert_string_equal(c.as_extras.v[0], "k=v");
	assert_int_equal(c.request_timeout_s, 7);
}

static void impersonation_comes_from_the_file_too(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;

	put(".kube/config",
	    CONFIG("{token: T, as: j, as-uid: '1', as-groups: [g0], as-user-extra: {s: [a, b]}}"));
	load(&(struct kube_flags){ 0 }, &c);
	assert_string_equal(c.as, "j");
	assert_string_equal(c.as_uid, "1");
	assert_string_equal(c.as_groups.v[0], "g0");
	assert_int_equal(c.as_extras.n, 2);
	assert_string_equal(c.as_extras.v[1], "s=b");
}

static void groups_without_a_user_are_refused(void **state)
{
	put(".kube/config", CONFIG("{token: T, as-groups: [g0]}"));
	load_fails(&(struct kube_flags){ 0 }, "without impersonating a user");
}

static void files_are_merged_and_the_first_stanza_wins(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	AUTO(strs) struct strs names = STRS_INIT;
	struct err err = ERR_INIT;
	char list[256];

	put("a", "users: [{name: u, user: {username: a, password: b}}]\ncurrent-context: ''\n"
		 "contexts: [{name: a-first, context: null}]\n");
	put("b", CONFIG("{token: T}"));
	(void)snprintf(list, sizeof(list), ":%s::%s:%s:%s", path_of("a"), path_of("nope"),
		       path_of("b"), path_of("a"));
	fake_env[2] = "KUBECONFIG";
	fake_env[3] = list;
	load(&(struct kube_flags){ 0 }, &c);
	assert_null(c.token);
	assert_string_equal(c.username, "a");
	assert_string_equal(c.password, "b");
	assert_string_equal(c.server, "https://h:6443");
	unit_assert_ok(kube_config_contexts(&(struct kube_flags){ 0 }, env_get, &names, &err),
		       &err);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.v[0], "a-first");
	assert_string_equal(names.v[1], "c");
}

static void faults_are_told_in_kubectls_words(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "a: [", "\": yaml: " },
		{ "- a\n", "cannot unmarshal array into Go value of type v1.Config" },
		{ "apiVersion: v2\n", "no kind \"Config\" is registered for version \"v2\"" },
		{ "kind: Confg\n", "no kind \"Confg\" is registered for version \"v1\"" },
		{ CONFIG("{token: 12}"), "json: cannot unmarshal number into Go struct field "
					 "AuthInfo.users.user.token of type string" },
		{ CONFIG("{exec: {args: [1]}}"), "ExecConfig.users.user.exec.args of type string" },
		{ "clusters: [{name: c, cluster: {certificate-authority-data: '%%'}}]\n",
		  "illegal base64 data at input byte 0" },
		{ "users: [{name: u, user: {}}, {name: u, user: {}}]\n", "duplicate name \"u\"" },
		{ "current-context: zz\n", "Error in configuration: context was not found for "
					   "specified context: zz" },
		{ CONFIG("{token: T, username: a}"), "more than one authentication method" },
		{ CONFIG("{}"), "no credentials for user \"u\"" },
		{ CONFIG("{client-key-data: aGk=}"), "no credentials for user \"u\"" },
		{ CONFIG("{tokenFile: nope}"), "/.kube/nope: no such file or directory" },
		{ CONFIG("{auth-provider: {name: gcp}}"), "gke-gcloud-auth-plugin" },
		{ CONFIG("{auth-provider: {name: zzz}}"),
		  "no Auth Provider found for name \"zzz\"" },
		{ CONFIG("{exec: {command: a, apiVersion: client.authentication.k8s.io/v1}}"),
		  "interactiveMode must be specified for u" },
		{ CONFIG("{exec: {command: a, apiVersion: x/v9, interactiveMode: Never}}"),
		  "exec plugin: invalid apiVersion \"x/v9\"" },
		{ CONFIG("{client-certificate-data: aGk=, client-certificate: /nope/x}"),
		  "Error in configuration: client-cert-data and client-cert are both specified "
		  "for u. client-cert-data will override.; client-key-data or client-key must be" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(".kube/config", cases[i].text);
		load_fails(&(struct kube_flags){ 0 }, cases[i].part);
	}
	put(".kube/config", CONFIG("{token: T}"));
	load_fails(&(struct kube_flags){ .kubeconfig = "/nope" },
		   "stat /nope: no such file or directory");
	load_fails(&(struct kube_flags){ .context = "x" }, "specified context: x");
	load_fails(&(struct kube_flags){ .user = "x" }, "auth info \"x\" does not exist");
	load_fails(&(struct kube_flags){ .cluster = "x" }, "no server found for cluster \"x\"");
	load_fails(&(struct kube_flags){ .server = "ht!tp://x y" },
		   "host must be a URL or a host:port pair: \"ht!tp://x y\"");
	load_fails(&(struct kube_flags){ .proxy_url = "ftp://x" },
		   "invalid 'proxy-url' \"ftp://x\" for cluster \"c\"");
}

static void a_secret_is_never_part_of_an_error(void **state)
{
	struct kube_config c = KUBE_CONFIG_INIT;
	struct err err = ERR_INIT;

	put(".kube/config", "users: [{name: u, user: {token: SECRET, username: a}}]\n"
			    "current-context: c\ncontexts: [{name: c, context: {user: u, cluster: "
			    "c}}]\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n");
	assert_int_equal(kube_config_load(&(struct kube_flags){ 0 }, env_get, &c, &err), -1);
	assert_null(strstr(err.msg, "SECRET"));
}

static void over_http_there_are_no_credentials(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;

	put(".kube/config", CONFIG("{token: T}"));
	load(&(struct kube_flags){ .server = "http://h:80" }, &c);
	assert_null(c.token);
	assert_null(c.exec);
}

static void a_bare_host_and_port_gets_a_scheme(void **state)
{
	AUTO(kube_config) struct kube_config plain = KUBE_CONFIG_INIT;
	AUTO(kube_config) struct kube_config tls = KUBE_CONFIG_INIT;

	load(&(struct kube_flags){ .server = "h:80" }, &plain);
	assert_string_equal(plain.server, "http://h:80");
	load(&(struct kube_flags){ .server = "h:80",
				   .insecure_skip_tls_verify = true,
				   .token = "T" },
	     &tls);
	assert_string_equal(tls.server, "https://h:80");
}

static void the_token_file_comes_before_the_token(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	AUTO(kube_config) struct kube_config without = KUBE_CONFIG_INIT;

	put(".kube/tok", "FILE\n");
	put(".kube/config", CONFIG("{token: T, tokenFile: tok}"));
	load(&(struct kube_flags){ 0 }, &c);
	assert_string_equal(c.token_file, path_of(".kube/tok"));
	put(".kube/config", CONFIG("{token: T, tokenFile: nope}"));
	load(&(struct kube_flags){ 0 }, &without);
	assert_null(without.token_file);
	assert_string_equal(without.token, "T");
}

/* --- exec plugins --------------------------------------------------------- */

#define EXEC(more)                                                              \
	CONFIG("{exec: {command: ./../plugin, "                                 \
	       "apiVersion: client.authentication.k8s.io/v1, interactiveMode: " \
	       "Never" more "}}")

static void run_plugin(const char *config, const char *script, struct exec_cred *cred)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	struct err err = ERR_INIT;

	put(".kube/config", config);
	put_mode("plugin", script, 0700);
	load(&(struct kube_flags){ 0 }, &c);
	unit_assert_ok(exec_run(&c, cred, &err), &err);
}

static void plugin_mode_fails(const char *script, unsigned mode, const char *part)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	struct exec_cred cred = EXEC_CRED_INIT;
	struct err err = ERR_INIT;

	put(".kube/config", EXEC(""));
	put_mode("plugin", script, mode);
	load(&(struct kube_flags){ 0 }, &c);
	unit_assert_fails(exec_run(&c, &cred, &err), &err, FAIL_CONFIG, part);
	assert_null(strstr(err.msg, "SECRET"));
}

static void plugin_fails(const char *script, const char *part)
{
	plugin_mode_fails(script, 0700, part);
}

#define ANSWER(status)                                                                          \
	"#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication." \
	"k8s.io/v1\"" status "}'\n"

static void a_plugin_gives_a_token_until_it_expires(void **state)
{
	AUTO(exec_cred) struct exec_cred cred = EXEC_CRED_INIT;

	run_plugin(EXEC(""),
		   ANSWER(",\"status\":{\"token\":\"X\",\"expirationTimestamp\":"
			  "\"2026-01-02T03:04:05Z\"}"),
		   &cred);
	assert_string_equal(buf_text(&cred.token), "X");
	assert_int_equal(cred.expires_ms, INT64_C(1767323045000));
	assert_int_equal(cred.cert_pem.len, 0);
}

static void a_plugin_is_run_without_a_shell_and_told_about_the_cluster(void **state)
{
	AUTO(exec_cred) struct exec_cred cred = EXEC_CRED_INIT;
	AUTO_JSON cJSON *info = NULL;

	/* The script gives back what it was told as its token. */
	run_plugin("current-context: c\n"
		   "clusters: [{name: c, cluster: {server: 'https://h:6443', extensions: [{name: "
		   "client.authentication.k8s.io/exec, extension: {audience: x}}]}}]\n"
		   "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
		   "users: [{name: u, user: {exec: {command: ../plugin, args: ['$(id); a b'], env: "
		   "[{name: FOO, value: 'x y'}], apiVersion: client.authentication.k8s.io/v1beta1, "
		   "provideClusterInfo: true, interactiveMode: Never}}}]\n",
		   "#!/bin/sh\n"
		   "[ \"$1\" = '$(id); a b' ] && [ \"$FOO\" = 'x y' ] || exit 1\n"
		   "t=$(printf %s \"$KUBERNETES_EXEC_INFO\" | sed 's/\"/\\\\\"/g')\n"
		   "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication."
		   "k8s.io/v1beta1\",\"status\":{\"token\":\"%s\"}}' \"$t\"\n",
		   &cred);
	info = unit_json(buf_text(&cred.token));
	unit_assert_json(info, "{\"kind\":\"ExecCredential\",\"apiVersion\":"
			       "\"client.authentication.k8s.io/v1beta1\",\"spec\":{"
			       "\"interactive\":false,\"cluster\":{\"server\":\"https://h:6443\","
			       "\"config\":{\"audience\":\"x\"}}}}");
}

static void what_a_plugin_does_wrong_is_said(void **state)
{
	plugin_mode_fails("#!/bin/sh\n", 0600, "fork/exec");
	plugin_fails("#!/bin/sh\nexit 3\n", "plugin failed with exit code 3");
	plugin_fails("#!/bin/sh\nkill -9 $$\n", "plugin was killed by signal 9");
	plugin_fails("#!/bin/sh\necho SECRET\n", "couldn't get version/kind; json parse error");
	plugin_fails("#!/bin/sh\n", "plugin returned version");
	if (getenv("UNDER_VALGRIND"))
		print_message("skipped: valgrind does not survive an exec that fails\n");
	else
		plugin_fails(ANSWER(""), "didn't return a status field");
	plugin_fails(ANSWER(",\"status\":{}"), "didn't return a token or cert/key pair");
	plugin_fails(ANSWER(",\"status\":{\"clientKeyData\":\"SECRET\"}"),
		     "returned only certificate or key, not both");
	plugin_fails(ANSWER(",\"status\":{\"token\":\"SECRET\",\"expirationTimestamp\":\"soon\"}"),
		     "parsing time \"soon\"");
	plugin_fails(ANSWER(",\"status\":{\"clientKeyData\":\"SECRET\","
			    "\"clientCertificateData\":\"x\"}"),
		     "failed parsing client key/certificate");
	plugin_fails("#!/bin/sh\nhead -c 9000000 /dev/zero\n", "3145728");
}

static void a_missing_plugin_gets_its_hint_without_control_characters(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	struct exec_cred cred = EXEC_CRED_INIT;
	struct err err = ERR_INIT;

	put(".kube/config",
	    CONFIG("{exec: {command: nosuchplugin, apiVersion: client.authentication.k8s.io/v1, "
		   "interactiveMode: Never, installHint: \"install\\e[31m foo\\nnow\"}}"));
	load(&(struct kube_flags){ 0 }, &c);
	unit_assert_fails(exec_run(&c, &cred, &err), &err, FAIL_CONFIG,
			  "executable nosuchplugin not found: install\\x1b[31m foo now");
}

static void kuberc_decides_which_plugins_run(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	char rc[512];

	put_mode("plugin", "#!/bin/sh\n", 0700);
	put(".kube/config", EXEC(""));
	put(".kube/kuberc", "credentialPluginPolicy: DenyAll\n");
	load_fails(&(struct kube_flags){ 0 }, "not allowed: policy set to \"DenyAll\"");
	put(".kube/kuberc", "credentialPluginPolicy: Allowlist\n"
			    "credentialPluginAllowlist: [{name: other}]\n");
	load_fails(&(struct kube_flags){ 0 }, "not in the credentialPluginAllowlist");
	put(".kube/kuberc", "credentialPluginAllowlist: [{name: other}]\n");
	load_fails(&(struct kube_flags){ 0 }, "credentialPluginPolicy is \"\", not Allowlist");
	put(".kube/kuberc", "credentialPluginPolicy: Perhaps\n");
	load_fails(&(struct kube_flags){ 0 }, "invalid credentialPluginPolicy \"Perhaps\"");
	(void)snprintf(rc, sizeof(rc),
		       "credentialPluginPolicy: Allowlist\n"
		       "credentialPluginAllowlist: [{name: '%s/.kube/./../plugin'}]\n",
		       scratch);
	put(".kube/kuberc", rc);
	load(&(struct kube_flags){ 0 }, &c);
	assert_non_null(c.exec);
}

/* --- when memory is out --------------------------------------------------- */

static void every_failed_allocation_of_loading_is_reported(void **state)
{
	bool fired = true;

	put_mode("plugin", "#!/bin/sh\n", 0700);
	put(".kube/kuberc", "credentialPluginPolicy: AllowAll\n");
	put(".kube/config",
	    "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
	    "clusters: [{name: c, cluster: {server: 'https://h', proxy-url: 'http://p', "
	    "tls-server-name: t, certificate-authority-data: aGk=}}]\n"
	    "users: [{name: u, user: {as: x, as-uid: u7, as-groups: [g], as-user-extra: {a: [b]}, "
	    "exec: {command: ../plugin, args: [x], apiVersion: client.authentication.k8s.io/v1, "
	    "interactiveMode: Never}}}]\n");
	for (unsigned n = 1; fired; n++) {
		struct kube_config c = KUBE_CONFIG_INIT;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = kube_config_load(&(struct kube_flags){ 0 }, env_get, &c, &err);
		fired = fault_disarm();
		if (rc != (fired ? -1 : 0) || err.fail != (fired ? FAIL_NOMEM : FAIL_NONE))
			fail_msg("allocation %u: %d, \"%s\"", n, rc, err.msg);
		kube_config_release(&c);
	}
}

static void every_failed_allocation_of_a_plugin_is_reported(void **state)
{
	AUTO(kube_config) struct kube_config c = KUBE_CONFIG_INIT;
	bool fired = true;

	put(".kube/config", EXEC(", provideClusterInfo: true, args: [a], env: [{name: A, value: "
				 "b}]"));
	put_mode("plugin", ANSWER(",\"status\":{\"token\":\"X\"}"), 0700);
	load(&(struct kube_flags){ 0 }, &c);
	for (unsigned n = 1; fired; n++) {
		struct exec_cred cred = EXEC_CRED_INIT;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = exec_run(&c, &cred, &err);
		fired = fault_disarm();
		if (rc != (fired ? -1 : 0) || err.fail != (fired ? FAIL_NOMEM : FAIL_NONE))
			fail_msg("allocation %u: %d, \"%s\"", n, rc, err.msg);
		exec_cred_release(&cred);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_context_gives_server_user_and_namespace),
		CASE(no_file_at_all_is_the_server_of_old_on_localhost),
		CASE(flags_come_before_the_file),
		CASE(impersonation_comes_from_the_file_too),
		CASE(groups_without_a_user_are_refused),
		CASE(files_are_merged_and_the_first_stanza_wins),
		CASE(faults_are_told_in_kubectls_words),
		CASE(a_secret_is_never_part_of_an_error),
		CASE(over_http_there_are_no_credentials),
		CASE(a_bare_host_and_port_gets_a_scheme),
		CASE(the_token_file_comes_before_the_token),
		CASE(a_plugin_gives_a_token_until_it_expires),
		CASE(a_plugin_is_run_without_a_shell_and_told_about_the_cluster),
		CASE(what_a_plugin_does_wrong_is_said),
		CASE(a_missing_plugin_gets_its_hint_without_control_characters),
		CASE(kuberc_decides_which_plugins_run),
		CASE(every_failed_allocation_of_loading_is_reported),
		CASE(every_failed_allocation_of_a_plugin_is_reported),
	};
	UNIT_MAIN(tests);
}
