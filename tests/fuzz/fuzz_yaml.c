/* SPDX-License-Identifier: Apache-2.0 */
/* YAML: what is accepted prints as YAML, and reads back as the same. */
#include "fuzz.h"
#include "wire/yaml.h"

static void check_printed(const cJSON *v)
{
	AUTO(buf) struct buf text = BUF_INIT(64u << 20);
	AUTO(yaml_docs) struct yaml_docs again = { 0 };
	struct err err = ERR_INIT;

	FUZZ_CHECK(yaml_print(v, &text, &err) == 0);
	FUZZ_CHECK(yaml_parse(buf_text(&text), text.len, YAML_STRICT_KEYS, &again, &err) == 0);
	FUZZ_CHECK(again.n == 1);
	FUZZ_CHECK(json_equal(v, again.v[0].json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(yaml_docs) struct yaml_docs docs = { 0 };
	AUTO(yaml_docs) struct yaml_docs strict = { 0 };
	struct err err = ERR_INIT;
	int rc = yaml_parse((const char *)data, n, YAML_POSITIONS, &docs, &err);

	FUZZ_RC(rc, &err);
	err = ERR_INIT;
	FUZZ_RC(yaml_parse((const char *)data, n, YAML_STRICT_KEYS, &strict, &err), &err);
	for (size_t i = 0; i < docs.n; i++) {
		FUZZ_CHECK(yaml_pos_of(&docs.v[i], "/spec/x").line >= 1);
		check_printed(docs.v[i].json);
	}
	return 0;
}
