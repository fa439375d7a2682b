/* SPDX-License-Identifier: Apache-2.0 */
/* json_nodes: making cJSON nodes by hand, for the readers of JSON and YAML in wire/. */
#ifndef WIRE_JSON_NODES_H
#define WIRE_JSON_NODES_H
#include "wire/json.h"

/* A node of a type with text (cJSON_String, cJSON_Raw) that owns `text`; on NULL it is freed. */
cJSON *json_own_text(int type, char *text);
/* A number from its JSON text: a double where that prints back the same, else raw; NULL: no memory.
 */
cJSON *json_new_number(const char *text, size_t n);
/* Appends an item (whose key is set already, for an object). */
void json_link(cJSON *parent, cJSON *item);
/*
 * Puts item before another one of the array. (cJSON_InsertItemInArray of
 * Debian 12 refuses to insert anywhere but at the end.)
 */
void json_link_before(cJSON *array, cJSON *before, cJSON *item);
/* Members by key (stable); *out is the caller's to free, NULL when there are none. */
MUST_USE int json_sorted_members(const cJSON *object, const cJSON ***out, size_t *n,
				 struct err *err);
/*
 * As json_parse, but stops after the first value and the space behind it:
 * *used is how many bytes that is. With used NULL nothing may follow. Messages
 * count lines from `line`.
 */
MUST_USE int json_parse_prefix(const char *text, size_t n, bool lenient, size_t line, size_t *used,
			       cJSON **out, struct err *err);
#endif
