/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/strs.h"
#include "fault.h"
#include "unit.h"

static void values_are_found_again(void **state)
{
	AUTO(map) struct map m = MAP_INIT(free);
	struct err err = ERR_INIT;
	char key[16];

	assert_null(map_get(&m, "x"));
	assert_false(map_del(&m, "x"));
	assert_null(map_take(&m, "x"));
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		unit_assert_ok(map_put(&m, key, strdup(key), &err), &err);
	}
	assert_int_equal(m.count, 1000);
	for (int i = 0; i < 1000; i += 2) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		assert_true(map_del(&m, key));
	}
	assert_int_equal(m.count, 500);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		assert_int_equal(map_has(&m, key), i % 2);
		if (i % 2)
			assert_string_equal(map_get(&m, key), key);
	}
}

static unsigned dropped;

static void count_drop(void *value)
{
	if (value)
		dropped++;
}

static void owned_values_are_dropped_once(void **state)
{
	struct map m = MAP_INIT(count_drop);
	struct err err = ERR_INIT;
	int a, b;

	dropped = 0;
	unit_assert_ok(map_put(&m, "k", &a, &err), &err);
	unit_assert_ok(map_put(&m, "k", &a, &err), &err);
	assert_int_equal(dropped, 0);
	unit_assert_ok(map_put(&m, "k", &b, &err), &err);
	assert_int_equal(dropped, 1);
	assert_ptr_equal(map_take(&m, "k"), &b);
	assert_int_equal(dropped, 1);
	unit_assert_ok(map_put(&m, "n", NULL, &err), &err);
	assert_true(map_has(&m, "n"));
	assert_null(map_get(&m, "n"));
	unit_assert_ok(map_put(&m, "k", &a, &err), &err);
	map_release(&m);
	assert_int_equal(dropped, 2);
	assert_int_equal(m.count, 0);
	unit_assert_ok(map_put(&m, "again", &a, &err), &err);
	map_release(&m);
	assert_int_equal(dropped, 3);
}

static void the_order_is_that_of_insertion(void **state)
{
	AUTO(map) struct map m = MAP_INIT(NULL);
	struct err err = ERR_INIT;
	const struct map_entry *e;
	const char *const words[] = { "b", "d", "a", "c" };
	char order[8] = "";
	size_t n = 0;

	for (size_t i = 0; i < 4; i++)
		unit_assert_ok(map_put(&m, words[i], NULL, &err), &err);
	unit_assert_ok(map_put(&m, "d", &n, &err), &err);
	assert_true(map_del(&m, "a"));
	unit_assert_ok(map_put(&m, "a", NULL, &err), &err);
	map_each (&m, e)
		order[n++] = e->key[0];
	assert_string_equal(order, "bdca");
}

static void sorted_keys(void **state)
{
	AUTO(map) struct map m = MAP_INIT(NULL);
	AUTO_FREE const char **keys = NULL;
	struct err err = ERR_INIT;

	unit_assert_ok(map_put(&m, "b", NULL, &err), &err);
	unit_assert_ok(map_put(&m, "B", NULL, &err), &err);
	unit_assert_ok(map_put(&m, "a", NULL, &err), &err);
	unit_assert_ok(map_sorted_keys(&m, &keys, &err), &err);
	assert_string_equal(keys[0], "B");
	assert_string_equal(keys[1], "a");
	assert_string_equal(keys[2], "b");
}

static void a_failed_put_changes_nothing(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(map) struct map m = MAP_INIT(free);
		unsigned failures = 0;

		fault_arm(FAULT_ALLOC, n);
		for (int i = 0; i < 40; i++) {
			struct err err = ERR_INIT;
			char key[16];
			char *value = malloc(1);

			(void)snprintf(key, sizeof(key), "%d", i);
			if (map_put(&m, key, value, &err) < 0) {
				assert_int_equal(err.fail, FAIL_NOMEM);
				assert_false(map_has(&m, key));
				free(value);
				failures++;
			}
		}
		fired = fault_disarm();
		assert_true(failures <= fired);
		assert_int_equal(m.count, 40 - failures);
	}
}

static void no_randomness_is_an_error(void **state)
{
	AUTO(map) struct map m = MAP_INIT(NULL);
	struct err err = ERR_INIT;
	int rc;

	fault_arm(FAULT_RANDOM, 1);
	rc = map_put(&m, "a", NULL, &err);
	assert_true(fault_disarm());
	unit_assert_fails(rc, &err, FAIL_OS, "getrandom");
}

static void lists(void **state)
{
	AUTO(strs) struct strs s = STRS_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(strs_split(&s, "b,,a,", ',', false, &err), &err);
	assert_int_equal(s.n, 2);
	strs_sort(&s);
	assert_string_equal(s.v[0], "a");
	assert_true(strs_has(&s, "b"));
	assert_false(strs_has(&s, ""));
	strs_release(&s);
	unit_assert_ok(strs_split(&s, "b,,a,", ',', true, &err), &err);
	assert_int_equal(s.n, 4);
	unit_assert_ok(strs_split(&s, "", ',', true, &err), &err);
	assert_int_equal(s.n, 5);
	unit_assert_ok(strs_addn(&s, "xyz", 2, &err), &err);
	assert_string_equal(s.v[5], "xy");
}

static void lists_report_failed_allocations(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		AUTO(strs) struct strs s = STRS_INIT;
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = strs_split(&s, "a,b,c,d,e,f,g,h,i,j,k", ',', false, &err);
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(values_are_found_again),
		UNIT_CASE(owned_values_are_dropped_once),
		UNIT_CASE(the_order_is_that_of_insertion),
		UNIT_CASE(sorted_keys),
		UNIT_CASE(a_failed_put_changes_nothing),
		UNIT_CASE(no_randomness_is_an_error),
		UNIT_CASE(lists),
		UNIT_CASE(lists_report_failed_allocations),
	};

	UNIT_MAIN(tests);
}
