/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/patch.h"

#include "fault.h"
#include "unit.h"

static void pointers_are_escaped(void **state)
{
	AUTO(buf) struct buf b = BUF_INIT(100);

	patch_pointer(&b, "metadata");
	patch_pointer(&b, "a/b~c~1");
	patch_pointer(&b, "");
	patch_pointer_index(&b, 12);
	assert_string_equal(buf_text(&b), "/metadata/a~1b~0c~01//12");
}

static void ops_are_built_in_order(void **state)
{
	AUTO(patch) struct patch p = PATCH_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(patch_len(&p), 0);
	unit_assert_ok(patch_test(&p, "/a", cJSON_CreateNumber(1), &err), &err);
	unit_assert_ok(patch_add(&p, "/b/-", cJSON_CreateNull(), &err), &err);
	unit_assert_ok(patch_replace(&p, "", cJSON_CreateObject(), &err), &err);
	unit_assert_ok(patch_remove(&p, "/c", &err), &err);
	assert_int_equal(patch_len(&p), 4);
	unit_assert_json(p.ops, "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1},"
				"{\"op\":\"add\",\"path\":\"/b/-\",\"value\":null},"
				"{\"op\":\"replace\",\"path\":\"\",\"value\":{}},"
				"{\"op\":\"remove\",\"path\":\"/c\"}]");
	unit_assert_fails(patch_add(&p, "/x", NULL, &err), &err, FAIL_NOMEM, "memory");
	assert_int_equal(patch_len(&p), 4);
}

/* doc, ops -> result, or the error's text when it starts with "!". */
static const struct {
	const char *doc, *ops, *result;
} cases[] = {
	{ "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
	  "{\"foo\":\"bar\",\"baz\":\"qux\"}" },
	{ "{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
	  "{\"foo\":[\"bar\",\"qux\",\"baz\"]}" },
	{ "{\"foo\":[\"bar\"]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[1]}]",
	  "{\"foo\":[\"bar\",[1]]}" },
	{ "{\"foo\":[1]}", "[{\"op\":\"add\",\"path\":\"/foo/0\",\"value\":0}]",
	  "{\"foo\":[0,1]}" },
	{ "{\"foo\":[1]}", "[{\"op\":\"add\",\"path\":\"/foo/2\",\"value\":0}]",
	  "!index \"2\" is out of range" },
	{ "{\"foo\":[1]}", "[{\"op\":\"add\",\"path\":\"/foo/01\",\"value\":0}]",
	  "!index \"01\" is out of range" },
	{ "{\"foo\":[1]}", "[{\"op\":\"add\",\"path\":\"/foo/+0\",\"value\":0}]", "!out of range" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
	{ "{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}" },
	{ "{\"a\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", "{\"a\":[1,3]}" },
	{ "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]",
	  "!patch op 0: there is nothing at" },
	{ "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", "!can not be removed" },
	{ "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":1}]", "!nothing at \"/b\"" },
	{ "{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":9}]",
	  "{\"a\":[1,9]}" },
	{ "{\"a\":[1]}", "[{\"op\":\"replace\",\"path\":\"/a/-\",\"value\":9}]", "!nothing at" },
	{ "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1]}]", "[1]" },
	{ "{\"a/b\":1,\"~\":2,\"\":3}",
	  "[{\"op\":\"test\",\"path\":\"/a~1b\",\"value\":1},"
	  "{\"op\":\"test\",\"path\":\"/~0\",\"value\":2},"
	  "{\"op\":\"test\",\"path\":\"/\",\"value\":3},{\"op\":\"remove\",\"path\":\"/a~1b\"}]",
	  "{\"~\":2,\"\":3}" },
	{ "{\"a\":1.0}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1.0}" },
	{ "{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
	{ "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", "!is another" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b/c\",\"value\":2}]", "!leads nowhere" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/c\",\"value\":2}]",
	  "!neither object nor list" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":2}]", "!start with a slash" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":2}]", "!bad escape" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/~\",\"value\":2}]", "!bad escape" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\"}]", "!has no value" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"value\":1}]", "!has no path" },
	{ "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]",
	  "!op \"move\" is none" },
	{ "{\"a\":1}", "[3]", "!op \"\" is none" },
	{ "{\"a\":1}", "{}", "!a JSON Patch is a list" },
	{ "{\"a\":1}",
	  "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"remove\",\"path\":\"/x\"}]",
	  "!patch op 1: there is nothing at \"/x\"" },
};

static void patches_apply_or_change_nothing(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON cJSON *doc = unit_json(cases[i].doc);
		AUTO_JSON cJSON *ops = unit_json(cases[i].ops);
		struct err err = ERR_INIT;
		int rc = patch_apply(ops, &doc, &err);

		if (cases[i].result[0] == '!') {
			unit_assert_fails(rc, &err, FAIL_INPUT, cases[i].result + 1);
			unit_assert_json(doc, cases[i].doc);
		} else {
			unit_assert_ok(rc, &err);
			unit_assert_json(doc, cases[i].result);
		}
	}
}

static void merges_follow_the_rfc(void **state)
{
	/* RFC 7386, appendix A. */
	static const char *const merges[][3] = {
		{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
		{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
		{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
		{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
		  "{\"a\":{\"b\":\"d\"}}" },
		{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
		{ "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
		{ "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
		{ "{\"a\":\"foo\"}", "null", "null" },
		{ "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"" },
		{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
		{ "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
		{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(merges); i++) {
		AUTO_JSON cJSON *doc = unit_json(merges[i][0]);
		AUTO_JSON cJSON *patch = unit_json(merges[i][1]);
		struct err err = ERR_INIT;

		unit_assert_ok(patch_merge(&doc, patch, &err), &err);
		unit_assert_json(doc, merges[i][2]);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO_JSON cJSON *doc = unit_json("{\"a\":[1,2]}");
		AUTO_JSON cJSON *merge = unit_json("{\"b\":{\"c\":{\"d\":1}}}");
		AUTO(patch) struct patch p = PATCH_INIT;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = patch_add(&p, "/a/0", cJSON_CreateString("x"), &err);
		if (rc == 0)
			rc = patch_remove(&p, "/a/1", &err);
		if (rc == 0)
			rc = patch_apply(p.ops, &doc, &err);
		if (rc == 0)
			rc = patch_merge(&doc, merge, &err);
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
		if (!fired)
			unit_assert_json(doc, "{\"a\":[\"x\",2],\"b\":{\"c\":{\"d\":1}}}");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(pointers_are_escaped),
		UNIT_CASE(ops_are_built_in_order),
		UNIT_CASE(patches_apply_or_change_nothing),
		UNIT_CASE(merges_follow_the_rfc),
		UNIT_CASE(every_failed_allocation_is_reported),
	};

	UNIT_MAIN(tests);
}
