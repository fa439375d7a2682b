/* SPDX-License-Identifier: Apache-2.0 */
/* Who a client is to the server, and how it gets there: credentials, TLS, proxies. */
#include <errno.h>

#include "base/file.h"
#include "fake.h"
#include "kube/auth.h"
#include "kube/client.h"
#include "unit.h"

static struct fake fake;

static int start_fake(void **state)
{
	fake_start(&fake, (const char *const[]){ "--proxy", NULL });
	return 0;
}

static int stop_fake(void **state)
{
	fake_stop(&fake);
	return 0;
}

/* Each case begins with no rules, no objects of ours and no records. */
static int clean(void **state)
{
	fake_forget(&fake);
	return 0;
}

static struct kube *client_with(struct kube_config *c)
{
	struct err err = ERR_INIT;
	struct kube *k = NULL;

	unit_assert_ok(kube_new(fake.loop, c, &(struct kube_opts){ .user_agent = "u" }, &k, &err),
		       &err);
	return k;
}

static void impersonation_is_in_the_headers(void **state)
{
	struct kube_config c = fake.config;
	struct err err = ERR_INIT;
	char *extras[] = { (char[]){ "acme.com/project=x" } };
	char *groups[] = { (char[]){ "g1" }, (char[]){ "g2" } };
	AUTO_JSON cJSON *request = NULL;
	AUTO(kube_resp) struct kube_resp resp = { 0 };

	c.as = (char[]){ "jane" };
	c.as_uid = (char[]){ "7" };
	c.as_groups = (struct strs){ .v = groups, .n = 2 };
	c.as_extras = (struct strs){ .v = extras, .n = 1 };
	{
		AUTO_PTR(kube) struct kube *k = client_with(&c);

		unit_assert_ok(kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" },
				       &resp, &err),
			       &err);
	}
	request = fake_last(&fake);
	unit_assert_json(json_at(request, "headers", "impersonate-user", NULL), "[\"jane\"]");
	unit_assert_json(json_at(request, "headers", "impersonate-uid", NULL), "[\"7\"]");
	unit_assert_json(json_at(request, "headers", "impersonate-group", NULL), "[\"g1\",\"g2\"]");
	unit_assert_json(json_at(request, "headers", "impersonate-extra-acme.com%2fproject", NULL),
			 "[\"x\"]");
}

static void a_token_with_a_newline_is_never_sent(void **state)
{
	struct kube_config c = fake.config;
	struct err err = ERR_INIT;
	struct kube_resp resp;

	c.token = (char[]){ "A\nX-Injected: 1" };
	{
		AUTO_PTR(kube) struct kube *k = client_with(&c);

		unit_assert_fails(
			kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" }, &resp,
				&err),
			&err, FAIL_NET, "invalid header field value for \"Authorization\"");
	}
	assert_null(strstr(err.msg, "Injected"));
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 0);
}

static void a_refused_connection_is_told_at_once(void **state)
{
	struct kube_config c = { .server = (char[]){ "https://127.0.0.1:1" },
				 .token = (char[]){ "T" } };
	struct kube_resp resp;
	struct err err = ERR_INIT;
	AUTO_PTR(kube) struct kube *k = client_with(&c);

	unit_assert_fails(
		kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" }, &resp, &err),
		&err, FAIL_NET,
		"The connection to the server 127.0.0.1:1 was refused - did you specify "
		"the right host or port?");
}

static void a_401_makes_a_token_file_be_read_again(void **state)
{
	struct kube_config c = fake.config;
	char path[128];
	struct err err = ERR_INIT;
	AUTO(kube_resp) struct kube_resp resp = { 0 };
	AUTO(kube_resp) struct kube_resp again = { 0 };
	AUTO_JSON cJSON *request = NULL;

	(void)snprintf(path, sizeof(path), "%s/token", fake.dir);
	unit_assert_ok(file_write(path, "old\n", 4, 0600, &err), &err);
	c.token_file = path;
	c.token = NULL;
	{
		AUTO_PTR(kube) struct kube *k = client_with(&c);

		unit_assert_ok(kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" },
				       &resp, &err),
			       &err);
		unit_assert_ok(file_write(path, "new\n", 4, 0600, &err), &err);
		fake_rule(&fake,
			  "{\"path\":\"/version\",\"status\":401,\"reason\":\"Unauthorized\","
			  "\"message\":\"Unauthorized\"}");
		unit_assert_ok(kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" },
				       &again, &err),
			       &err);
	}
	request = fake_last(&fake);
	unit_assert_json(json_at(request, "headers", "authorization", NULL), "[\"Bearer new\"]");
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 3);
}

static int version_with(struct kube_config *c, struct err *err)
{
	AUTO(kube_resp) struct kube_resp resp = { 0 };
	AUTO_PTR(kube) struct kube *k = client_with(c);

	return kube_do(k, &(struct kube_req){ .method = "GET", .path = "/version" }, &resp, err);
}

static void a_proxy_is_used_even_for_this_machine(void **state)
{
	static const struct {
		const char *scheme, *asked;
	} cases[] = { { "http://", "CONNECT localhost:" }, { "socks5://", "SOCKS5 localhost:" } };
	size_t n;
	char path[128];
	AUTO_FREE char *where = NULL;

	(void)snprintf(path, sizeof(path), "%s/proxy", fake.dir);
	where = unit_read(path, &n);
	where[strcspn(where, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kube_config c = fake.config;
		struct err err = ERR_INIT;
		AUTO_JSON cJSON *asked = NULL;
		char proxy[128];

		(void)snprintf(proxy, sizeof(proxy), "%s%s", cases[i].scheme, where);
		c.proxy_url = proxy;
		unit_assert_ok(version_with(&c, &err), &err);
		asked = fake_control(&fake, "GET", "/proxied", NULL);
		assert_int_equal(json_len(asked), i + 1);
		/* The name goes to the proxy as it is: it is resolved there. */
		assert_true(str_starts(json_str(json_index(asked, i)), cases[i].asked));
	}
}

static void another_server_name_is_what_the_certificate_must_hold(void **state)
{
	struct kube_config c = fake.config;
	struct err err = ERR_INIT;

	c.tls_server_name = (char[]){ "api.test" };
	unit_assert_ok(version_with(&c, &err), &err);
	c.tls_server_name = (char[]){ "other.test" };
	unit_assert_fails(version_with(&c, &err), &err, FAIL_NET,
			  "Unable to connect to the server: tls: failed to verify certificate: "
			  "x509: certificate is valid for localhost, api.test, not other.test");
}

static void an_unknown_authority_is_refused_unless_insecure(void **state)
{
	struct kube_config c = fake.config;
	struct err err = ERR_INIT;

	c.ca_pem = (struct buf){ 0 };
	unit_assert_fails(version_with(&c, &err), &err, FAIL_NET,
			  "tls: failed to verify certificate: x509: certificate signed by unknown "
			  "authority");
	err = ERR_INIT;
	c.insecure = true;
	unit_assert_ok(version_with(&c, &err), &err);
}

static void the_servers_own_certificate_will_do_as_authority(void **state)
{
	struct kube_config c = fake.config;
	const char *build = getenv("BUILD");
	struct err err = ERR_INIT;
	char path[256];
	size_t n;
	AUTO_FREE char *pem = NULL;

	(void)snprintf(path, sizeof(path), "%s/fake-certs/server.crt", build ? build : "build");
	pem = unit_read(path, &n);
	c.ca_pem = (struct buf){ .data = pem, .len = n, .size = n + 1, .cap = n };
	unit_assert_ok(version_with(&c, &err), &err);
}

/* Writes a credential plugin that counts its runs: the nth gives the token "Tn". */
static void write_plugin(char *plugin, size_t size, const char *more)
{
	char script[1024];
	struct err err = ERR_INIT;
	char calls[128];

	/* Each case counts from one. */
	(void)snprintf(calls, sizeof(calls), "%s/calls", fake.dir);
	if (unlink(calls) < 0)
		assert_int_equal(errno, ENOENT);

	(void)snprintf(plugin, size, "%s/plugin", fake.dir);
	(void)snprintf(script, sizeof(script),
		       "#!/bin/sh\necho x >> %s/calls\nn=$(wc -l < %s/calls)\n"
		       "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication."
		       "k8s.io/v1\",\"status\":{\"token\":\"T'$((n))'\"%s}}'\n",
		       fake.dir, fake.dir, more);
	unit_assert_ok(file_write(plugin, script, strlen(script), 0700, &err), &err);
}

#define UNAUTHORIZED                                                                               \
	"{\"path\":\"/version\",\"status\":401,\"reason\":\"Unauthorized\",\"message\":\"Unauthor" \
	"ized\""

static void a_401_runs_the_exec_plugin_once_more(void **state)
{
	struct kube_config c = fake.config;
	struct err err = ERR_INIT;
	char plugin[128];
	AUTO_JSON cJSON *request = NULL;
	AUTO_JSON cJSON *exec = unit_json("{\"apiVersion\":\"client.authentication.k8s.io/v1\","
					  "\"interactiveMode\":\"Never\"}");
	const struct kube_req req = { .method = "GET", .path = "/version" };
	AUTO(kube_resp) struct kube_resp one = { 0 };
	AUTO(kube_resp) struct kube_resp two = { 0 };
	AUTO(kube_resp) struct kube_resp three = { 0 };

	write_plugin(plugin, sizeof(plugin), "");
	unit_assert_ok(json_set_str(exec, "command", plugin, &err), &err);
	c.token = NULL;
	c.exec = exec;
	{
		AUTO_PTR(kube) struct kube *k = client_with(&c);

		unit_assert_ok(kube_do(k, &req, &one, &err), &err);
		fake_rule(&fake, UNAUTHORIZED "}");
		unit_assert_ok(kube_do(k, &req, &two, &err), &err);
		request = fake_last(&fake);
		unit_assert_json(json_at(request, "headers", "authorization", NULL),
				 "[\"Bearer T2\"]");
		fake_rule(&fake, UNAUTHORIZED ",\"times\":-1}");
		unit_assert_fails(kube_do(k, &req, &three, &err), &err, FAIL_HTTP,
				  "error: You must be logged in to the server (Unauthorized)");
	}
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 5);
}

/* --- with a clock of our own ---------------------------------------------- */

struct fixed {
	struct clock clock;
	int64_t ms;
};

static int64_t fixed_ms(const struct clock *c)
{
	return ((const struct fixed *)c->arg)->ms;
}

static void assert_header(struct auth *a, const char *want)
{
	AUTO(buf) struct buf header = BUF_INIT(4096);
	struct err err = ERR_INIT;

	unit_assert_ok(auth_prepare(a, &err), &err);
	unit_assert_ok(auth_header(a, &header, &err), &err);
	assert_string_equal(buf_text(&header), want);
}

static void a_token_file_is_read_again_each_minute(void **state)
{
	struct fixed time = { .ms = 5 };
	struct kube_config c = KUBE_CONFIG_INIT;
	struct err err = ERR_INIT;
	char path[128];
	struct auth a;

	time.clock = (struct clock){ .wall_ms = fixed_ms, .mono_ms = fixed_ms, .arg = &time };
	(void)snprintf(path, sizeof(path), "%s/token", fake.dir);
	c.token_file = path;
	auth_init(&a, &c, &time.clock);
	unit_assert_ok(file_write(path, "one\n", 4, 0600, &err), &err);
	assert_header(&a, "Bearer one");
	unit_assert_ok(file_write(path, "two\n", 4, 0600, &err), &err);
	time.ms += 59999;
	assert_header(&a, "Bearer one");
	time.ms += 1;
	assert_header(&a, "Bearer two");
	/* A file that is gone for a moment is no reason to have no token. */
	assert_int_equal(unlink(path), 0);
	time.ms += 60000;
	assert_header(&a, "Bearer two");
	auth_release(&a);
}

static void a_plugin_runs_again_only_when_its_answer_expired(void **state)
{
	struct fixed time = { .ms = INT64_C(1767323044999) };
	struct kube_config c = KUBE_CONFIG_INIT;
	struct err err = ERR_INIT;
	AUTO_JSON cJSON *exec = unit_json("{\"apiVersion\":\"client.authentication.k8s.io/v1\","
					  "\"interactiveMode\":\"Never\"}");
	char plugin[128];
	struct auth a;

	time.clock = (struct clock){ .wall_ms = fixed_ms, .mono_ms = fixed_ms, .arg = &time };
	write_plugin(plugin, sizeof(plugin), ",\"expirationTimestamp\":\"2026-01-02T03:04:05Z\"");
	unit_assert_ok(json_set_str(exec, "command", plugin, &err), &err);
	c.exec = exec;
	auth_init(&a, &c, &time.clock);
	assert_header(&a, "Bearer T1");
	assert_header(&a, "Bearer T1");
	time.ms += 1;
	assert_header(&a, "Bearer T2");
	auth_release(&a);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, clean)
	const struct CMUnitTest tests[] = {
		CASE(impersonation_is_in_the_headers),
		CASE(a_token_with_a_newline_is_never_sent),
		CASE(a_refused_connection_is_told_at_once),
		CASE(a_401_makes_a_token_file_be_read_again),
		CASE(a_proxy_is_used_even_for_this_machine),
		CASE(another_server_name_is_what_the_certificate_must_hold),
		CASE(an_unknown_authority_is_refused_unless_insecure),
		CASE(the_servers_own_certificate_will_do_as_authority),
		CASE(a_401_runs_the_exec_plugin_once_more),
		CASE(a_token_file_is_read_again_each_minute),
		CASE(a_plugin_runs_again_only_when_its_answer_expired),
	};
	return cmocka_run_group_tests(tests, start_fake, stop_fake);
}
