/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/arena.h"

#include <cjson/cJSON.h>

#define CHUNK_FIRST ((size_t)64 << 10)
#define CHUNK_MOST ((size_t)1 << 20)
#define KEEP_BYTES ((size_t)1 << 20)
#define ALIGN ((size_t)16)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used; /* bytes of data */
	_Alignas(16) char data[];
};

/*
 * The only state outside a context: cJSON's hooks take no argument, so each
 * thread keeps the arena that it is inside of here.
 */
static _Thread_local struct arena *current;

static struct arena_chunk *chunk_new(struct arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;
	struct arena_chunk *c;

	if (size > CHUNK_MOST)
		size = CHUNK_MOST;
	if (size < need)
		size = need;
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	*c = (struct arena_chunk){ .next = a->chunks, .size = size };
	a->chunks = c;
	a->total += size;
	return c;
}

static void *arena_malloc(size_t n)
{
	struct arena *a = current;
	struct arena_chunk *c;
	void *p;

	if (!a)
		return malloc(n);
	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + ALIGN - 1) & ~(ALIGN - 1);
	c = a->chunks;
	if (!c || c->size - c->used < n)
		c = chunk_new(a, n);
	if (!c)
		return NULL;
	p = c->data + c->used;
	c->used += n;
	return p;
}

/* Trees made before arena_enter(), or while it was paused, may be freed inside it. */
static bool arena_owns(const struct arena *a, const void *p)
{
	uintptr_t at = (uintptr_t)p;

	for (const struct arena_chunk *c = a->chunks; c; c = c->next) {
		uintptr_t start = (uintptr_t)c->data;

		if (at >= start && at < start + c->size)
			return true;
	}
	return false;
}

static void arena_free(void *p)
{
	if (!p || (current && arena_owns(current, p)))
		return;
	free(p);
}

void arena_install(void)
{
	cJSON_Hooks hooks = { .malloc_fn = arena_malloc, .free_fn = arena_free };

	cJSON_InitHooks(&hooks);
}

static void chunks_free(struct arena *a, struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		a->total -= c->size;
		free(c);
		c = next;
	}
}

void arena_release(struct arena *a)
{
	chunks_free(a, a->chunks);
	*a = ARENA_INIT;
}

void arena_enter(struct arena *a)
{
	current = a;
}

void arena_leave(struct arena *a)
{
	struct arena_chunk *keep = a->chunks;

	current = NULL;
	if (!keep)
		return;
	/* The newest chunk is the largest: one block then serves reviews of this size. */
	chunks_free(a, keep->next);
	keep->next = NULL;
	keep->used = 0;
	if (keep->size > KEEP_BYTES) {
		a->chunks = NULL;
		chunks_free(a, keep);
	}
}

bool arena_inside(void)
{
	return current;
}

struct arena *arena_pause(void)
{
	struct arena *a = current;

	current = NULL;
	return a;
}

void arena_resume(struct arena *a)
{
	current = a;
}
