/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include <math.h>

#include "base/num.h"
#include "wire/floats.h"
#include "wire/json_nodes.h"

/* Exponents past this are all the same to us. */
#define LIMIT_EXPONENT INT64_C(1000000000)

/* --- making nodes ------------------------------------------------------- */

cJSON *json_own_text(int type, char *text)
{
	cJSON *v = cJSON_CreateNull();

	if (!v) {
		cJSON_free(text);
		return NULL;
	}
	v->type = type;
	v->valuestring = text;
	return v;
}

static char *copy_text(const char *text, size_t n)
{
	char *copy = cJSON_malloc(n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

/* A plain whole number that every double holds: "0", "-12", "123456789012345". */
static bool short_integer(const char *text, size_t n)
{
	size_t sign = n && text[0] == '-';

	if (n - sign > 15 || (sign && text[1] == '0'))
		return false;
	for (size_t i = sign; i < n; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

cJSON *json_new_number(const char *text, size_t n)
{
	char back[FLOAT_TEXT_SIZE];
	char *copy;
	double d;

	if (short_integer(text, n)) {
		int64_t whole;

		if (num_parse(text, n, INT64_MIN, INT64_MAX, &whole, NULL) == 0)
			return cJSON_CreateNumber((double)whole);
	}
	copy = copy_text(text, n);
	if (!copy)
		return NULL;
	d = strtod(copy, NULL);
	if (n < FLOAT_TEXT_SIZE && isfinite(d)) {
		float_json(d, back);
		if (strcmp(back, copy) == 0) {
			cJSON_free(copy);
			return cJSON_CreateNumber(d);
		}
	}
	return json_own_text(cJSON_Raw, copy);
}

void json_link(cJSON *parent, cJSON *item)
{
	cJSON *first = parent->child;

	item->next = NULL;
	if (!first) {
		parent->child = item;
		item->prev = item;
		return;
	}
	item->prev = first->prev; /* cJSON keeps the last one there */
	first->prev->next = item;
	first->prev = item;
}

void json_link_before(cJSON *array, cJSON *before, cJSON *item)
{
	item->next = before;
	item->prev = before->prev;
	before->prev = item;
	if (array->child == before)
		array->child = item; /* item->prev is the last one now, as cJSON wants it */
	else
		item->prev->next = item;
}

struct ranked {
	const cJSON *member;
	size_t rank;
};

static int by_key(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;
	int order = strcmp(x->member->string, y->member->string);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

int json_sorted_members(const cJSON *object, const cJSON ***out, size_t *n, struct err *err)
{
	AUTO_FREE struct ranked *ranked = NULL;
	const cJSON **members;
	const cJSON *m;
	size_t count = json_len(object);
	size_t i = 0;

	ranked = calloc(count + 1, sizeof(*ranked));
	members = calloc(count + 1, sizeof(*members));
	if (!ranked || !members) {
		free(members);
		return err_nomem(err);
	}
	json_each (m, object) {
		ranked[i] = (struct ranked){ m, i };
		i++;
	}
	qsort(ranked, count, sizeof(*ranked), by_key);
	for (i = 0; i < count; i++)
		members[i] = ranked[i].member;
	*out = members;
	*n = count;
	return 0;
}

/* --- reading ------------------------------------------------------------ */

static cJSON *member(const cJSON *v, const char *key)
{
	if (!cJSON_IsObject(v))
		return NULL;
	for (cJSON *m = v->child; m; m = m->next)
		if (strcmp(m->string, key) == 0)
			return m;
	return NULL;
}

const cJSON *json_get(const cJSON *v, const char *key)
{
	const cJSON *m = member(v, key);

	return cJSON_IsNull(m) ? NULL : m;
}

cJSON *json_get_mut(cJSON *v, const char *key)
{
	cJSON *m = member(v, key);

	return cJSON_IsNull(m) ? NULL : m;
}

static cJSON *walk(cJSON *v, va_list ap)
{
	const char *key;

	while (v && (key = va_arg(ap, const char *)))
		v = json_get_mut(v, key);
	return cJSON_IsNull(v) ? NULL : v;
}

const cJSON *json_at(const cJSON *v, ...)
{
	const cJSON *found;
	va_list ap;

	va_start(ap, v);
	found = walk((cJSON *)v, ap); /* walk() changes nothing */
	va_end(ap);
	return found;
}

cJSON *json_at_mut(cJSON *v, ...)
{
	cJSON *found;
	va_list ap;

	va_start(ap, v);
	found = walk(v, ap);
	va_end(ap);
	return found;
}

const cJSON *json_index(const cJSON *v, size_t i)
{
	const cJSON *item;

	if (!cJSON_IsArray(v))
		return NULL;
	for (item = v->child; item && i; i--)
		item = item->next;
	return cJSON_IsNull(item) ? NULL : item;
}

size_t json_len(const cJSON *v)
{
	const cJSON *item;
	size_t n = 0;

	if (!cJSON_IsArray(v) && !cJSON_IsObject(v))
		return 0;
	json_each (item, v)
		n++;
	return n;
}

const char *json_str(const cJSON *v)
{
	return cJSON_IsString(v) ? v->valuestring : NULL;
}

const char *json_get_str(const cJSON *v, const char *key, const char *fallback)
{
	const char *text = json_str(json_get(v, key));

	return text ? text : fallback;
}

bool json_get_bool(const cJSON *v, const char *key, bool fallback)
{
	const cJSON *m = json_get(v, key);

	return cJSON_IsBool(m) ? cJSON_IsTrue(m) : fallback;
}

bool json_int(const cJSON *v, int64_t *out)
{
	if (cJSON_IsRaw(v))
		return num_parse(v->valuestring, strlen(v->valuestring), INT64_MIN, INT64_MAX, out,
				 NULL) == 0;
	if (!cJSON_IsNumber(v) || fabs(v->valuedouble) >= 9007199254740992.0 ||
	    v->valuedouble != (double)(int64_t)v->valuedouble)
		return false;
	*out = (int64_t)v->valuedouble;
	return true;
}

int64_t json_get_int(const cJSON *v, const char *key, int64_t fallback)
{
	int64_t n;

	return json_int(json_get(v, key), &n) ? n : fallback;
}

bool json_is_number(const cJSON *v)
{
	return cJSON_IsNumber(v) || cJSON_IsRaw(v);
}

/* --- comparing ---------------------------------------------------------- */

/* A number's text as sign, significant digits (a part of the text) and exponent. */
struct decimal {
	const char *first, *last; /* first and last digit that is not 0; NULL for 0 */
	int64_t exponent;         /* of the last digit */
	bool negative;
};

static struct decimal decimal_of(const char *s)
{
	struct decimal d = { .negative = *s == '-' };
	const char *digits = s + d.negative;
	int64_t place = (int64_t)strspn(digits, "0123456789"); /* of the digit before c */
	const char *c = digits;

	for (; *c && *c != 'e' && *c != 'E'; c++) {
		if (*c == '.')
			continue;
		place--;
		if (*c == '0')
			continue;
		d.first = d.first ? d.first : c;
		d.last = c;
		d.exponent = place;
	}
	if (!d.first)
		return (struct decimal){ 0 };
	if (*c) {
		int64_t written = c[1] == '-' ? -LIMIT_EXPONENT : LIMIT_EXPONENT;

		(void)!num_parse(c + 1, strlen(c + 1), -LIMIT_EXPONENT, LIMIT_EXPONENT, &written,
				 NULL); /* out of range: stays at the limit */
		d.exponent += written;
	}
	return d;
}

static bool same_number(const char *x, const char *y)
{
	struct decimal a = decimal_of(x);
	struct decimal b = decimal_of(y);

	if (!a.first || !b.first)
		return !a.first && !b.first;
	if (a.negative != b.negative || a.exponent != b.exponent)
		return false;
	while (a.first <= a.last && b.first <= b.last) {
		a.first += *a.first == '.';
		b.first += *b.first == '.';
		if (*a.first++ != *b.first++)
			return false;
	}
	return a.first > a.last && b.first > b.last;
}

static bool equal_numbers(const cJSON *a, const cJSON *b)
{
	char x[FLOAT_TEXT_SIZE];
	char y[FLOAT_TEXT_SIZE];

	if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
		return a->valuedouble == b->valuedouble;
	if (cJSON_IsNumber(a))
		float_json(a->valuedouble, x);
	if (cJSON_IsNumber(b))
		float_json(b->valuedouble, y);
	return same_number(cJSON_IsNumber(a) ? x : a->valuestring,
			   cJSON_IsNumber(b) ? y : b->valuestring);
}

static bool equal_objects(const cJSON *a, const cJSON *b)
{
	const cJSON *x = a->child;
	const cJSON *y = b->child;
	AUTO_FREE const cJSON **as = NULL;
	AUTO_FREE const cJSON **bs = NULL;
	size_t na, nb;

	/* Mostly both are in the same order. */
	while (x && y && strcmp(x->string, y->string) == 0) {
		if (!json_equal(x, y))
			return false;
		x = x->next;
		y = y->next;
	}
	if (!x || !y)
		return !x && !y;
	if (json_sorted_members(a, &as, &na, NULL) < 0 ||
	    json_sorted_members(b, &bs, &nb, NULL) < 0) {
		/* No memory to sort: the slow way. */
		if (json_len(a) != json_len(b))
			return false;
		for (x = a->child; x; x = x->next)
			if (!member(b, x->string) || !json_equal(x, member(b, x->string)))
				return false;
		return true;
	}
	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (strcmp(as[i]->string, bs[i]->string) != 0 || !json_equal(as[i], bs[i]))
			return false;
	return true;
}

bool json_equal(const cJSON *a, const cJSON *b)
{
	if (!a || !b)
		return a == b;
	if (json_is_number(a) && json_is_number(b))
		return equal_numbers(a, b);
	if ((a->type & 0xff) != (b->type & 0xff))
		return false;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	if (cJSON_IsObject(a))
		return equal_objects(a, b);
	if (cJSON_IsArray(a)) {
		const cJSON *x = a->child;
		const cJSON *y = b->child;

		for (; x && y; x = x->next, y = y->next)
			if (!json_equal(x, y))
				return false;
		return !x && !y;
	}
	return true; /* true, false and null have no value beside their type */
}

/* --- building ----------------------------------------------------------- */

int json_set(cJSON *object, const char *key, cJSON *item, struct err *err)
{
	cJSON *old = member(object, key);
	char *name = item ? copy_text(key, strlen(key)) : NULL;

	if (!name) {
		cJSON_Delete(item);
		return err_nomem(err);
	}
	if (item->string && !(item->type & cJSON_StringIsConst))
		cJSON_free(item->string);
	item->type &= ~cJSON_StringIsConst;
	item->string = name;
	if (old)
		(void)cJSON_ReplaceItemViaPointer(object, old, item); /* all three are there */
	else
		json_link(object, item);
	return 0;
}

int json_set_str(cJSON *object, const char *key, const char *text, struct err *err)
{
	return json_set(object, key, cJSON_CreateString(text), err);
}

int json_set_int(cJSON *object, const char *key, int64_t n, struct err *err)
{
	return json_set(object, key, json_new_int(n), err);
}

int json_set_bool(cJSON *object, const char *key, bool b, struct err *err)
{
	return json_set(object, key, cJSON_CreateBool(b), err);
}

int json_append(cJSON *array, cJSON *item, struct err *err)
{
	if (!item)
		return err_nomem(err);
	json_link(array, item);
	return 0;
}

int json_append_str(cJSON *array, const char *text, struct err *err)
{
	return json_append(array, cJSON_CreateString(text), err);
}

static cJSON *need(cJSON *object, const char *key, bool want_object, struct err *err)
{
	cJSON *v = json_get_mut(object, key);

	if (v && (want_object ? cJSON_IsObject(v) : cJSON_IsArray(v)))
		return v;
	if (v || !cJSON_IsObject(object)) {
		(void)err_set(err, FAIL_INPUT, "%s is not %s", key,
			      want_object ? "an object" : "a list");
		return NULL;
	}
	v = want_object ? cJSON_CreateObject() : cJSON_CreateArray();
	return json_set(object, key, v, err) < 0 ? NULL : v;
}

cJSON *json_need_object(cJSON *object, const char *key, struct err *err)
{
	return need(object, key, true, err);
}

cJSON *json_need_array(cJSON *object, const char *key, struct err *err)
{
	return need(object, key, false, err);
}

cJSON *json_copy(const cJSON *v, struct err *err)
{
	cJSON *copy = cJSON_Duplicate(v, true);

	if (!copy)
		(void)err_nomem(err);
	return copy;
}

cJSON *json_new_int(int64_t n)
{
	char text[FLOAT_TEXT_SIZE];
	int len = snprintf(text, sizeof(text), "%" PRId64, n);

	return json_new_number(text, (size_t)len);
}

void json_del(cJSON *object, const char *key)
{
	cJSON *old = member(object, key);

	if (old)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, old));
}
