/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map: string keys to void pointers (SipHash with a random key against collisions).
 * Keys are copied. Values belong to the map when `drop` is set: replaced,
 * deleted and released values are passed to it. Not thread-safe; a map that
 * nobody changes may be read by many threads.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include "base/err.h"

struct map_entry {
	char *key;   /* owned by the map */
	void *value; /* owned by the map when drop is set */
	uint64_t hash;
	struct map_entry *next;           /* in the same slot */
	struct map_entry *before, *after; /* in order of insertion */
};

struct map {
	struct map_entry **slots;  /* owned; NULL while empty */
	size_t nslots;             /* a power of two */
	size_t count;              /* entries */
	void (*drop)(void *value); /* may be NULL: values are borrowed */
	struct map_entry *first, *last;
	uint64_t seed[2]; /* of the hash; drawn when the first entry comes */
};
#define MAP_INIT(drop_fn) ((struct map){ .drop = (drop_fn) })

/* Frees all; m is empty and usable again. */
void map_release(struct map *m);
/* The value, or NULL. */
void *map_get(const struct map *m, const char *key);
bool map_has(const struct map *m, const char *key);
/* Stores value (may be NULL with map_has true). Takes ownership only on success. */
MUST_USE int map_put(struct map *m, const char *key, void *value, struct err *err);
/* Removes and returns the value without dropping it; NULL when absent. */
void *map_take(struct map *m, const char *key);
/* Removes and drops; true when there was one. */
bool map_del(struct map *m, const char *key);
/*
 * Walks in order of (first) insertion: `struct map_entry *e; map_each(m, e) {...}`.
 * The map must not change meanwhile.
 */
struct map_entry *map_next(const struct map *m, const struct map_entry *e);
#define map_each(m, e) for ((e) = map_next((m), NULL); (e); (e) = map_next((m), (e)))
/* Keys in strcmp order: *out is an array of map->count borrowed keys; the caller free()s it. */
MUST_USE int map_sorted_keys(const struct map *m, const char ***out, struct err *err);
#endif
