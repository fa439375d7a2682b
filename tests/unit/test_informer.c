/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"
#include "fault.h"
#include "kube/informer.h"
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

/* What an informer told, as a line of text: "+a *a -a" and "S" for a complete list. */
struct told {
	struct informer *i;
	struct buf text;
	size_t errors, syncs;
	const char *want;    /* told_want() */
	const char *free_at; /* frees the informer inside of the callback that makes this text */
	struct err last;
};

static void tell(struct told *t, char sign, const char *name)
{
	buf_printf(&t->text, "%s%c%s", t->text.len ? " " : "", sign, name);
	if (t->free_at && strcmp(buf_text(&t->text), t->free_at) == 0)
		informer_free(TAKE(t->i));
}

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	const cJSON *meta = json_get(now ? now : old, "metadata");

	assert_null(json_get(meta, "managedFields"));
	tell(arg, !old ? '+' : now ? '*' : '-', json_get_str(meta, "name", ""));
}

static void on_sync(void *arg)
{
	((struct told *)arg)->syncs++;
	tell(arg, 'S', "");
}

static void on_error(void *arg, const struct err *err)
{
	struct told *t = arg;

	t->errors++;
	t->last = *err;
}

static bool told_want(void *arg)
{
	struct told *t = arg;

	return strcmp(buf_text(&t->text), t->want) == 0;
}

static void expect(struct told *t, const char *text)
{
	t->want = text;
	fake_until(&fake, told_want, t);
	buf_clear(&t->text);
}

static void begin(struct told *t)
{
	struct err err = ERR_INIT;

	*t = (struct told){ .text = BUF_INIT(4096) };
	unit_assert_ok(informer_new(fake.kube,
				    &(struct informer_opts){ .res = &kube_pods,
							     .ns = "ns",
							     .on_change = on_change,
							     .on_sync = on_sync,
							     .on_error = on_error,
							     .arg = t },
				    &t->i, &err),
		       &err);
}

static void end(struct told *t)
{
	informer_free(t->i);
	buf_release(&t->text);
}

static void put(const char *name, const char *label)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(&text,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		   "\"namespace\":\"ns\",\"labels\":{\"l\":\"%s\"},\"managedFields\":[1]}}",
		   name, label);
	cJSON_Delete(fake_control(&fake, "POST", "/objects", buf_text(&text)));
}

static void del(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "/objects?path=/api/v1/namespaces/ns/pods/%s", name);
	cJSON_Delete(fake_control(&fake, "DELETE", path, NULL));
}

static void control(const char *path, const char *body)
{
	cJSON_Delete(fake_control(&fake, "POST", path, body));
}

static size_t lists(void)
{
	return fake_count(&fake, "GET", "/pods", "limit");
}

static size_t watches(void)
{
	return fake_count(&fake, "GET", "/pods", "watch");
}

static bool two_watches(void *arg)
{
	return watches() >= 2;
}

static bool one_watch(void *arg)
{
	return watches() >= 1;
}

/* Each case begins with no pods and no records. */
static int clean(void **state)
{
	AUTO_JSON cJSON *objects = fake_control(&fake, "GET", "/objects", NULL);
	const cJSON *o;

	cJSON_Delete(fake_control(&fake, "DELETE", "/rules", NULL));
	json_each (o, objects) {
		del(json_get_str(json_get(o, "metadata"), "name", ""));
	}
	cJSON_Delete(fake_control(&fake, "DELETE", "/requests", NULL));
	return 0;
}

static void it_tells_of_what_is_there_and_what_changes(void **state)
{
	struct told t;

	put("a", "1");
	begin(&t);
	assert_false(informer_synced(t.i));
	expect(&t, "+a S");
	assert_true(informer_synced(t.i));
	put("b", "1");
	expect(&t, "+b");
	put("a", "2");
	expect(&t, "*a");
	assert_string_equal(
		json_get_str(json_at(informer_get(t.i, "ns", "a"), "metadata", "labels", NULL), "l",
			     ""),
		"2");
	del("a");
	expect(&t, "-a");
	assert_null(informer_get(t.i, "ns", "a"));
	assert_int_equal(informer_store(t.i)->count, 1);
	assert_in_range(informer_age_ms(t.i), 0, 5000);
	end(&t);
}

static void a_closed_watch_goes_on_where_it_was(void **state)
{
	static const char *const hows[] = { "{\"how\":\"end\"}", "{\"how\":\"close\"}",
					    "{\"how\":\"reset\"}" };

	for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
		struct told t;

		(void)clean(NULL); /* always 0 */
		put("a", "1");
		begin(&t);
		expect(&t, "+a S");
		fake_until(&fake, one_watch, NULL);
		control("/drop", hows[i]);
		put("b", "1");
		fake_until(&fake, two_watches, NULL);
		expect(&t, "+b");
		assert_int_equal(lists(), 1);
		end(&t);
	}
}

static void a_410_makes_it_list_anew_and_tell_what_differs(void **state)
{
	struct told t;

	put("a", "1");
	begin(&t);
	expect(&t, "+a S");
	put("b", "1");
	expect(&t, "+b");
	put("same", "1");
	expect(&t, "+same");
	fake_until(&fake, one_watch, NULL);
	/* The next watch is refused; before the list is read, everything changes. */
	control("/rules", "[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"status\":410,"
			  "\"reason\":\"Expired\",\"message\":\"too old\"}]");
	control("/drop", "{\"how\":\"end\"}");
	del("a");
	put("b", "2");
	expect(&t, "-a *b S");
	assert_int_equal(t.errors, 0);
	assert_int_equal(lists(), 2);
	put("c", "1");
	expect(&t, "+c");
	end(&t);
}

static void an_error_event_of_410_makes_it_list_anew(void **state)
{
	struct told t;

	put("a", "1");
	/* The ERROR object's resourceVersion must not be used for anything. */
	control("/rules",
		"[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"events\":[{\"type\":"
		"\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\","
		"\"metadata\":{\"resourceVersion\":\"999999999\"}}}]}]");
	begin(&t);
	expect(&t, "+a S S");
	fake_until(&fake, two_watches, NULL);
	put("b", "1");
	expect(&t, "+b");
	assert_int_equal(t.errors, 0);
	assert_int_equal(lists(), 2);
	end(&t);
}

static void another_error_event_is_told_and_outlived(void **state)
{
	struct told t;

	put("a", "1");
	control("/rules",
		"[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"events\":[{\"type\":"
		"\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":\"oops\"}}]}]");
	begin(&t);
	expect(&t, "+a S S");
	assert_int_equal(t.errors, 1);
	assert_non_null(strstr(t.last.msg, "oops"));
	end(&t);
}

static void garbage_in_the_stream_is_told_and_outlived(void **state)
{
	static const char *const lines[] = {
		"\"{nonsense\\n\"",
		"\"[]\\n\"",
		"{\"type\":\"ADDED\"}",
		"{\"type\":\"ADDED\",\"object\":[]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		AUTO(buf) struct buf rule = BUF_INIT(4096);
		struct told t;

		(void)clean(NULL); /* always 0 */
		put("a", "1");
		buf_printf(
			&rule,
			"[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"events\":[%s]}]",
			lines[i]);
		control("/rules", buf_text(&rule));
		begin(&t);
		expect(&t, "+a S S");
		put("b", "1");
		expect(&t, "+b");
		assert_int_equal(t.errors, 1);
		end(&t);
	}
}

static void half_an_event_at_the_end_is_no_event(void **state)
{
	struct told t;

	put("a", "1");
	control("/rules", "[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"events\":["
			  "\"{\\\"type\\\":\\\"ADD\"]}]");
	begin(&t);
	expect(&t, "+a S");
	put("b", "1");
	expect(&t, "+b");
	end(&t);
}

static bool three_watches(void *arg)
{
	return watches() >= 3;
}

static void bookmarks_move_the_version_on(void **state)
{
	AUTO_JSON cJSON *request = NULL;
	struct told t;

	put("a", "1");
	control("/rules", "[{\"query\":{\"watch\":\"true\"},\"events\":[{\"type\":\"BOOKMARK\","
			  "\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":"
			  "\"123456789012345678901234567890\"}}}]},"
			  "{\"query\":{\"watch\":\"true\"},\"events\":[],\"delay\":1}]");
	begin(&t);
	expect(&t, "+a S");
	fake_until(&fake, three_watches, NULL);
	request = fake_last(&fake);
	unit_assert_json(json_at(request, "query", "resourceVersion", NULL),
			 "[\"123456789012345678901234567890\"]");
	unit_assert_json(json_at(request, "query", "allowWatchBookmarks", NULL), "[\"true\"]");
	assert_int_equal(lists(), 1);
	end(&t);
}

static void a_server_that_is_down_is_waited_for(void **state)
{
	struct told t;

	put("a", "1");
	control("/rules", "[{\"path\":\".*/pods\",\"status\":500,\"message\":\"down\"}]");
	begin(&t);
	expect(&t, "+a S");
	assert_int_equal(t.errors, 1);
	assert_string_equal(t.last.msg, "Error from server: down");
	end(&t);
}

static void pages_are_put_together(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);
	struct told t;
	bool synced = false;
	struct err err = ERR_INIT;

	buf_str(&text, "[");
	for (int n = 0; n < 1100; n++)
		buf_printf(
			&text,
			"%s{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\","
			"\"namespace\":\"ns\"}}",
			n ? "," : "", n);
	buf_str(&text, "]");
	control("/objects", buf_text(&text));
	begin(&t);
	t.text.cap = 65536;
	for (int n = 0; n < 500 && !synced; n++) {
		unit_assert_ok(loop_once(fake.loop, 50, &err), &err);
		synced = informer_synced(t.i);
	}
	assert_int_equal(informer_store(t.i)->count, 1100);
	assert_int_equal(lists(), 3);
	end(&t);
}

static void freeing_inside_of_a_callback_is_fine(void **state)
{
	static const char *const at[] = { "+a", "+a S", "+a S +b" };

	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		struct told t;

		(void)clean(NULL); /* always 0 */
		put("a", "1");
		begin(&t);
		t.free_at = at[i];
		if (i == 2) {
			fake_until(&fake, one_watch, NULL);
			put("b", "1");
		}
		expect(&t, at[i]);
		assert_null(t.i);
		end(&t);
	}
}

/* --- what writes returned ------------------------------------------------- */

static cJSON *pod(const char *name, const char *version)
{
	AUTO(buf) struct buf text = BUF_INIT(4096);

	buf_printf(&text,
		   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"resourceVersion\":\"%s\","
		   "\"labels\":{\"l\":\"mine\"}}}",
		   name, version);
	return unit_json(buf_text(&text));
}

static const char *label(const struct told *t, const char *name)
{
	return json_get_str(json_at(informer_get(t->i, "ns", name), "metadata", "labels", NULL),
			    "l", "none");
}

static void what_a_write_returned_is_seen_at_once_when_it_is_newer(void **state)
{
	AUTO_JSON cJSON *newer = pod("a", "99999999999999999999999"), *older = pod("a", "1");
	AUTO_JSON cJSON *other = pod("b", "99999999999999999999998"), *ghost = pod("gone", "2");
	struct told t;

	put("a", "1");
	begin(&t);
	informer_observe(t.i, newer); /* before the first list: too early */
	expect(&t, "+a S");
	assert_string_equal(label(&t, "a"), "1");
	informer_observe(t.i, older);
	assert_string_equal(label(&t, "a"), "1");
	informer_observe(t.i, newer);
	assert_string_equal(label(&t, "a"), "mine");
	informer_observe(t.i, other);
	assert_string_equal(label(&t, "b"), "mine");
	informer_observe(t.i, ghost); /* older than the list: it was deleted since */
	assert_null(informer_get(t.i, "ns", "gone"));
	/* An older event does not bring the old state back. */
	put("a", "2");
	put("c", "1");
	expect(&t, "+c");
	assert_string_equal(label(&t, "a"), "mine");
	/* A new list keeps what is newer than it. */
	fake_until(&fake, one_watch, NULL);
	control("/rules", "[{\"path\":\".*/pods\",\"query\":{\"watch\":\"true\"},\"status\":410}]");
	control("/drop", "{\"how\":\"end\"}");
	expect(&t, "S");
	assert_string_equal(label(&t, "a"), "mine");
	assert_string_equal(label(&t, "b"), "mine");
	end(&t);
}

/* Wherever memory runs out once, the copy is right in the end. */
static void one_failed_allocation_is_outlived(void **state)
{
	bool fired = true;

	put("a", "1");
	for (unsigned n = 1; fired; n += 23) {
		struct told t = { .text = BUF_INIT(4096) };
		struct err err = ERR_INIT;

		buf_reserve(&t.text, 2000);
		fault_arm(FAULT_ALLOC, n);
		if (informer_new(fake.kube,
				 &(struct informer_opts){ .res = &kube_pods,
							  .ns = "ns",
							  .on_change = on_change,
							  .on_error = on_error,
							  .arg = &t },
				 &t.i, &err) == 0) {
			for (int turn = 0; turn < 50 && !informer_synced(t.i) && t.errors == 0;
			     turn++)
				if (loop_once(fake.loop, 100, &err) < 0)
					assert_int_equal(err.fail, FAIL_NOMEM);
		}
		fired = fault_disarm();
		if (t.i)
			expect(&t, "+a");
		end(&t);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, clean)
	const struct CMUnitTest tests[] = {
		CASE(it_tells_of_what_is_there_and_what_changes),
		CASE(a_closed_watch_goes_on_where_it_was),
		CASE(a_410_makes_it_list_anew_and_tell_what_differs),
		CASE(an_error_event_of_410_makes_it_list_anew),
		CASE(another_error_event_is_told_and_outlived),
		CASE(garbage_in_the_stream_is_told_and_outlived),
		CASE(half_an_event_at_the_end_is_no_event),
		CASE(bookmarks_move_the_version_on),
		CASE(a_server_that_is_down_is_waited_for),
		CASE(pages_are_put_together),
		CASE(freeing_inside_of_a_callback_is_fine),
		CASE(what_a_write_returned_is_seen_at_once_when_it_is_newer),
		CASE(one_failed_allocation_is_outlived),
	};
	return cmocka_run_group_tests(tests, start_fake, stop_fake);
}
