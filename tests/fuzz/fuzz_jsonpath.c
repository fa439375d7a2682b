/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonpath: a template of any text over a small document: a message or an output, never more than
 * the template allows.
 */
#include "fuzz.h"
#include "plugin/output.h"

static const char document[] =
	"{\"a\":[1,2,{\"b\":\"x\"},{\"b\":\"y\",\"n\":3.5}],\"c\":{\"d.e\":true,\"f\":null},"
	"\"items\":[{\"name\":\"p\",\"ok\":true},{\"name\":\"q\",\"ok\":false}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(buf) struct buf template_ = BUF_INIT(1u << 20);
	AUTO(buf) struct buf out = BUF_INIT(1u << 20);
	AUTO_JSON cJSON *doc = NULL;
	struct err err = ERR_INIT;

	FUZZ_CHECK(json_parse(document, strlen(document), &doc, &err) == 0);
	buf_add(&template_, data, n);
	FUZZ_RC(jsonpath_print(buf_text(&template_), doc, &out, &err), &err);
	return 0;
}
