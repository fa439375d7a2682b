/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <ctype.h>

#include "base/num.h"

static void *field(const struct opt *o, void *into)
{
	return (char *)into + o->offset;
}

static const void *const_field(const struct opt *o, const void *from)
{
	return (const char *)from + o->offset;
}

static bool is_option(const struct opt *o)
{
	return o->kind != OPT_KIND_GROUP;
}

/* An option found in the sets, and the struct that it fills. */
struct found {
	const struct opt *opt;
	void *into;
};

static struct found find_name(const struct opt_set *sets, size_t nsets, const char *name,
			      size_t len)
{
	for (size_t i = 0; i < nsets; i++)
		for (const struct opt *o = sets[i].opts; o->kind != OPT_KIND_END; o++)
			if (is_option(o) && strncmp(o->name, name, len) == 0 && !o->name[len])
				return (struct found){ o, sets[i].into };
	return (struct found){ 0 };
}

static struct found find_letter(const struct opt_set *sets, size_t nsets, char letter)
{
	for (size_t i = 0; i < nsets; i++)
		for (const struct opt *o = sets[i].opts; o->kind != OPT_KIND_END; o++)
			if (is_option(o) && o->letter == letter)
				return (struct found){ o, sets[i].into };
	return (struct found){ 0 };
}

/* Distance of two words: insertions, deletions, changes and swaps of neighbours. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][65];
	size_t *two = rows[0], *one = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		one[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = two;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = one[j - 1] + (a[i - 1] != b[j - 1]);

			if (one[j] + 1 < best)
				best = one[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
		two = one;
		one = now;
		now = spare;
	}
	return one[nb];
}

/* Keeps candidate in *best when it is nearer to word than what is there. */
static void consider(const char *word, size_t len, const char *candidate, const char **best,
		     size_t *best_distance)
{
	size_t n = strlen(candidate);
	size_t d;

	if (len > 64 || n > 64)
		return;
	d = distance(word, len, candidate, n);
	if (d <= (n < 4 ? 1 : n / 3 + (n == 4 || n == 5)) && d < n && d < *best_distance) {
		*best = candidate;
		*best_distance = d;
	}
}

const char *opt_nearest(const char *word, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < n; i++)
		consider(word, strlen(word), words[i], &best, &best_distance);
	return best;
}

static int unknown(const struct opt_set *sets, size_t nsets, const char *name, size_t len,
		   struct err *err)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < nsets; i++)
		for (const struct opt *o = sets[i].opts; o->kind != OPT_KIND_END; o++)
			if (is_option(o) && !(o->flags & OPT_HIDDEN))
				consider(name, len, o->name, &best, &best_distance);
	if (best)
		return err_set(err, FAIL_USAGE, "unknown flag: --%.*s (did you mean --%s?)",
			       (int)len, name, best);
	return err_set(err, FAIL_USAGE, "unknown flag: --%.*s", (int)len, name);
}

static bool parse_bool(const char *text, bool *out)
{
	static const char *const yes[] = { "true", "True", "TRUE", "t", "T", "1" };
	static const char *const no[] = { "false", "False", "FALSE", "f", "F", "0" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*out = strcmp(text, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

/* True when word is one of "a|b|c". */
static bool one_of(const char *values, const char *word)
{
	size_t len = strlen(word);

	for (const char *v = values; *v;) {
		size_t n = strcspn(v, "|");

		if (n == len && strncmp(v, word, n) == 0)
			return true;
		v += n + (v[n] == '|');
	}
	return false;
}

static int set_number(const struct opt *o, int64_t *to, const char *value, struct err *err)
{
	int64_t n;
	int rc = o->kind == OPT_KIND_INT ? num_parse(value, strlen(value), o->min, o->max, &n, err)
					 : num_seconds(value, strlen(value), &n, err);

	if (rc == 0 && (n < o->min || n > o->max))
		rc = err_set(err, FAIL_INPUT, "%s is not between %" PRId64 "s and %" PRId64 "s",
			     value, o->min, o->max);
	if (rc == 0)
		*to = n;
	return rc;
}

/* The value into the field; the error names the value only. */
static int set_field(const struct opt *o, void *to, const char *value, struct err *err)
{
	switch (o->kind) {
	case OPT_KIND_BOOL:
		if (!parse_bool(value, to))
			return err_set(err, FAIL_USAGE, "\"%s\" is not true or false", value);
		return 0;
	case OPT_KIND_INT:
	case OPT_KIND_SECS:
		return set_number(o, to, value, err);
	case OPT_KIND_ENUM:
		if (!one_of(o->values, value))
			return err_set(err, FAIL_USAGE, "\"%s\" is none of %s", value, o->values);
		*(const char **)to = value;
		return 0;
	case OPT_KIND_STR:
		*(const char **)to = value;
		return 0;
	case OPT_KIND_LIST:
		return strs_add(to, value, err);
	case OPT_KIND_CSV:
		return strs_split(to, value, ',', false, err);
	case OPT_KIND_END:
	case OPT_KIND_GROUP:
		break;
	}
	return 0;
}

static int set(const struct found *f, const char *value, struct err *err)
{
	if (set_field(f->opt, field(f->opt, f->into), value, err) < 0) {
		if (err && err->fail == FAIL_INPUT)
			err->fail = FAIL_USAGE;
		return err_wrap(err, "invalid argument for --%s", f->opt->name);
	}
	if (f->opt->given_offset != SIZE_MAX)
		*(bool *)((char *)f->into + f->opt->given_offset) = true;
	return 0;
}

/* What a bare --name means, or NULL when a value must follow. */
static const char *bare_value(const struct opt *o)
{
	if (o->kind == OPT_KIND_BOOL)
		return "true";
	return o->flags & OPT_OPTARG ? o->implied : NULL;
}

/* "--name", "--name=value"; *i is moved on when the next word is the value. */
static int long_option(const struct opt_set *sets, size_t nsets, int argc, char *const *argv,
		       int *i, struct err *err)
{
	const char *name = argv[*i] + 2;
	size_t len = strcspn(name, "=");
	struct found f = find_name(sets, nsets, name, len);
	const char *value;

	if (!f.opt)
		return unknown(sets, nsets, name, len, err);
	value = name[len] ? name + len + 1 : bare_value(f.opt);
	if (!value) {
		if (*i + 1 >= argc)
			return err_set(err, FAIL_USAGE, "flag needs an argument: --%s",
				       f.opt->name);
		value = argv[++*i];
	}
	return set(&f, value, err);
}

/* "-abc", "-nVALUE", "-n=VALUE", "-n VALUE". */
static int letters(const struct opt_set *sets, size_t nsets, int argc, char *const *argv, int *i,
		   struct err *err)
{
	const char *word = argv[*i];

	for (const char *s = word + 1; *s;) {
		struct found f = find_letter(sets, nsets, *s);
		const char *value;

		if (!f.opt)
			return err_set(err, FAIL_USAGE, "unknown shorthand flag: '%c' in %s", *s,
				       word);
		s++;
		if (*s == '=') {
			value = s + 1;
			s = "";
		} else if (f.opt->kind == OPT_KIND_BOOL || (!*s && bare_value(f.opt))) {
			value = bare_value(f.opt);
		} else if (*s) {
			value = s;
			s = "";
		} else if (*i + 1 < argc) {
			value = argv[++*i];
		} else {
			return err_set(err, FAIL_USAGE, "flag needs an argument: '%c' in %s", s[-1],
				       word);
		}
		if (set(&f, value, err) < 0)
			return -1;
	}
	return 0;
}

void opt_args_release(struct opt_args *a)
{
	free(a->v);
	*a = (struct opt_args){ .dashdash = -1 };
}

int opt_parse(const struct opt_set *sets, size_t nsets, int argc, char *const *argv,
	      struct opt_args *args, struct err *err)
{
	AUTO(opt_args) struct opt_args got = { .dashdash = -1 };

	got.v = calloc((size_t)argc + 1, sizeof(*got.v));
	if (!got.v)
		return err_nomem(err);
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];

		if (got.dashdash >= 0 || word[0] != '-' || !word[1]) {
			got.v[got.n++] = word;
		} else if (strcmp(word, "--") == 0) {
			got.dashdash = (ptrdiff_t)got.n;
		} else if (word[1] == '-') {
			if (long_option(sets, nsets, argc, argv, &i, err) < 0)
				return -1;
		} else if (letters(sets, nsets, argc, argv, &i, err) < 0) {
			return -1;
		}
	}
	*args = got;
	got.v = NULL;
	return 0;
}

void opt_release(const struct opt *opts, void *into)
{
	for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
		if (o->kind == OPT_KIND_LIST || o->kind == OPT_KIND_CSV)
			strs_release(field(o, into));
}

/* --- help --------------------------------------------------------------- */

/* "  -w, --workers N" */
static void add_head(const struct opt *o, struct buf *b)
{
	bool bare = o->flags & OPT_OPTARG;
	const char *arg = o->kind == OPT_KIND_ENUM && strlen(o->values) <= 24 ? o->values : o->arg;

	if (o->letter)
		buf_printf(b, "  -%c, --%s", o->letter, o->name);
	else
		buf_printf(b, "      --%s", o->name);
	if (o->kind != OPT_KIND_BOOL && arg)
		buf_printf(b, bare ? "[=%s]" : " %s", arg);
}

static void add_seconds(int64_t s, struct buf *b)
{
	if (s >= 3600)
		buf_printf(b, "%" PRId64 "h", s / 3600);
	if (s % 3600 >= 60)
		buf_printf(b, "%" PRId64 "m", s % 3600 / 60);
	if (s % 60 || s == 0)
		buf_printf(b, "%" PRId64 "s", s % 60);
}

/* " (default X)" where there is a default to tell. */
static void add_default(const struct opt *o, const void *defaults, struct buf *b)
{
	const void *at;
	int64_t n;

	if (!defaults || (o->flags & OPT_GIVEN_ONLY))
		return;
	at = const_field(o, defaults);
	switch (o->kind) {
	case OPT_KIND_BOOL:
		if (*(const bool *)at)
			buf_str(b, " (default true)");
		return;
	case OPT_KIND_INT:
	case OPT_KIND_SECS:
		n = *(const int64_t *)at;
		if (n < o->min || n > o->max)
			return; /* stands for "not given" */
		buf_str(b, " (default ");
		if (o->kind == OPT_KIND_SECS)
			add_seconds(n, b);
		else
			buf_printf(b, "%" PRId64, n);
		buf_char(b, ')');
		return;
	case OPT_KIND_STR:
	case OPT_KIND_ENUM:
		if (*(const char *const *)at && **(const char *const *)at)
			buf_printf(b, " (default %s)", *(const char *const *)at);
		return;
	case OPT_KIND_LIST:
	case OPT_KIND_CSV:
	case OPT_KIND_END:
	case OPT_KIND_GROUP:
		return;
	}
}

/* text in lines of width columns, each after the first indented; starts at column `at`. */
static void add_wrapped(const char *text, size_t indent, size_t width, struct buf *b)
{
	size_t column = indent;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (column > indent && column + 1 + n > width) {
			buf_printf(b, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			buf_char(b, ' ');
			column++;
		}
		buf_add(b, text, n);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	buf_char(b, '\n');
}

#define HELP_COLUMN_MAX 34

void opt_help(const struct opt *opts, const void *defaults, size_t width, struct buf *out)
{
	AUTO(buf) struct buf text = BUF_INIT(out->cap);
	enum fail fail = FAIL_NONE; /* clearing text forgets it */
	size_t column = 0;

	for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
		if (!is_option(o) || (o->flags & OPT_HIDDEN))
			continue;
		buf_clear(&text);
		add_head(o, &text);
		fail = text.fail != FAIL_NONE ? text.fail : fail;
		if (text.len + 2 > column && text.len + 2 <= HELP_COLUMN_MAX)
			column = text.len + 2;
	}
	for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
		if (o->flags & OPT_HIDDEN)
			continue;
		if (o->kind == OPT_KIND_GROUP) {
			buf_printf(out, "\n%s:\n", o->help);
			continue;
		}
		buf_clear(&text);
		add_head(o, &text);
		fail = text.fail != FAIL_NONE ? text.fail : fail;
		buf_add(out, buf_text(&text), text.len);
		if (text.len + 2 > column)
			buf_printf(out, "\n%*s", (int)column, "");
		else
			buf_printf(out, "%*s", (int)(column - text.len), "");
		buf_clear(&text);
		buf_str(&text, o->help);
		if (o->kind == OPT_KIND_ENUM && strlen(o->values) > 24)
			buf_printf(&text, ": %s", o->values);
		add_default(o, defaults, &text);
		fail = text.fail != FAIL_NONE ? text.fail : fail;
		add_wrapped(buf_text(&text), column, width, out);
	}
	if (fail != FAIL_NONE && out->fail == FAIL_NONE)
		out->fail = fail;
}

static int check_one(const struct opt *opts, const struct opt *o, struct err *err)
{
	size_t len = strlen(o->help);

	if (!o->name || !*o->name || o->name[0] == '-')
		return err_set(err, FAIL_STATE, "an option has no name");
	for (const struct opt *p = opts; p < o; p++) {
		if (!is_option(p))
			continue;
		if (strcmp(p->name, o->name) == 0)
			return err_set(err, FAIL_STATE, "--%s is there twice", o->name);
		if (o->letter && p->letter == o->letter)
			return err_set(err, FAIL_STATE, "--%s and --%s share -%c", p->name, o->name,
				       o->letter);
	}
	if (len == 0 || o->help[len - 1] == '.' ||
	    (isupper((unsigned char)o->help[0]) && islower((unsigned char)o->help[1])))
		return err_set(err, FAIL_STATE, "help of --%s: lower case, without a full stop",
			       o->name);
	if (o->kind == OPT_KIND_ENUM && (!o->values || !*o->values || *o->values == '@'))
		return err_set(err, FAIL_STATE, "--%s has no list of values", o->name);
	if (o->kind != OPT_KIND_BOOL && !o->arg)
		return err_set(err, FAIL_STATE, "the value of --%s has no name", o->name);
	if (o->min > o->max)
		return err_set(err, FAIL_STATE, "--%s has an empty range", o->name);
	if ((o->flags & OPT_OPTARG) && !o->implied)
		return err_set(err, FAIL_STATE, "a bare --%s means nothing", o->name);
	return 0;
}

int opt_check(const struct opt *opts, struct err *err)
{
	for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
		if (is_option(o) && check_one(opts, o, err) < 0)
			return -1;
	return 0;
}
