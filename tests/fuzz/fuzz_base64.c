/* SPDX-License-Identifier: Apache-2.0 */
/* base64: what is accepted encodes to the same text, line ends aside; any bytes survive a round. */
#include "fuzz.h"
#include "wire/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(64u << 20);
	AUTO(buf) struct buf back = BUF_INIT(64u << 20);
	AUTO(buf) struct buf decoded = BUF_INIT(64u << 20);
	struct err err = ERR_INIT;

	base64_encode(&text, data, n);
	FUZZ_CHECK(base64_decode(buf_text(&text), text.len, &back, &err) == 0);
	FUZZ_CHECK(back.len == n && memcmp(buf_text(&back), data, n) == 0);
	FUZZ_RC(base64_decode((const char *)data, n, &decoded, &err), &err);
	FUZZ_CHECK(err.fail == FAIL_NONE || decoded.len == 0);
	return 0;
}
