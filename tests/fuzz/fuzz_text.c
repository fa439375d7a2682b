/* SPDX-License-Identifier: Apache-2.0 */
/* The small readers of one text: URLs, times, durations, quantities, numbers. */
#include "base/num.h"
#include "fuzz.h"
#include "wire/quantity.h"
#include "wire/time.h"
#include "wire/url.h"
#include "wire/yaml_scalar.h"

static void check_times(const char *text)
{
	struct err err = ERR_INIT;
	char shown[TIME_TEXT_SIZE];
	int64_t ms, again, seconds;

	FUZZ_RC(time_parse(text, &ms, &err), &err);
	if (err.fail == FAIL_NONE) {
		time_format_micro(ms, shown);
		/* An offset may lead out of the years that have four digits. */
		if (ms >= -62167219200000 && ms <= 253402300799999)
			FUZZ_CHECK(time_get(shown, &again) && again == ms);
	}
	err = ERR_INIT;
	FUZZ_RC(duration_parse(text, &seconds, &err), &err);
	if (err.fail == FAIL_NONE)
		duration_human(seconds, shown);
}

static void check_urls(const char *text)
{
	AUTO(url) struct url u = { 0 };
	AUTO(buf) struct buf b = BUF_INIT(1u << 20);
	struct err err = ERR_INIT;

	FUZZ_RC(url_split(text, &u, &err), &err);
	FUZZ_CHECK((err.fail == FAIL_NONE) == (u.host != NULL));
	err = ERR_INIT;
	FUZZ_RC(url_segment(&b, text, &err), &err);
	url_query(&b, "k", text);
	for (size_t i = 0; i < b.len; i++)
		FUZZ_CHECK((unsigned char)b.data[i] > ' ' && (unsigned char)b.data[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(1u << 20);
	AUTO(buf) struct buf visible = BUF_INIT(8u << 20);
	struct err err = ERR_INIT;
	int64_t value;

	buf_add(&text, data, n);
	if (text.fail != FAIL_NONE)
		return 0;
	FUZZ_RC(num_parse(buf_text(&text), n, -1000, 1000, &value, &err), &err);
	FUZZ_CHECK(err.fail != FAIL_NONE || (value >= -1000 && value <= 1000));
	err = ERR_INIT;
	FUZZ_RC(quantity_parse(buf_text(&text), &value, &err), &err);
	(void)yaml_resolve(buf_text(&text), n);
	(void)yaml_is_base60(buf_text(&text));
	check_times(buf_text(&text));
	check_urls(buf_text(&text));
	buf_visible(&visible, buf_text(&text), n);
	for (size_t i = 0; i < visible.len; i++)
		FUZZ_CHECK((unsigned char)visible.data[i] >= ' ' && visible.data[i] != 0x7f);
	return 0;
}
