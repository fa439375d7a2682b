/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "fake.h"
#include "fault.h"
#include "kube/client.h"
#include "unit.h"

#define JOBS "/apis/kai.alibabacloud.com/v1alpha1/namespaces/default/trainingjobs"

static struct fake fake;

static int start_fake(void **state)
{
	fake_start(&fake, NULL);
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

static cJSON *job(const char *name)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(&text,
		   "{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\","
		   "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"a\":1}}",
		   name);
	return unit_json(buf_text(&text));
}

static void an_object_is_created_read_changed_and_deleted(void **state)
{
	AUTO_JSON cJSON *obj = job("a"), *got = NULL, *patch = unit_json("{\"spec\":{\"a\":2}}");
	AUTO_JSON cJSON *again = NULL, *request = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(kube_create(fake.kube, &kube_trainingjobs, "default", obj, NULL, NULL, &err),
		       &err);
	request = fake_last(&fake);
	assert_string_equal(json_get_str(request, "path", ""), JOBS);
	unit_assert_json(json_get(request, "query"),
			 "{\"fieldManager\":[\"unit\"],\"fieldValidation\":[\"Strict\"]}");
	unit_assert_json(json_at(request, "headers", "authorization", NULL),
			 "[\"Bearer fake-token\"]");
	unit_assert_json(json_at(request, "headers", "accept-encoding", NULL), "[\"gzip\"]");
	unit_assert_json(json_at(request, "headers", "user-agent", NULL), "[\"unit/1\"]");
	assert_true(json_equal(json_get(request, "body"), obj));
	unit_assert_ok(kube_patch(fake.kube, &kube_trainingjobs, "default", "a", NULL, "merge",
				  patch, false, NULL, &err),
		       &err);
	unit_assert_ok(kube_get(fake.kube, &kube_trainingjobs, "default", "a", &got, &err), &err);
	assert_int_equal(json_get_int(json_get(got, "spec"), "a", 0), 2);
	unit_assert_ok(
		kube_put(fake.kube, &kube_trainingjobs, "default", "a", NULL, got, &again, &err),
		&err);
	unit_assert_fails(kube_delete(fake.kube, &kube_trainingjobs, "default", "a", "Background",
				      -1, "other-uid", false, &err),
			  &err, FAIL_HTTP, "Error from server (Conflict): Precondition failed");
	err = ERR_INIT;
	unit_assert_ok(kube_delete(fake.kube, &kube_trainingjobs, "default", "a", "Background", -1,
				   NULL, false, &err),
		       &err);
	unit_assert_fails(kube_get(fake.kube, &kube_trainingjobs, "default", "a", NULL, &err), &err,
			  FAIL_HTTP,
			  "Error from server (NotFound): trainingjobs.kai.alibabacloud.com \"a\" "
			  "not found");
	assert_true(kube_is(&err, 404));
}

static void a_dry_run_leaves_nothing(void **state)
{
	AUTO_JSON cJSON *obj = job("dry"), *out = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(kube_create(fake.kube, &kube_trainingjobs, "default", obj,
				   &(struct kube_create_opts){ .dry_run = true }, &out, &err),
		       &err);
	assert_string_equal(json_get_str(json_get(out, "metadata"), "namespace", ""), "default");
	assert_int_equal(kube_get(fake.kube, &kube_trainingjobs, "default", "dry", NULL, &err), -1);
}

static void names_that_would_leave_the_path_are_refused(void **state)
{
	static const char *const names[] = { "..", ".", "a/b", "%2e", "" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err err = ERR_INIT;

		unit_assert_fails(kube_get(fake.kube, &kube_pods, "default", names[i], NULL, &err),
				  &err, FAIL_INPUT, "name of the pod");
	}
	assert_int_equal(fake_count(&fake, "GET", "", NULL), 0);
}

static int get_version(struct err *err)
{
	AUTO(kube_resp) struct kube_resp resp = { 0 };

	return kube_do(fake.kube, &(struct kube_req){ .method = "GET", .path = "/version" }, &resp,
		       err);
}

static void a_busy_server_is_asked_again_when_it_says_when(void **state)
{
	struct err err = ERR_INIT;

	fake_rule(&fake,
		  "[{\"path\":\"/version\",\"status\":429,\"headers\":{\"Retry-After\":\"0\"},"
		  "\"times\":2},{\"path\":\"/version\",\"status\":503,\"headers\":{\"Retry-After\":"
		  "\"0\"}}]");
	unit_assert_ok(get_version(&err), &err);
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 4);
	fake_rule(&fake,
		  "[{\"path\":\"/version\",\"status\":503,\"message\":\"down\",\"times\":-1}]");
	unit_assert_fails(get_version(&err), &err, FAIL_HTTP, "Error from server: down");
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 5);
}

static void a_server_that_is_always_busy_is_given_up(void **state)
{
	struct err err = ERR_INIT;

	fake_rule(
		&fake,
		"[{\"path\":\"/version\",\"status\":429,\"message\":\"no\",\"times\":-1,\"reason\":"
		"\"TooManyRequests\",\"headers\":{\"Retry-After\":\"0\"}}]");
	unit_assert_fails(get_version(&err), &err, FAIL_HTTP,
			  "Error from server (TooManyRequests): no");
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 11);
}

static void a_broken_connection_is_tried_again_only_for_reads(void **state)
{
	AUTO_JSON cJSON *obj = job("r");
	struct err err = ERR_INIT;

	fake_rule(&fake,
		  "[{\"path\":\"/version\",\"fault\":\"reset\"},{\"path\":\"/version\",\"fault\":"
		  "\"close\"}]");
	unit_assert_ok(get_version(&err), &err);
	assert_int_equal(fake_count(&fake, "GET", "/version", NULL), 3);
	fake_rule(&fake, "[{\"method\":\"POST\",\"fault\":\"reset\",\"times\":-1}]");
	unit_assert_fails(
		kube_create(fake.kube, &kube_trainingjobs, "default", obj, NULL, NULL, &err), &err,
		FAIL_NET, "Unable to connect to the server: ");
	assert_int_equal(fake_count(&fake, "POST", "", NULL), 1);
}

static void warnings_come_once_each(void **state)
{
	struct err err = ERR_INIT;

	fake_rule(
		&fake,
		"[{\"path\":\"/version\",\"warnings\":[\"old, \\\"really\\\"\",\"older\"],\"times\":"
		"-1}]");
	unit_assert_ok(get_version(&err), &err);
	unit_assert_ok(get_version(&err), &err);
	assert_int_equal(fake.warnings.n, 2);
	assert_string_equal(fake.warnings.v[0], "old, \"really\"");
	assert_string_equal(fake.warnings.v[1], "older");
}

static void what_v_shows_has_no_secret(void **state)
{
	struct err err = ERR_INIT;
	bool masked = false;

	unit_assert_ok(get_version(&err), &err);
	for (size_t i = 0; i < fake.log.n; i++) {
		assert_null(strstr(fake.log.v[i], "fake-token"));
		masked = masked || strstr(fake.log.v[i], "Authorization: Bearer <masked>");
	}
	assert_true(masked);
}

static void answers_that_are_no_answers_are_errors_in_bounded_memory(void **state)
{
	static const struct {
		const char *rule;
		enum fail fail;
		const char *part;
	} cases[] = {
		{ "{\"fault\":\"truncate\",\"times\":-1}", FAIL_NET, "Unable to connect" },
		{ "{\"fault\":\"garbage\",\"times\":-1}", FAIL_NET, "Unable to connect" },
		{ "{\"fault\":\"huge\",\"bytes\":3000000}", FAIL_LIMIT, "larger than 1000000" },
		{ "{\"fault\":\"endless\"}", FAIL_LIMIT, "larger than 1000000" },
		{ "{\"body\":\"{\\\"kind\\\": nonsense\"}", FAIL_NET, "is not valid JSON" },
		{ "{\"status\":500,\"body\":\"<html>\",\"content_type\":\"text/html\"}", FAIL_HTTP,
		  "an error on the server (\"<html>\")" },
		{ "{\"fault\":\"stall\"}", FAIL_NET, "Client.Timeout exceeded" },
		{ "{\"fault\":\"headers\"}", FAIL_NET, "Client.Timeout exceeded" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(kube_resp) struct kube_resp resp = { 0 };
		struct err err = ERR_INIT;

		cJSON_Delete(fake_control(&fake, "DELETE", "/rules", NULL));
		fake_rule(&fake, cases[i].rule);
		unit_assert_fails(kube_do(fake.kube,
					  &(struct kube_req){ .method = "GET",
							      .path = "/version",
							      .max_bytes = 1000000,
							      .timeout_ms = 2000 },
					  &resp, &err),
				  &err, cases[i].fail, cases[i].part);
	}
}

/* --- lists ---------------------------------------------------------------- */

struct seen {
	size_t n, stop_at;
	struct strs names;
};

static int on_item(void *arg, cJSON *item)
{
	struct seen *s = arg;
	struct err err = ERR_INIT;

	assert_string_equal(json_get_str(item, "kind", ""), "Pod");
	assert_string_equal(json_get_str(item, "apiVersion", ""), "v1");
	unit_assert_ok(
		strs_add(&s->names, json_get_str(json_get(item, "metadata"), "name", ""), &err),
		&err);
	cJSON_Delete(item);
	return ++s->n == s->stop_at;
}

static void make_pods(size_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);

	buf_str(&text, "[");
	for (size_t i = 0; i < n; i++)
		buf_printf(
			&text,
			"%s{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%03zu"
			"\",\"labels\":{\"odd\":\"%s\"}}}",
			i ? "," : "", i, i % 2 ? "yes" : "no");
	buf_str(&text, "]");
	cJSON_Delete(fake_control(&fake, "POST", "/objects", buf_text(&text)));
}

static void a_list_is_read_page_by_page(void **state)
{
	struct seen s = { 0 };
	struct kube_list_opts opts = { .limit = 10, .on_item = on_item, .arg = &s };
	AUTO_FREE char *version = NULL;
	struct err err = ERR_INIT;

	make_pods(25);
	unit_assert_ok(kube_list(fake.kube, &kube_pods, NULL, &opts, &version, &err), &err);
	assert_int_equal(s.n, 25);
	assert_string_equal(s.names.v[24], "p024");
	assert_int_equal(fake_count(&fake, "GET", "/api/v1/pods", "limit"), 3);
	assert_true(strlen(version) > 0);
	strs_release(&s.names);
	s = (struct seen){ 0 };
	opts.label_selector = "odd=yes";
	unit_assert_ok(kube_list(fake.kube, &kube_pods, "default", &opts, NULL, &err), &err);
	assert_int_equal(s.n, 12);
	strs_release(&s.names);
	s = (struct seen){ .stop_at = 3 };
	unit_assert_ok(kube_list(fake.kube, &kube_pods, "default", &opts, NULL, &err), &err);
	assert_int_equal(s.n, 3);
	strs_release(&s.names);
}

static void a_list_whose_pages_grew_old_goes_on_with_a_warning(void **state)
{
	struct seen s = { 0 };
	struct kube_list_opts opts = { .limit = 10, .on_item = on_item, .arg = &s };
	struct err err = ERR_INIT;
	AUTO(buf) struct buf text = BUF_INIT(4096);
	AUTO(kube_resp) struct kube_resp resp = { 0 };

	make_pods(25);
	/* A token for the second page, as the server would offer it. */
	unit_assert_ok(
		kube_do(fake.kube,
			&(struct kube_req){ .method = "GET", .path = "/api/v1/pods?limit=10" },
			&resp, &err),
		&err);
	buf_printf(&text,
		   "[{\"query\":{\"continue\":\".+\"},\"status\":410,\"reason\":\"Expired\","
		   "\"message\":\"old\",\"metadata\":{\"continue\":\"%s\"}}]",
		   json_get_str(json_get(resp.json, "metadata"), "continue", ""));
	fake_rule(&fake, buf_text(&text));
	unit_assert_ok(kube_list(fake.kube, &kube_pods, NULL, &opts, NULL, &err), &err);
	assert_int_equal(s.n, 25);
	assert_int_equal(fake.warnings.n, 1);
	strs_release(&s.names);
}

/* --- asynchronous --------------------------------------------------------- */

struct async {
	int done, data;
	enum fail fail;
	struct kube_call *call, *other;
	enum { ASYNC_PLAIN, ASYNC_START_MORE, ASYNC_CANCEL_SELF, ASYNC_STOP } how;
};

static bool is_done(void *arg)
{
	return ((struct async *)arg)->done > 0;
}

static void on_second(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct async *a = arg;

	a->done++;
	assert_int_equal(err->fail, FAIL_NONE);
}

static void on_done(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct async *a = arg;
	struct err e = ERR_INIT;

	a->fail = err->fail;
	if (a->how != ASYNC_START_MORE) {
		a->done++;
		return;
	}
	unit_assert_ok(kube_start(fake.kube,
				  &(struct kube_req){ .method = "GET",
						      .path = "/version",
						      .on_done = on_second,
						      .arg = a },
				  NULL, &e),
		       &e);
}

static int on_data(void *arg, const char *data, size_t n)
{
	struct async *a = arg;

	a->data++;
	if (a->how == ASYNC_CANCEL_SELF) {
		kube_cancel(fake.kube, a->call);
		a->done++;
	}
	return a->how == ASYNC_STOP;
}

static void begin(struct async *a, const char *path)
{
	struct err err = ERR_INIT;

	unit_assert_ok(kube_start(fake.kube,
				  &(struct kube_req){ .method = "GET",
						      .path = path,
						      .on_data = on_data,
						      .on_done = on_done,
						      .arg = a },
				  &a->call, &err),
		       &err);
}

static void a_callback_may_start_another_request(void **state)
{
	struct async a = { .how = ASYNC_START_MORE };

	begin(&a, "/version");
	fake_until(&fake, is_done, &a);
	assert_int_equal(a.fail, FAIL_NONE);
	assert_int_equal(a.data, 1);
}

static void a_stream_may_cancel_itself_inside_its_callback(void **state)
{
	struct async a = { .how = ASYNC_CANCEL_SELF };
	struct err err = ERR_INIT;

	fake_rule(&fake, "{\"fault\":\"endless\"}");
	begin(&a, "/version");
	fake_until(&fake, is_done, &a);
	for (int i = 0; i < 5; i++)
		unit_assert_ok(loop_once(fake.loop, 10, &err), &err);
	assert_int_equal(a.data, 1);
	assert_int_equal(a.done, 1); /* on_done did not come */
}

static void a_stream_that_is_stopped_ends_with_canceled(void **state)
{
	struct async a = { .how = ASYNC_STOP };

	fake_rule(&fake, "{\"fault\":\"endless\"}");
	begin(&a, "/version");
	fake_until(&fake, is_done, &a);
	assert_int_equal(a.fail, FAIL_CANCELED);
	assert_int_equal(a.data, 1);
}

static void an_upgrade_streams_what_follows_101(void **state)
{
	struct async a = { .how = ASYNC_STOP };
	struct err err = ERR_INIT;

	fake_rule(&fake, "{\"status\":101,\"body\":\"frames\"}");
	unit_assert_ok(kube_start(fake.kube,
				  &(struct kube_req){ .method = "GET",
						      .path = "/version",
						      .upgrade = "v4.channel.k8s.io",
						      .on_data = on_data,
						      .on_done = on_done,
						      .arg = &a },
				  NULL, &err),
		       &err);
	fake_until(&fake, is_done, &a);
	assert_int_equal(a.fail, FAIL_CANCELED);
	assert_int_equal(a.data, 1);
	AUTO_JSON cJSON *last = fake_last(&fake);
	const cJSON *headers = json_get(last, "headers");

	assert_string_equal(json_str(json_index(json_get(headers, "sec-websocket-protocol"), 0)),
			    "v4.channel.k8s.io");
	assert_int_equal(strlen(json_str(json_index(json_get(headers, "sec-websocket-key"), 0))),
			 24);
}

static void a_stream_that_falls_silent_is_given_up(void **state)
{
	struct async a = { 0 };
	struct err err = ERR_INIT;

	fake_rule(&fake, "{\"fault\":\"headers\"}");
	unit_assert_ok(kube_start(fake.kube,
				  &(struct kube_req){ .method = "GET",
						      .path = "/version",
						      .on_data = on_data,
						      .on_done = on_done,
						      .idle_timeout_ms = 300,
						      .arg = &a },
				  NULL, &err),
		       &err);
	fake_until(&fake, is_done, &a);
	assert_int_equal(a.fail, FAIL_NET);
}

static void a_client_may_go_with_requests_under_way(void **state)
{
	struct async a = { 0 };
	struct err err = ERR_INIT;
	struct kube *k = NULL;

	fake_rule(&fake, "{\"fault\":\"stall\",\"times\":-1}");
	unit_assert_ok(kube_new(fake.loop, &fake.config, &(struct kube_opts){ 0 }, &k, &err), &err);
	for (int i = 0; i < 3; i++)
		unit_assert_ok(kube_start(k,
					  &(struct kube_req){ .method = "GET",
							      .path = "/version",
							      .on_done = on_done,
							      .arg = &a },
					  NULL, &err),
			       &err);
	for (int i = 0; i < 5; i++)
		unit_assert_ok(loop_once(fake.loop, 10, &err), &err);
	kube_free(k);
	unit_assert_ok(loop_once(fake.loop, 10, &err), &err);
	assert_int_equal(a.done, 0);
}

/* --- when memory is out --------------------------------------------------- */

static int drop_item(void *arg, cJSON *item)
{
	cJSON_Delete(item);
	return 0;
}

static void every_failed_allocation_of_a_list_is_reported(void **state)
{
	bool fired = true;

	make_pods(12);
	for (unsigned n = 1; fired; n++) {
		struct kube_list_opts opts = { .limit = 10, .on_item = drop_item };
		struct kube *k = NULL;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = kube_new(fake.loop, &fake.config, &(struct kube_opts){ .user_agent = "u" }, &k,
			      &err);
		if (rc == 0)
			rc = kube_list(k, &kube_pods, NULL, &opts, NULL, &err);
		kube_free(k);
		fired = fault_disarm();
		if (rc != (fired ? -1 : 0))
			fail_msg("allocation %u: %d, \"%s\"", n, rc, err.msg);
		assert_int_equal(rc == 0, err.fail == FAIL_NONE);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, clean)
	const struct CMUnitTest tests[] = {
		CASE(an_object_is_created_read_changed_and_deleted),
		CASE(a_dry_run_leaves_nothing),
		CASE(names_that_would_leave_the_path_are_refused),
		CASE(a_busy_server_is_asked_again_when_it_says_when),
		CASE(a_server_that_is_always_busy_is_given_up),
		CASE(a_broken_connection_is_tried_again_only_for_reads),
		CASE(warnings_come_once_each),
		CASE(what_v_shows_has_no_secret),
		CASE(answers_that_are_no_answers_are_errors_in_bounded_memory),
		CASE(a_list_is_read_page_by_page),
		CASE(a_list_whose_pages_grew_old_goes_on_with_a_warning),
		CASE(a_callback_may_start_another_request),
		CASE(a_stream_may_cancel_itself_inside_its_callback),
		CASE(a_stream_that_is_stopped_ends_with_canceled),
		CASE(an_upgrade_streams_what_follows_101),
		CASE(a_stream_that_falls_silent_is_given_up),
		CASE(a_client_may_go_with_requests_under_way),
		CASE(every_failed_allocation_of_a_list_is_reported),
	};
	return cmocka_run_group_tests(tests, start_fake, stop_fake);
}
