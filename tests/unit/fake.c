/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/file.h"
#include "unit.h"

#define WAIT_MS 15000

extern char **environ;

static bool exists(const struct fake *f, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return access(path, F_OK) == 0;
}

static char *read_line(const struct fake *f, const char *name)
{
	char path[128];
	size_t n;
	char *text;

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	text = unit_read(path, &n);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void spawn_server(struct fake *f, const char *const *more)
{
	const char *build = getenv("BUILD");
	posix_spawn_file_actions_t files;
	char certs[256];
	const char *argv[16] = { "python3", "tests/cli/fake_apiserver.py",
				 "--stdin", "--certs",
				 certs,     "--dir",
				 f->dir };
	size_t n = 7;
	int fds[2];

	/* Certificates are made once for all tests of this build. */
	(void)snprintf(certs, sizeof(certs), "%s/fake-certs", build ? build : "build");
	while (more && *more && n < 15)
		argv[n++] = *more++;
	argv[n] = NULL;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&files), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&files, fds[0], 0), 0);
	assert_int_equal(posix_spawnp(&f->pid, "python3", &files, NULL,
				      (char *const *)(uintptr_t)argv, environ),
			 0);
	(void)posix_spawn_file_actions_destroy(&files); /* can not fail */
	(void)close(fds[0]);                            /* the server's end */
	f->stdin_fd = fds[1];
}

static char *no_env(const char *name)
{
	return NULL;
}

static void on_warning(void *arg, const char *text)
{
	struct fake *f = arg;
	struct err err = ERR_INIT;

	unit_assert_ok(strs_add(&f->warnings, text, &err), &err);
}

static void on_log(void *arg, int level, const char *line)
{
	struct fake *f = arg;
	struct err err = ERR_INIT;

	unit_assert_ok(strs_add(&f->log, line, &err), &err);
}

static void make_client(struct fake *f)
{
	struct err err = ERR_INIT;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/kubeconfig", f->dir);
	unit_assert_ok(kube_config_load(&(struct kube_flags){ .kubeconfig = path }, no_env,
					&f->config, &err),
		       &err);
	unit_assert_ok(loop_new(clock_system(), &f->loop, &err), &err);
	unit_assert_ok(kube_new(f->loop, &f->config,
				&(struct kube_opts){ .user_agent = "unit/1",
						     .field_manager = "unit",
						     .verbosity = 9,
						     .max_retries = 10,
						     .on_warning = on_warning,
						     .warning_arg = f,
						     .on_log = on_log,
						     .log_arg = f },
				&f->kube, &err),
		       &err);
}

void fake_start(struct fake *f, const char *const *more)
{
	*f = (struct fake){ .stdin_fd = -1 };
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/etjob-fake-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	spawn_server(f, more);
	for (int i = 0; i < WAIT_MS / 10 && !exists(f, "ready"); i++)
		assert_int_equal(poll(NULL, 0, 10), 0);
	assert_true(exists(f, "ready"));
	{
		AUTO_FREE char *control = read_line(f, "control");

		(void)snprintf(f->control, sizeof(f->control), "%s", control);
	}
	make_client(f);
}

void fake_stop(struct fake *f)
{
	static const char *const files[] = { "url",    "control",      "pid",
					     "ca.crt", "kubeconfig",   "kubeconfig-cert",
					     "ready",  "requests.log", "token",
					     "proxy",  "plugin",       "calls" };
	int status;

	kube_free(f->kube);
	loop_free(f->loop);
	kube_config_release(&f->config);
	strs_release(&f->warnings);
	strs_release(&f->log);
	(void)close(f->stdin_fd); /* this is what ends the server */
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
		if (unlink(path) < 0)
			assert_int_equal(errno, ENOENT);
	}
	assert_int_equal(rmdir(f->dir), 0);
}

static size_t collect(char *data, size_t size, size_t n, void *arg)
{
	buf_add(arg, data, n);
	return n;
}

cJSON *fake_control(struct fake *f, const char *method, const char *path, const char *body)
{
	AUTO(buf) struct buf answer = BUF_INIT(64u << 20);
	CURL *e = curl_easy_init();
	char url[256];

	assert_non_null(e);
	(void)snprintf(url, sizeof(url), "%s%s", f->control, path);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_URL, url), CURLE_OK);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_PROXY, ""), CURLE_OK);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_FAILONERROR, 1L), CURLE_OK);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, collect), CURLE_OK);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_WRITEDATA, &answer), CURLE_OK);
	if (body)
		assert_int_equal(curl_easy_setopt(e, CURLOPT_POSTFIELDS, body), CURLE_OK);
	assert_int_equal(curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method), CURLE_OK);
	assert_int_equal(curl_easy_perform(e), CURLE_OK);
	curl_easy_cleanup(e);
	return unit_json(buf_text(&answer));
}

void fake_rule(struct fake *f, const char *rules)
{
	cJSON_Delete(fake_control(f, "POST", "/rules", rules));
}

void fake_forget(struct fake *f)
{
	cJSON_Delete(fake_control(f, "DELETE", "/rules", NULL));
	cJSON_Delete(fake_control(f, "DELETE", "/requests", NULL));
	strs_release(&f->warnings);
	strs_release(&f->log);
}

void fake_until(struct fake *f, bool (*done)(void *arg), void *arg)
{
	int64_t end = clock_mono_ms(clock_system()) + WAIT_MS;
	struct err err = ERR_INIT;

	while (!done(arg)) {
		if (clock_mono_ms(clock_system()) > end)
			fail_msg("what was waited for did not happen in %d ms", WAIT_MS);
		unit_assert_ok(loop_once(f->loop, 50, &err), &err);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

size_t fake_count(struct fake *f, const char *method, const char *path_end, const char *key)
{
	AUTO_JSON cJSON *list = fake_control(f, "GET", "/requests", NULL);
	const cJSON *r;
	size_t n = 0;

	json_each (r, list) {
		if (str_eq(json_get_str(r, "method", ""), method) &&
		    ends_with(json_get_str(r, "path", ""), path_end) &&
		    (!key || json_at(r, "query", key, NULL)))
			n++;
	}
	return n;
}

cJSON *fake_last(struct fake *f)
{
	AUTO_JSON cJSON *list = fake_control(f, "GET", "/requests", NULL);
	size_t n = json_len(list);

	assert_true(n > 0);
	return cJSON_DetachItemFromArray(list, (int)n - 1);
}
