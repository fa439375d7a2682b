/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: where the JSON trees of one review live. cJSON asks for two or three
 * small blocks a value; from malloc() that is two thirds of a review's time.
 * Inside arena_enter()/arena_leave() the calling thread's cJSON allocations
 * come from its arena, free() of them does nothing, and arena_leave() drops
 * all at once. What must outlive the review is copied between arena_pause()
 * and arena_resume(). An arena belongs to one thread.
 */
#ifndef WEBHOOK_ARENA_H
#define WEBHOOK_ARENA_H
#include "base/defs.h"

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks; /* owned; newest first */
	size_t total;               /* bytes in all chunks */
};
#define ARENA_INIT ((struct arena){ 0 })

/* Makes cJSON allocate through arenas. Once, before the first thread starts. */
void arena_install(void);
/* Frees the memory; must not be the current arena of any thread. */
void arena_release(struct arena *a);
/* From here the thread's cJSON memory comes from a. */
void arena_enter(struct arena *a);
/* Ends it: all trees made since arena_enter() are gone; keeps at most 1 MiB for the next one. */
void arena_leave(struct arena *a);
/* Whether the thread is inside of one: then cJSON_Delete() is a walk for nothing. */
bool arena_inside(void);
/* The thread's arena is set aside; returns it (NULL when there is none) for arena_resume(). */
struct arena *arena_pause(void);
void arena_resume(struct arena *a);
#endif
