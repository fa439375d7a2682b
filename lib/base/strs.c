/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strs.h"

#include "base/limits.h"

void strs_release(struct strs *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = STRS_INIT;
}

int strs_addn(struct strs *s, const char *text, size_t len, struct err *err)
{
	if (s->n == LIMIT_ITEMS)
		return err_set(err, FAIL_LIMIT, "more than %d entries", LIMIT_ITEMS);
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 8;
		char **v = reallocarray(s->v, size, sizeof(*v));

		if (!v)
			return err_nomem(err);
		s->v = v;
		s->size = size;
	}
	s->v[s->n] = strndup(text, len);
	if (!s->v[s->n])
		return err_nomem(err);
	s->n++;
	return 0;
}

int strs_add(struct strs *s, const char *text, struct err *err)
{
	return strs_addn(s, text, strlen(text), err);
}

bool strs_has(const struct strs *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i], text) == 0)
			return true;
	return false;
}

int strs_split(struct strs *s, const char *text, char sep, bool keep_empty, struct err *err)
{
	for (;;) {
		const char *end = strchrnul(text, sep);

		if ((end > text || keep_empty) && strs_addn(s, text, (size_t)(end - text), err) < 0)
			return -1;
		if (!*end)
			return 0;
		text = end + 1;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strs_sort(struct strs *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_text);
}

int str_copy(const char *text, char **out, struct err *err)
{
	char *copy = strdup(text);

	if (!copy)
		return err_nomem(err);
	*out = copy;
	return 0;
}
