/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim: gives memory back that only the start, or a rush, needed: free heap,
 * and pages of programs and libraries that were read and are clean. They come
 * back from the page cache when they are needed again, which costs microseconds.
 */
#ifndef WEBHOOK_TRIM_H
#define WEBHOOK_TRIM_H

/* Any thread, at any time; does what it can. */
void trim_memory(void);
#endif
