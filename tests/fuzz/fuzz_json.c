/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON: what is accepted prints, and reads back as the same. */
#include "fuzz.h"
#include "wire/json.h"

static void check_printed(const cJSON *v, int (*print)(const cJSON *, struct buf *, struct err *))
{
	AUTO(buf) struct buf text = BUF_INIT(64u << 20);
	AUTO_JSON cJSON *again = NULL;
	struct err err = ERR_INIT;

	FUZZ_CHECK(print(v, &text, &err) == 0);
	FUZZ_CHECK(json_parse(buf_text(&text), text.len, &again, &err) == 0);
	FUZZ_CHECK(json_equal(v, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_JSON cJSON *v = NULL;
	AUTO_JSON cJSON *lenient = NULL;
	struct err err = ERR_INIT;
	int rc = json_parse((const char *)data, n, &v, &err);

	FUZZ_RC(rc, &err);
	err = ERR_INIT;
	FUZZ_RC(json_parse_lenient((const char *)data, n, &lenient, &err), &err);
	if (rc < 0)
		return 0;
	FUZZ_CHECK(json_equal(v, lenient));
	check_printed(v, json_print);
	check_printed(v, json_print_pretty);
	return 0;
}
