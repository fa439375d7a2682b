/* SPDX-License-Identifier: Apache-2.0 */
/* What the manual says of the webhook's flags and metrics is complete. */
#include "unit.h"
#include "webhook/metrics.h"
#include "webhook/options.h"

static void the_option_tables_are_sound(void **state)
{
	struct err err = ERR_INIT;

	unit_assert_ok(opt_check(options_table, &err), &err);
	unit_assert_ok(opt_check(certs_options_table, &err), &err);
}

static void every_flag_is_in_the_manual(void **state)
{
	AUTO_FREE char *text = unit_read("docs/webhook.md", &(size_t){ 0 });

	for (const struct opt *o = options_table; o->kind != OPT_KIND_END; o++) {
		char flag[64];

		if (o->kind == OPT_KIND_GROUP)
			continue;
		snprintf(flag, sizeof(flag), "`--%s`", o->name);
		if (!strstr(text, flag))
			fail_msg("%s is not in docs/webhook.md", flag);
	}
}

static void every_metric_is_in_the_manual(void **state)
{
	AUTO_FREE char *text = unit_read("docs/metrics.md", &(size_t){ 0 });
	AUTO(buf) struct buf out = BUF_INIT(1 << 20);
	struct metrics m;
	struct err err = ERR_INIT;
	size_t n = 0;

	unit_assert_ok(metrics_init(&m, &err), &err);
	metrics_write(&m, &(const struct metrics_now){ 0 }, &out);
	metrics_release(&m);
	for (const char *p = buf_text(&out); (p = strstr(p, "# TYPE etjob_")); n++) {
		AUTO_FREE char *name = NULL;

		p += strlen("# TYPE ");
		name = strndup(p, strcspn(p, " "));
		if (!strstr(text, name))
			fail_msg("%s is not in docs/metrics.md", name);
	}
	assert_true(n > 15);
}

static void flags_that_contradict_each_other_are_refused(void **state)
{
	struct options o = options_defaults;
	struct err err = ERR_INIT;

	unit_assert_ok(options_check(&o, &err), &err);
	o.cert_file = "x";
	unit_assert_fails(options_check(&o, &err), &err, FAIL_USAGE,
			  "--cert-file and --key-file go together");
	o.key_file = "y";
	o.cert_life_s = 59;
	unit_assert_fails(options_check(&o, &err), &err, FAIL_USAGE, "at least 60s");
	o.cert_life_s = o.ca_life_s + 1;
	unit_assert_fails(options_check(&o, &err), &err, FAIL_USAGE, "--ca-life");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(the_option_tables_are_sound),
		UNIT_CASE(every_flag_is_in_the_manual),
		UNIT_CASE(every_metric_is_in_the_manual),
		UNIT_CASE(flags_that_contradict_each_other_are_refused),
	};

	UNIT_MAIN(tests);
}
