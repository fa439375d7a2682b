/* SPDX-License-Identifier: Apache-2.0 */
/* patch: JSON Patch (RFC 6902) lists: built op by op, and applied (for tests and the plugin). */
#ifndef WIRE_PATCH_H
#define WIRE_PATCH_H
#include "wire/json.h"

struct patch {
	cJSON *ops; /* owned array; NULL while empty */
};
#define PATCH_INIT ((struct patch){ 0 })
void patch_release(struct patch *p);
/* Appends "/" and the key with ~ and / escaped (RFC 6901) to a pointer. */
void patch_pointer(struct buf *pointer, const char *key);
void patch_pointer_index(struct buf *pointer, size_t i);
/* Each op takes ownership of value, also on failure. */
MUST_USE int patch_add(struct patch *p, const char *pointer, cJSON *value, struct err *err);
MUST_USE int patch_replace(struct patch *p, const char *pointer, cJSON *value, struct err *err);
MUST_USE int patch_remove(struct patch *p, const char *pointer, struct err *err);
MUST_USE int patch_test(struct patch *p, const char *pointer, cJSON *value, struct err *err);
size_t patch_len(const struct patch *p);
/* Applies add, replace, remove and test ops to *doc in order; on failure *doc is as it was. */
MUST_USE int patch_apply(const cJSON *ops, cJSON **doc, struct err *err);
/* RFC 7386: merges `patch` into *doc. */
MUST_USE int patch_merge(cJSON **doc, const cJSON *patch, struct err *err);
#endif
