/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: JSON trees (cJSON) behind a strict gate.
 * json_parse() scans the bytes first: RFC 8259, valid UTF-8, no BOM, no
 * trailing data, no duplicate keys, no U+0000, no lone surrogates, a depth
 * limit. Numbers that a double does not print back the same are kept as raw
 * text (cJSON_Raw), so an int64 or a long decimal survives unchanged.
 * Getters take a NULL tree and give "absent"; a JSON null is absent too. They
 * are case-sensitive. Trees belong to one owner; `const cJSON *` is borrowed.
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H
#include <cjson/cJSON.h>

#include "base/buf.h"

#define AUTO_JSON __attribute__((cleanup(json_auto_free)))
static inline void json_auto_free(cJSON **p)
{
	cJSON_Delete(*p);
}

/* Parses exactly n bytes. FAIL_INPUT says line and column, and what is wrong. */
MUST_USE int json_parse(const char *text, size_t n, cJSON **out, struct err *err);
/*
 * As json_parse, but the last of duplicate keys wins as in Go, for what the API
 * server itself sent.
 */
MUST_USE int json_parse_lenient(const char *text, size_t n, cJSON **out, struct err *err);
/* Compact, in the tree's order; raw numbers as they were. */
MUST_USE int json_print(const cJSON *v, struct buf *out, struct err *err);
/* Indented by 4 with keys sorted, ending in a newline, as `kubectl -o json` prints. */
MUST_USE int json_print_pretty(const cJSON *v, struct buf *out, struct err *err);

#define json_each(item, parent) \
	for ((item) = (parent) ? (parent)->child : NULL; (item); (item) = (item)->next)

/* Member of an object; NULL when absent, null, or v is no object. */
const cJSON *json_get(const cJSON *v, const char *key);
cJSON *json_get_mut(cJSON *v, const char *key);
/* json_at(v, "spec", "etReplicaSpecs", "worker", NULL): a walk down objects. */
const cJSON *json_at(const cJSON *v, ...) __attribute__((sentinel));
cJSON *json_at_mut(cJSON *v, ...) __attribute__((sentinel));
/* Element i of an array, or NULL. */
const cJSON *json_index(const cJSON *v, size_t i);
size_t json_len(const cJSON *v);
/* The text of a string, or NULL when it is none. */
const char *json_str(const cJSON *v);
/* json_str(json_get(v, key)), or fallback. */
const char *json_get_str(const cJSON *v, const char *key, const char *fallback);
bool json_get_bool(const cJSON *v, const char *key, bool fallback);
/* Whole numbers only (3 and -4; not 3.0, 1e1 or "3"): true and *out when it is one in int64. */
bool json_int(const cJSON *v, int64_t *out);
int64_t json_get_int(const cJSON *v, const char *key, int64_t fallback);
bool json_is_number(const cJSON *v); /* cJSON_Number or a raw number */
/* Same value: objects in any key order, numbers by value. */
bool json_equal(const cJSON *a, const cJSON *b);

/* Builders: NULL on no memory; adders return -1 (FAIL_NOMEM) and then have freed `item`. */
MUST_USE int json_set(cJSON *object, const char *key, cJSON *item, struct err *err); /* replaces */
MUST_USE int json_set_str(cJSON *object, const char *key, const char *text, struct err *err);
MUST_USE int json_set_int(cJSON *object, const char *key, int64_t n, struct err *err);
MUST_USE int json_set_bool(cJSON *object, const char *key, bool b, struct err *err);
MUST_USE int json_append(cJSON *array, cJSON *item, struct err *err);
MUST_USE int json_append_str(cJSON *array, const char *text, struct err *err);
/* Member `key` of object, made (object or array) when absent; NULL with err on no memory or wrong
 * type. */
cJSON *json_need_object(cJSON *object, const char *key, struct err *err);
cJSON *json_need_array(cJSON *object, const char *key, struct err *err);
cJSON *json_copy(const cJSON *v, struct err *err);
cJSON *json_new_int(int64_t n); /* exact for all of int64 */
void json_del(cJSON *object, const char *key);
#endif
