/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt: option tables. One const table a command gives parsing, --help, the
 * manual page, the reference and shell completion. Options land in a struct
 * through offsetof; _Generic checks the type of the field, so a table that
 * names a field of another type does not compile.
 *
 * Accepted forms: --name=V, --name V, --flag, --flag=false, -n V, -nV, -abc
 * (bundled flags), "--" ends the options; options and arguments may be mixed.
 * An option given twice: the last wins, except OPT_LIST, which collects.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H
#include "base/buf.h"
#include "base/strs.h"

enum opt_kind {
	OPT_KIND_END = 0,
	OPT_KIND_BOOL,  /* bool */
	OPT_KIND_INT,   /* int64_t, min..max */
	OPT_KIND_STR,   /* const char *: borrowed from argv */
	OPT_KIND_LIST,  /* struct strs: each use adds one */
	OPT_KIND_CSV,   /* struct strs: each use adds its comma-separated parts */
	OPT_KIND_SECS,  /* int64_t seconds from a duration: 90, 90s, 10m, 1h30m; min..max */
	OPT_KIND_ENUM,  /* const char *: one of values ("a|b|c") */
	OPT_KIND_GROUP, /* a heading in --help; no option */
};

enum opt_flag {
	OPT_HIDDEN = 1,     /* accepted, in no help or completion (older spellings) */
	OPT_OPTARG = 2,     /* STR/ENUM: the value may be left out, then it is `implied` */
	OPT_GIVEN_ONLY = 4, /* a default is not shown in help */
};

struct opt {
	enum opt_kind kind;
	size_t offset;       /* of the field in the options struct */
	char letter;         /* 0: none */
	const char *name;    /* without dashes */
	const char *arg;     /* the value's name in help, "N", "FILE"; NULL for a flag */
	const char *values;  /* ENUM: "a|b|c"; completion of STR: "@jobs", "@files", "@namespaces",
				"@contexts", "@instances" */
	const char *implied; /* OPT_OPTARG: what a bare --name means */
	int64_t min, max;    /* INT, SECS */
	const char *help;    /* lower case, no full stop */
	unsigned flags;      /* enum opt_flag */
	size_t given_offset; /* of a bool that becomes true when given; SIZE_MAX: none */
};

#define OPT_FIELD_(type, field, ctype)                                      \
	(offsetof(type, field) +                                            \
	 0 * sizeof(char[_Generic(&((type *)0)->field, ctype * : 1, default \
				  : -1)]))

#define OPT_BOOL(type, field, let, nm, hlp)                                                      \
	{                                                                                        \
		.kind = OPT_KIND_BOOL, .offset = OPT_FIELD_(type, field, bool), .letter = (let), \
		.name = (nm), .help = (hlp), .given_offset = SIZE_MAX                            \
	}
#define OPT_INT(type, field, let, nm, argname, lo, hi, hlp)                                        \
	{                                                                                          \
		.kind = OPT_KIND_INT, .offset = OPT_FIELD_(type, field, int64_t), .letter = (let), \
		.name = (nm), .arg = (argname), .min = (lo), .max = (hi), .help = (hlp),           \
		.given_offset = SIZE_MAX                                                           \
	}
#define OPT_STR(type, field, let, nm, argname, hlp)                                    \
	{                                                                              \
		.kind = OPT_KIND_STR, .offset = OPT_FIELD_(type, field, const char *), \
		.letter = (let), .name = (nm), .arg = (argname), .help = (hlp),        \
		.given_offset = SIZE_MAX                                               \
	}
#define OPT_LIST(type, field, let, nm, argname, hlp)                                   \
	{                                                                              \
		.kind = OPT_KIND_LIST, .offset = OPT_FIELD_(type, field, struct strs), \
		.letter = (let), .name = (nm), .arg = (argname), .help = (hlp),        \
		.given_offset = SIZE_MAX                                               \
	}
#define OPT_CSV(type, field, let, nm, argname, hlp)                                   \
	{                                                                             \
		.kind = OPT_KIND_CSV, .offset = OPT_FIELD_(type, field, struct strs), \
		.letter = (let), .name = (nm), .arg = (argname), .help = (hlp),       \
		.given_offset = SIZE_MAX                                              \
	}
#define OPT_SECS(type, field, let, nm, hlp)                                                   \
	{                                                                                     \
		.kind = OPT_KIND_SECS, .offset = OPT_FIELD_(type, field, int64_t),            \
		.letter = (let), .name = (nm), .arg = "DURATION", .min = 0, .max = INT32_MAX, \
		.help = (hlp), .given_offset = SIZE_MAX                                       \
	}
#define OPT_ENUM(type, field, let, nm, vals, hlp)                                              \
	{                                                                                      \
		.kind = OPT_KIND_ENUM, .offset = OPT_FIELD_(type, field, const char *),        \
		.letter = (let), .name = (nm), .arg = "WORD", .values = (vals), .help = (hlp), \
		.given_offset = SIZE_MAX                                                       \
	}
#define OPT_GROUP(heading)                                                          \
	{                                                                           \
		.kind = OPT_KIND_GROUP, .help = (heading), .given_offset = SIZE_MAX \
	}
#define OPT_END                                                \
	{                                                      \
		.kind = OPT_KIND_END, .given_offset = SIZE_MAX \
	}

/* A set of tables that are parsed together, each into its own struct. */
struct opt_set {
	const struct opt *opts; /* ends with OPT_END */
	void *into;             /* the options struct, already holding the defaults */
};

/*
 * Parses argv[0..argc) (without the program's name) against n sets; what is no
 * option goes to args (borrowed pointers; *dashdash is the index in args of
 * the first word after "--", or -1). FAIL_USAGE with one line: unknown flag
 * (with the nearest name as a suggestion), missing or bad value, out of range.
 * Values of STR fields are borrowed from argv.
 */
struct opt_args {
	const char **v; /* owned array of borrowed words */
	size_t n;
	ptrdiff_t dashdash;
};
void opt_args_release(struct opt_args *a);
MUST_USE int opt_parse(const struct opt_set *sets, size_t nsets, int argc, char *const *argv,
		       struct opt_args *args, struct err *err);
/* Frees what OPT_LIST and OPT_CSV fields of `into` own. */
void opt_release(const struct opt *opts, void *into);
/* Appends the options as help lines, wrapped at width columns; `defaults` may be NULL. */
void opt_help(const struct opt *opts, const void *defaults, size_t width, struct buf *out);
/* Nearest of n words by edit distance, or NULL when none is near. */
const char *opt_nearest(const char *word, const char *const *words, size_t n);
/* Developer check for the unit test: unique names and letters, help in lower case without full
 * stop. */
MUST_USE int opt_check(const struct opt *opts, struct err *err);
#endif
