/* SPDX-License-Identifier: Apache-2.0 */
/* {"doc":..., "ops":..., "merge":...}: a patch applies, or the document stays as it was. */
#include "fuzz.h"
#include "wire/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_JSON cJSON *input = NULL;
	AUTO_JSON cJSON *doc = NULL;
	struct err err = ERR_INIT;

	if (json_parse((const char *)data, n, &input, NULL) < 0 || !json_get(input, "doc"))
		return 0;
	doc = json_copy(json_get(input, "doc"), &err);
	FUZZ_CHECK(doc);
	FUZZ_RC(patch_apply(json_get(input, "ops"), &doc, &err), &err);
	if (err.fail != FAIL_NONE)
		FUZZ_CHECK(json_equal(doc, json_get(input, "doc")));
	err = ERR_INIT;
	if (json_get(input, "merge")) {
		FUZZ_CHECK(patch_merge(&doc, json_get(input, "merge"), &err) == 0);
		FUZZ_CHECK(doc);
	}
	return 0;
}
