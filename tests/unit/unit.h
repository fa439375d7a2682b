/* SPDX-License-Identifier: Apache-2.0 */
/* unit: what every test file includes: cmocka and its prerequisites, and a few checks of ours. */
#ifndef UNIT_H
#define UNIT_H
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "wire/json.h"

/* All of a file of the tree; the caller free()s it. Ends the test when it cannot be read. */
char *unit_read(const char *path, size_t *n);
/* The tree of a JSON text; ends the test when it is none. */
cJSON *unit_json(const char *text);
/* Ends the test unless v prints as this JSON text (compact, in its own order). */
void unit_assert_json(const cJSON *v, const char *text);
/* Ends the test when rc is -1, with the message. */
void unit_assert_ok(int rc, const struct err *err);
/* Ends the test unless rc is -1 and err is this failure with this text in its message. */
void unit_assert_fails(int rc, const struct err *err, enum fail fail, const char *part);
#define UNIT_CASE(name) cmocka_unit_test(name)
#define UNIT_MAIN(tests) return cmocka_run_group_tests((tests), NULL, NULL)
#endif
