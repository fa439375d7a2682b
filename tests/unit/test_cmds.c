/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/help.h"
#include "unit.h"

static void every_table_is_well_made(void **state)
{
	struct err err = ERR_INIT;

	assert_int_equal(opt_check(global_options, &err), 0);
	for (size_t i = 0; cmds[i]; i++) {
		if (cmds[i]->opts && opt_check(cmds[i]->opts, &err) < 0)
			fail_msg("%s: %s", cmds[i]->name, err.msg);
	}
}

/* A command's options are parsed together with the global ones. */
static void no_option_hides_a_global_one(void **state)
{
	for (size_t i = 0; cmds[i]; i++)
		for (const struct opt *o = cmds[i]->opts; o && o->kind != OPT_KIND_END; o++)
			for (const struct opt *g = global_options; g->kind != OPT_KIND_END; g++) {
				if (o->kind == OPT_KIND_GROUP)
					continue;
				if (str_eq(o->name, g->name) ||
				    (o->letter && o->letter == g->letter))
					fail_msg("%s: --%s is --%s too", cmds[i]->name, o->name,
						 g->name);
			}
}

static void every_command_says_what_it_is(void **state)
{
	for (size_t i = 0; cmds[i]; i++) {
		const struct cmd *c = cmds[i];
		size_t n = strlen(c->summary);

		assert_non_null(c->run);
		assert_non_null(c->args);
		assert_non_null(c->group);
		assert_true(c->summary[0] >= 'A' && c->summary[0] <= 'Z');
		assert_true(c->summary[n - 1] != '.');
		assert_ptr_equal(cmds_find(c->name), c);
		assert_true(!c->opts == !c->opts_size);
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(cmds[k]->name, c->name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_is_well_made),
		cmocka_unit_test(no_option_hides_a_global_one),
		cmocka_unit_test(every_command_says_what_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
