/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/trim.h"

#include <inttypes.h>
#include <malloc.h>
#include <sys/mman.h>

#include "base/file.h"

/* One mapping of /proc/self/smaps. */
struct mapping {
	uintptr_t from, to;
	bool clean_kind; /* read-only and of a file */
};

/* "7f00-7f10 r-xp 00000000 08:01 123  /usr/lib/x.so"; false for the lines in between. */
static bool read_head(const char *line, struct mapping *m)
{
	char *end;
	uintmax_t from = strtoumax(line, &end, 16), to;

	if (end == line || *end != '-')
		return false;
	to = strtoumax(end + 1, &end, 16);
	if (*end != ' ')
		return false;
	*m = (struct mapping){ .from = (uintptr_t)from, .to = (uintptr_t)to };
	/* readable, not writable, private; a path begins with a slash */
	m->clean_kind = end[1] == 'r' && end[2] == '-' && end[4] == 'p' && strchr(end, '/');
	return true;
}

/*
 * Only mappings without one page of our own: what relocation wrote, and made
 * read-only after, would be lost.
 */
static void drop_clean_pages(char *smaps)
{
	struct mapping m = { 0 };

	for (char *line = smaps, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (read_head(line, &m) || !m.clean_kind || !str_starts(line, "Anonymous:"))
			continue;
		if (strtoumax(line + strlen("Anonymous:"), NULL, 10) == 0)
			(void)madvise((void *)m.from, m.to - m.from, MADV_DONTNEED); /* a wish */
	}
}

void trim_memory(void)
{
	AUTO(buf) struct buf smaps = BUF_INIT(4u << 20);

	if (file_read("/proc/self/smaps", &smaps, NULL) == 0 && smaps.data)
		drop_clean_pages(smaps.data);
	buf_release(&smaps);
	(void)malloc_trim(0); /* whether it found something does not matter */
}
