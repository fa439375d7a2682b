/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"
#include "kube/logs.h"
#include "unit.h"

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

/* Lines so far, joined by "|". */
struct told {
	struct logs *l;
	struct buf text;
	size_t lines, stop_at;
	bool ended, free_at_stop;
	struct err err;
	const char *want;
};

static int on_line(void *arg, const char *line, size_t n)
{
	struct told *t = arg;

	buf_add(&t->text, line, n);
	buf_char(&t->text, '|');
	if (++t->lines != t->stop_at)
		return 0;
	if (t->free_at_stop)
		logs_free(TAKE(t->l));
	return 1;
}

static void on_end(void *arg, const struct err *err)
{
	struct told *t = arg;

	assert_false(t->ended);
	t->ended = true;
	t->err = *err;
}

static bool ended(void *arg)
{
	return ((struct told *)arg)->ended;
}

static bool wanted(void *arg)
{
	struct told *t = arg;

	return strcmp(buf_text(&t->text), t->want) == 0;
}

static void expect(struct told *t, const char *want)
{
	t->want = want;
	fake_until(&fake, wanted, t);
}

static void begin(struct told *t, struct logs_opts opts)
{
	struct err err = ERR_INIT;

	*t = (struct told){ .text = BUF_INIT(8u << 20) };
	opts.ns = "ns";
	opts.pod = "p";
	opts.on_line = on_line;
	opts.on_end = on_end;
	opts.arg = t;
	if (opts.tail_lines == 0)
		opts.tail_lines = -1;
	unit_assert_ok(logs_start(fake.kube, &opts, &t->l, &err), &err);
}

static void end(struct told *t)
{
	logs_free(t->l);
	buf_release(&t->text);
}

static void control(const char *path, const char *body)
{
	cJSON_Delete(fake_control(&fake, "POST", path, body));
}

static void pod(const char *state)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(
		&text,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
		"\"namespace\":\"ns\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":"
		"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{%s}}]}}",
		state);
	control("/objects", buf_text(&text));
}

#define RUNNING "\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}"
#define LOG(lines) "{\"namespace\":\"ns\",\"pod\":\"p\",\"container\":\"c\",\"lines\":[" lines "]}"
#define LAST(lines)                                                                              \
	"{\"namespace\":\"ns\",\"pod\":\"p\",\"container\":\"c\",\"end\":true,\"lines\":[" lines \
	"]}"

/* The server keeps logs for a pod's whole life: each case has a server of its own. */
static int fresh(void **state)
{
	if (start_fake(state) < 0)
		return -1;
	pod(RUNNING);
	return 0;
}

static void all_lines_come_and_then_the_end(void **state)
{
	struct told t;

	control("/logs", LOG("\"one\",\"\",\"three \""));
	begin(&t, (struct logs_opts){ 0 });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one||three |");
	assert_int_equal(t.err.fail, FAIL_NONE);
	end(&t);
}

static void timestamps_are_there_only_when_asked_for(void **state)
{
	struct told t;

	control("/logs", LOG("[\"2026-01-02T03:04:05.5Z\",\"one\"]"));
	begin(&t, (struct logs_opts){ .timestamps = true });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "2026-01-02T03:04:05.500000000Z one|");
	end(&t);
}

static void tail_and_since_are_passed_on(void **state)
{
	struct told t;

	control("/logs",
		LOG("[\"2026-01-02T03:04:05Z\",\"one\"],[\"2026-01-02T03:04:06Z\",\"two\"],"
		    "[\"2026-01-02T03:04:07Z\",\"three\"]"));
	begin(&t, (struct logs_opts){ .tail_lines = 1 });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "three|");
	end(&t);
	begin(&t, (struct logs_opts){ .since_time = "2026-01-02T03:04:06Z" });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "two|three|");
	end(&t);
}

static void a_byte_limit_cuts_the_last_line(void **state)
{
	struct told t;

	control("/logs", LOG("\"one\",\"two\",\"three\""));
	begin(&t, (struct logs_opts){ .limit_bytes = 6, .follow = true });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one|tw|");
	assert_int_equal(t.err.fail, FAIL_NONE);
	end(&t);
}

static void following_goes_on_until_the_container_ends(void **state)
{
	struct told t;

	control("/logs", LOG("\"one\""));
	begin(&t, (struct logs_opts){ .follow = true });
	expect(&t, "one|");
	control("/logs", LOG("\"two\""));
	expect(&t, "one|two|");
	pod("\"terminated\":{\"exitCode\":0}");
	control("/logs", LAST("\"three\""));
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one|two|three|");
	assert_int_equal(t.err.fail, FAIL_NONE);
	end(&t);
}

static void a_last_line_needs_no_newline(void **state)
{
	struct told t;

	begin(&t, (struct logs_opts){ .follow = true });
	pod("\"terminated\":{\"exitCode\":0}");
	control("/logs", "{\"namespace\":\"ns\",\"pod\":\"p\",\"container\":\"c\",\"end\":true,"
			 "\"lines\":[\"one\"],\"rest\":\"two\"}");
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one|two|");
	end(&t);
	begin(&t, (struct logs_opts){ 0 });
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one|two|");
	end(&t);
}

static bool two_connections(void *arg)
{
	return fake_count(&fake, "GET", "/log", NULL) >= 2;
}

/* Three lines of one instant, and lines while nobody listens: all come once. */
static void a_broken_connection_loses_and_doubles_no_line(void **state)
{
	static const char *const hows[] = { "{\"how\":\"end\"}", "{\"how\":\"close\"}",
					    "{\"how\":\"reset\"}" };

	for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
		struct told t;

		if (i > 0) {
			fake_stop(&fake);
			(void)fresh(NULL); /* always 0 */
		}
		control("/logs", LOG("[\"2026-01-02T03:04:05.1Z\",\"a\"],"
				     "[\"2026-01-02T03:04:05.2Z\",\"b\"],"
				     "[\"2026-01-02T03:04:05.2Z\",\"b\"]"));
		begin(&t, (struct logs_opts){ .follow = true });
		expect(&t, "a|b|b|");
		control("/drop", hows[i]);
		control("/logs", LOG("[\"2026-01-02T03:04:05.2Z\",\"b\"],"
				     "[\"2026-01-02T03:04:06Z\",\"c\"]"));
		fake_until(&fake, two_connections, NULL);
		expect(&t, "a|b|b|b|c|");
		control("/logs", LOG("\"d\""));
		expect(&t, "a|b|b|b|c|d|");
		pod("\"terminated\":{\"exitCode\":0}");
		control("/logs", LAST(""));
		fake_until(&fake, ended, &t);
		assert_string_equal(buf_text(&t.text), "a|b|b|b|c|d|");
		end(&t);
	}
}

static void a_pod_that_is_gone_ends_the_log(void **state)
{
	struct told t;

	control("/logs", LOG("\"one\""));
	begin(&t, (struct logs_opts){ .follow = true });
	expect(&t, "one|");
	cJSON_Delete(
		fake_control(&fake, "DELETE", "/objects?path=/api/v1/namespaces/ns/pods/p", NULL));
	control("/drop", "{\"how\":\"end\"}");
	fake_until(&fake, ended, &t);
	assert_int_equal(t.err.fail, FAIL_NONE);
	end(&t);
}

static void an_error_is_the_servers_own(void **state)
{
	struct told t;

	begin(&t, (struct logs_opts){ .container = "nope" });
	fake_until(&fake, ended, &t);
	assert_string_equal(
		t.err.msg, "Error from server (BadRequest): container nope is not valid for pod p");
	end(&t);
	begin(&t, (struct logs_opts){ .previous = true });
	fake_until(&fake, ended, &t);
	assert_string_equal(t.err.msg, "Error from server (BadRequest): previous terminated "
				       "container \"c\" in pod \"p\" not found");
	end(&t);
}

static void it_stops_when_the_caller_says_so(void **state)
{
	struct told t;

	control("/logs", LOG("\"one\",\"two\",\"three\""));
	begin(&t, (struct logs_opts){ .follow = true });
	t.stop_at = 2;
	fake_until(&fake, ended, &t);
	assert_string_equal(buf_text(&t.text), "one|two|");
	assert_int_equal(t.err.fail, FAIL_CANCELED);
	end(&t);
	begin(&t, (struct logs_opts){ .follow = true });
	t.stop_at = 1;
	t.free_at_stop = true;
	expect(&t, "one|");
	assert_null(t.l);
	assert_false(t.ended);
	end(&t);
}

static void a_line_without_end_is_passed_on_in_parts(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(8u << 20);
	struct told t;

	buf_str(&text, "{\"namespace\":\"ns\",\"pod\":\"p\",\"container\":\"c\",\"lines\":[\"");
	for (int i = 0; i < 2500000; i++)
		buf_char(&text, 'x');
	buf_str(&text, "\",\"next\"]}");
	control("/logs", buf_text(&text));
	begin(&t, (struct logs_opts){ 0 });
	fake_until(&fake, ended, &t);
	assert_int_equal(t.lines, 4);
	assert_int_equal(t.text.len, 2500000 + 3 + 5);
	assert_string_equal(buf_text(&t.text) + t.text.len - 6, "|next|");
	end(&t);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, stop_fake)
	const struct CMUnitTest tests[] = {
		CASE(all_lines_come_and_then_the_end),
		CASE(timestamps_are_there_only_when_asked_for),
		CASE(tail_and_since_are_passed_on),
		CASE(a_byte_limit_cuts_the_last_line),
		CASE(following_goes_on_until_the_container_ends),
		CASE(a_last_line_needs_no_newline),
		CASE(a_broken_connection_loses_and_doubles_no_line),
		CASE(a_pod_that_is_gone_ends_the_log),
		CASE(an_error_is_the_servers_own),
		CASE(it_stops_when_the_caller_says_so),
		CASE(a_line_without_end_is_passed_on_in_parts),
	};
	UNIT_MAIN(tests);
}
