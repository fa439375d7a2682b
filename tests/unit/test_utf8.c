/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "unit.h"

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void a_run_of_plain_bytes_ends_where_it_should(void **state)
{
	char text[40];

	for (int c = 0; c < 256; c++)
		for (size_t at = 0; at < 24; at++)
			for (size_t n = 0; n <= sizeof(text); n++) {
				size_t want;

				memset(text, 'a', sizeof(text));
				text[at] = (char)c;
				text[at + 1] = '"'; /* beside it another one that ends the run */
				want = plain((unsigned char)c) ? at + 1 : at;
				assert_int_equal(utf8_plain(text, n), want < n ? want : n);
			}
}

static void neighbours_of_what_ends_it_do_not(void **state)
{
	static const char text[] = "!#[]~\x7f !#[]~\x7f !#[]~\x7f ";

	assert_int_equal(utf8_plain(text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(utf8_plain(text, sizeof(text)), sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_run_of_plain_bytes_ends_where_it_should),
		UNIT_CASE(neighbours_of_what_ends_it_do_not),
	};

	UNIT_MAIN(tests);
}
