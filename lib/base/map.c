/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>

#include "base/clock.h"
#include "base/limits.h"

#define FIRST_SLOTS 16

static uint64_t rotl(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

/* SipHash-1-3: keys come from users, who must not be able to make them collide. */
static uint64_t hash_of(const struct map *m, const char *key)
{
	size_t n = strlen(key);
	uint64_t v[4] = { m->seed[0] ^ 0x736f6d6570736575, m->seed[1] ^ 0x646f72616e646f6d,
			  m->seed[0] ^ 0x6c7967656e657261, m->seed[1] ^ 0x7465646279746573 };
	uint64_t last = (uint64_t)n << 56;
	uint64_t word;

	for (; n >= 8; n -= 8, key += 8) {
		memcpy(&word, key, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)(unsigned char)key[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The link that points to the entry of key, or to the NULL at the end of its slot. */
static struct map_entry **find(const struct map *m, const char *key, uint64_t hash)
{
	struct map_entry **link = &m->slots[hash & (m->nslots - 1)];

	while (*link && ((*link)->hash != hash || strcmp((*link)->key, key) != 0))
		link = &(*link)->next;
	return link;
}

static struct map_entry *get(const struct map *m, const char *key)
{
	return m->count ? *find(m, key, hash_of(m, key)) : NULL;
}

void map_release(struct map *m)
{
	struct map_entry *e = m->first;

	while (e) {
		struct map_entry *after = e->after;

		if (m->drop)
			m->drop(e->value);
		free(e->key);
		free(e);
		e = after;
	}
	free(m->slots);
	*m = MAP_INIT(m->drop);
}

void *map_get(const struct map *m, const char *key)
{
	const struct map_entry *e = get(m, key);

	return e ? e->value : NULL;
}

bool map_has(const struct map *m, const char *key)
{
	return get(m, key) != NULL;
}

/* Makes the table for one more entry; the old one stays on failure. */
static int grow(struct map *m, struct err *err)
{
	struct map_entry **slots;
	size_t nslots = m->nslots ? m->nslots * 2 : FIRST_SLOTS;

	if (m->count < m->nslots)
		return 0;
	if (m->count >= LIMIT_ITEMS)
		return err_set(err, FAIL_LIMIT, "more than %d entries", LIMIT_ITEMS);
	if (!m->slots && clock_random(m->seed, sizeof(m->seed)) < 0)
		return err_os(err, errno, "getrandom");
	slots = calloc(nslots, sizeof(*slots));
	if (!slots)
		return err_nomem(err);
	for (struct map_entry *e = m->first; e; e = e->after) {
		struct map_entry **slot = &slots[e->hash & (nslots - 1)];

		e->next = *slot;
		*slot = e;
	}
	free(m->slots);
	m->slots = slots;
	m->nslots = nslots;
	return 0;
}

int map_put(struct map *m, const char *key, void *value, struct err *err)
{
	struct map_entry *e = get(m, key);
	struct map_entry **link;

	if (e) {
		if (m->drop && e->value != value)
			m->drop(e->value);
		e->value = value;
		return 0;
	}
	if (grow(m, err) < 0)
		return -1;
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_nomem(err);
	e->key = strdup(key);
	if (!e->key) {
		free(e);
		return err_nomem(err);
	}
	e->value = value;
	e->hash = hash_of(m, key);
	link = find(m, key, e->hash);
	*link = e;
	e->before = m->last;
	*(m->last ? &m->last->after : &m->first) = e;
	m->last = e;
	m->count++;
	return 0;
}

/* Takes the entry out of the table and frees it; false when key is absent. */
static bool take(struct map *m, const char *key, void **value)
{
	struct map_entry **link;
	struct map_entry *e;

	if (!m->count)
		return false;
	link = find(m, key, hash_of(m, key));
	e = *link;
	if (!e)
		return false;
	*link = e->next;
	*(e->before ? &e->before->after : &m->first) = e->after;
	*(e->after ? &e->after->before : &m->last) = e->before;
	m->count--;
	*value = e->value;
	free(e->key);
	free(e);
	return true;
}

void *map_take(struct map *m, const char *key)
{
	void *value = NULL;

	(void)take(m, key, &value); /* absent is NULL */
	return value;
}

bool map_del(struct map *m, const char *key)
{
	void *value;

	if (!take(m, key, &value))
		return false;
	if (m->drop)
		m->drop(value);
	return true;
}

struct map_entry *map_next(const struct map *m, const struct map_entry *e)
{
	return e ? e->after : m->first;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int map_sorted_keys(const struct map *m, const char ***out, struct err *err)
{
	const char **keys = calloc(m->count + 1, sizeof(*keys));
	const struct map_entry *e;
	size_t n = 0;

	if (!keys)
		return err_nomem(err);
	map_each (m, e)
		keys[n++] = e->key;
	qsort(keys, n, sizeof(*keys), by_text);
	*out = keys;
	return 0;
}
