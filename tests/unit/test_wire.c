/* SPDX-License-Identifier: Apache-2.0 */
/* Times, quantities, base64 and URLs: small readers, tested by tables. */
#include "unit.h"
#include "wire/base64.h"
#include "wire/quantity.h"
#include "wire/time.h"
#include "wire/url.h"

static void times(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
		const char *back;
	} cases[] = {
		{ "1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z" },
		{ "2026-01-02T03:04:05Z", 1767323045000, "2026-01-02T03:04:05Z" },
		{ "2026-01-02T03:04:05.678901234Z", 1767323045678, "2026-01-02T03:04:05Z" },
		{ "2026-01-02T03:04:05.6+01:30", 1767317645600, "2026-01-02T01:34:05Z" },
		{ "2026-01-02T03:04:05-01:00", 1767326645000, "2026-01-02T04:04:05Z" },
		{ "2000-02-29T23:59:59Z", 951868799000, "2000-02-29T23:59:59Z" },
		{ "1969-12-31T23:59:59.5Z", -500, "1969-12-31T23:59:59Z" },
		{ "9999-12-31T23:59:59Z", 253402300799000, "9999-12-31T23:59:59Z" },
		{ "0001-01-01T00:00:00Z", -62135596800000, "0001-01-01T00:00:00Z" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		char text[TIME_TEXT_SIZE];
		int64_t ms = 0;

		unit_assert_ok(time_parse(cases[i].text, &ms, &err), &err);
		assert_true(ms == cases[i].ms);
		time_format(ms, text);
		assert_string_equal(text, cases[i].back);
	}
}

static void what_is_no_time(void **state)
{
	static const char *const texts[] = {
		"",
		"2026",
		"2026-01-02",
		"2026-01-02 03:04:05Z",
		"2026-01-02T03:04:05",
		"2026-01-02T03:04:05z",
		"2026-01-02T03:04:05Z ",
		"2026-01-02T03:04Z",
		"2026-13-02T03:04:05Z",
		"2026-00-02T03:04:05Z",
		"2025-02-29T03:04:05Z",
		"1900-02-29T03:04:05Z",
		"2026-04-31T03:04:05Z",
		"2026-01-02T24:00:00Z",
		"2026-01-02T03:60:05Z",
		"2026-01-02T03:04:60Z",
		"2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05+1:00",
		"2026-01-02T03:04:05+24:00",
		"+026-01-02T03:04:05Z",
		"2026-01-2T03:04:05Z",
	};
	int64_t ms = 42;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct err err = ERR_INIT;

		unit_assert_fails(time_parse(texts[i], &ms, &err), &err, FAIL_INPUT,
				  "is not a time");
		assert_int_equal(ms, 42);
	}
	assert_false(time_get(NULL, &ms));
}

static void micro_times(void **state)
{
	char text[TIME_TEXT_SIZE];

	time_format_micro(1767323045678, text);
	assert_string_equal(text, "2026-01-02T03:04:05.678000Z");
	time_format_micro(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999000Z");
	time_format(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59Z");
	time_format(INT64_MIN, text);
	assert_string_equal(text, "0000-01-01T00:00:00Z");
}

static void ages_as_kubectl_prints_them(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{ -2, "<invalid>" },     { -1, "0s" },        { 0, "0s" },
		{ 119, "119s" },         { 120, "2m" },       { 150, "2m30s" },
		{ 599, "9m59s" },        { 600, "10m" },      { 10799, "179m" },
		{ 10800, "3h" },         { 11400, "3h10m" },  { 28799, "7h59m" },
		{ 28800, "8h" },         { 172799, "47h" },   { 172800, "2d" },
		{ 442800, "5d3h" },      { 691199, "7d23h" }, { 691200, "8d" },
		{ 63071999, "729d" },    { 63072000, "2y" },  { 66528000, "2y40d" },
		{ 252287999, "7y364d" }, { 252288000, "8y" }, { 3153600000, "100y" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[TIME_TEXT_SIZE];

		duration_human(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void durations_of_flags(void **state)
{
	struct err err = ERR_INIT;
	int64_t s;

	unit_assert_ok(duration_parse("1h30m", &s, &err), &err);
	assert_int_equal(s, 5400);
	unit_assert_ok(duration_parse("20", &s, &err), &err);
	assert_int_equal(s, 20);
	unit_assert_fails(duration_parse("soon", &s, &err), &err, FAIL_INPUT, "\"soon\"");
}

static void quantities(void **state)
{
	static const struct {
		const char *text;
		int64_t milli; /* -99: an error */
	} cases[] = {
		{ "0", 0 },
		{ "2", 2000 },
		{ "500m", 500 },
		{ "1.5", 1500 },
		{ ".5", 500 },
		{ "5.", 5000 },
		{ "-1", -1000 },
		{ "+1", 1000 },
		{ "1k", 1000000 },
		{ "1Ki", 1024000 },
		{ "1.5Gi", 1610612736000 },
		{ "2Gi", 2147483648000 },
		{ "1M", 1000000000 },
		{ "1e3", 1000000 },
		{ "1E3", 1000000 },
		{ "1E", INT64_MAX },
		{ "12e-1", 1200 },
		{ "100u", 1 },
		{ "1n", 1 },
		{ "0n", 0 },
		{ "1001u", 2 },
		{ "0.0001", 1 },
		{ "0.0000000000000000000000000000000000000000001", 1 },
		{ "1Ti", 1099511627776000 },
		{ "1Ei", INT64_MAX },
		{ "9223372036854775807", INT64_MAX },
		{ "9999999999999999999999999999999999999999", INT64_MAX },
		{ "1e1000", INT64_MAX },
		{ "0e1000", 0 },
		{ "1e-1000", 1 },
		{ "", -99 },
		{ ".", -99 },
		{ "-", -99 },
		{ "m", -99 },
		{ "1K", -99 },
		{ "1ki", -99 },
		{ "1Mi ", -99 },
		{ " 1", -99 },
		{ "1.2.3", -99 },
		{ "1e", -99 },
		{ "1e1.5", -99 },
		{ "0x10", -99 },
		{ "1GB", -99 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		int64_t milli = -99;

		(void)!quantity_parse(cases[i].text, &milli, &err);
		if (milli != cases[i].milli || (milli == -99) != (err.fail == FAIL_INPUT))
			fail_msg("\"%s\": %ld", cases[i].text, (long)milli);
	}
}

static void quantities_of_the_api(void **state)
{
	AUTO_JSON cJSON *v = unit_json("{\"a\":\"2\",\"b\":2,\"c\":1.50,\"d\":true,\"e\":\"x\"}");
	int64_t milli = 0;

	assert_true(quantity_get(json_get(v, "a"), &milli));
	assert_int_equal(milli, 2000);
	assert_true(quantity_get(json_get(v, "b"), &milli));
	assert_int_equal(milli, 2000);
	assert_true(quantity_get(json_get(v, "c"), &milli));
	assert_int_equal(milli, 1500);
	assert_false(quantity_get(json_get(v, "d"), &milli));
	assert_false(quantity_get(json_get(v, "e"), &milli));
	assert_false(quantity_get(NULL, &milli));
}

static void base64_there_and_back(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "\xff\xfe", "//4=" },
		{ "\xfb\xef\xbe", "++++" },
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		AUTO(buf) struct buf text = BUF_INIT(100);
		AUTO(buf) struct buf data = BUF_INIT(100);
		struct err err = ERR_INIT;

		base64_encode(&text, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(buf_text(&text), pairs[i][1]);
		unit_assert_ok(base64_decode(pairs[i][1], strlen(pairs[i][1]), &data, &err), &err);
		assert_string_equal(buf_text(&data), pairs[i][0]);
	}
}

static void base64_that_is_wrong(void **state)
{
	static const char *const texts[] = { "Z",         "Zg",    "Zg=",      "Zg===",
					     "=",         "====",  "Zg==Zg==", "Z=g=",
					     "Zm9v Zm9v", "Zm9v-", "Zm9\xc3",  "Zm9v=" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(buf) struct buf data = BUF_INIT(100);
		struct err err = ERR_INIT;

		buf_str(&data, "before");
		if (base64_decode(texts[i], strlen(texts[i]), &data, &err) == 0)
			fail_msg("accepted: %s", texts[i]);
		assert_int_equal(err.fail, FAIL_INPUT);
		assert_null(strstr(err.msg, texts[i][0] == '=' ? "====" : texts[i]));
		assert_string_equal(buf_text(&data), "before");
	}
}

static void base64_lines_and_limits(void **state)
{
	AUTO(buf) struct buf data = BUF_INIT(100);
	AUTO(buf) struct buf small = BUF_INIT(7);
	struct err err = ERR_INIT;

	unit_assert_ok(base64_decode("Zm9v\r\nYg\n==\n", 12, &data, &err), &err);
	assert_string_equal(buf_text(&data), "foob");
	base64_encode(&small, "foob", 4);
	unit_assert_fails(buf_check(&small, &err), &err, FAIL_LIMIT, "7 bytes");
}

static void url_parts(void **state)
{
	static const char *const cases[][5] = {
		{ "https://h", "https", "h", "", "" },
		{ "http://h:8080/", "http", "h", "8080", "/" },
		{ "HTTPS://10.0.0.1:6443/k8s/c-1", "https", "10.0.0.1", "6443", "/k8s/c-1" },
		{ "https://[::1]:6443", "https", "::1", "6443", "" },
		{ "https://[fe80::1]", "https", "fe80::1", "", "" },
		{ "https://h:", "https", "h", "", "" },
	};
	static const char *const bad[] = { "",
					   "h",
					   "ftp://h",
					   "https://",
					   "https:///x",
					   "https://h:0",
					   "https://h:65536",
					   "https://h:x",
					   "https://u@h",
					   "https://u:p@h",
					   "https://[::1",
					   "https://[::1]x",
					   "https://a b",
					   "https://h?x=1",
					   "https://h/#f",
					   "https://:80" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(url) struct url u = { 0 };
		struct err err = ERR_INIT;

		unit_assert_ok(url_split(cases[i][0], &u, &err), &err);
		assert_string_equal(u.scheme, cases[i][1]);
		assert_string_equal(u.host, cases[i][2]);
		assert_string_equal(u.port, cases[i][3]);
		assert_string_equal(u.path, cases[i][4]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct url u = { 0 };
		struct err err = ERR_INIT;

		if (url_split(bad[i], &u, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		unit_assert_fails(-1, &err, FAIL_INPUT, "is not a URL");
		assert_null(u.host);
	}
}

static void url_segments_and_queries(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "a%2fb" };
	AUTO(buf) struct buf b = BUF_INIT(200);
	struct err err = ERR_INIT;

	buf_str(&b, "https://h");
	unit_assert_ok(url_segment(&b, "a b:c~d..\xc3\xa9?#", &err), &err);
	url_query(&b, "limit", "500");
	url_query(&b, "continue", "a+b/c=&");
	assert_string_equal(buf_text(&b), "https://h/a%20b%3Ac~d..%C3%A9%3F%23"
					  "?limit=500&continue=a%2Bb%2Fc%3D%26");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		size_t before = b.len;

		unit_assert_fails(url_segment(&b, bad[i], &err), &err, FAIL_INPUT, "name");
		assert_int_equal(b.len, before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(times),
		UNIT_CASE(what_is_no_time),
		UNIT_CASE(micro_times),
		UNIT_CASE(ages_as_kubectl_prints_them),
		UNIT_CASE(durations_of_flags),
		UNIT_CASE(quantities),
		UNIT_CASE(quantities_of_the_api),
		UNIT_CASE(base64_there_and_back),
		UNIT_CASE(base64_that_is_wrong),
		UNIT_CASE(base64_lines_and_limits),
		UNIT_CASE(url_parts),
		UNIT_CASE(url_segments_and_queries),
	};

	UNIT_MAIN(tests);
}
