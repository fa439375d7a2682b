/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include "fault.h"
#include "unit.h"

struct values {
	int64_t workers;
	int64_t timeout_s;
	const char *namespace;
	const char *output;
	const char *color;
	bool verbose, yes;
	bool workers_given;
	struct strs env;
	struct strs names;
};

static const struct opt table[] = {
	{ .kind = OPT_KIND_INT,
	  .offset = offsetof(struct values, workers),
	  .letter = 'w',
	  .name = "workers",
	  .arg = "N",
	  .min = 0,
	  .max = 10,
	  .help = "target number of workers",
	  .given_offset = offsetof(struct values, workers_given) },
	OPT_SECS(struct values, timeout_s, 0, "timeout", "wait this long"),
	OPT_GROUP("Other options"),
	OPT_STR(struct values, namespace, 'n', "namespace", "NAME", "namespace of the job"),
	OPT_ENUM(struct values, output, 'o', "output", "json|yaml|wide", "output format"),
	{ .kind = OPT_KIND_ENUM,
	  .offset = offsetof(struct values, color),
	  .name = "color",
	  .arg = "WHEN",
	  .values = "always|never",
	  .flags = OPT_OPTARG,
	  .implied = "always",
	  .help = "color",
	  .given_offset = SIZE_MAX },
	OPT_BOOL(struct values, verbose, 'v', "verbose", "say more"),
	OPT_BOOL(struct values, yes, 'y', "yes", "do not ask"),
	OPT_LIST(struct values, env, 'e', "env", "K=V", "variable; can be given again"),
	OPT_CSV(struct values, names, 0, "names", "A,B", "names"),
	OPT_END,
};

static int parse(struct values *v, struct opt_args *args, struct err *err, int argc,
		 const char *const *argv)
{
	struct opt_set set = { table, v };

	return opt_parse(&set, 1, argc, (char *const *)argv, args, err);
}

#define PARSE(v, args, err, ...)                                                          \
	parse((v), (args), (err), (int)ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })), \
	      (const char *const[]){ __VA_ARGS__ })

static void all_forms_are_understood(void **state)
{
	struct values v = { .workers = -1, .yes = true };
	AUTO(opt_args) struct opt_args args = { 0 };
	struct err err = ERR_INIT;

	unit_assert_ok(PARSE(&v, &args, &err, "a", "--workers=3", "--timeout", "1h30m", "-vn", "ns",
			     "-e", "A=1", "-eB=2", "--yes=false", "--names", "x,,y", "-o=json", "b",
			     "--", "-c", "--d"),
		       &err);
	assert_int_equal(v.workers, 3);
	assert_true(v.workers_given);
	assert_int_equal(v.timeout_s, 5400);
	assert_string_equal(v.namespace, "ns");
	assert_string_equal(v.output, "json");
	assert_true(v.verbose);
	assert_false(v.yes);
	assert_int_equal(v.env.n, 2);
	assert_string_equal(v.env.v[1], "B=2");
	assert_int_equal(v.names.n, 2);
	assert_int_equal(args.n, 4);
	assert_int_equal(args.dashdash, 2);
	assert_string_equal(args.v[2], "-c");
	assert_string_equal(args.v[3], "--d");
	opt_release(table, &v);
}

static void the_last_one_wins(void **state)
{
	struct values v = { 0 };
	AUTO(opt_args) struct opt_args args = { 0 };
	struct err err = ERR_INIT;

	unit_assert_ok(PARSE(&v, &args, &err, "-n", "a", "--namespace=", "-w1", "-w", "2", "-"),
		       &err);
	assert_string_equal(v.namespace, "");
	assert_int_equal(v.workers, 2);
	assert_int_equal(args.n, 1);
	assert_int_equal(args.dashdash, -1);
}

static void an_optional_value_is_only_taken_after_an_equals_sign(void **state)
{
	struct values v = { 0 };
	AUTO(opt_args) struct opt_args args = { 0 };
	struct err err = ERR_INIT;

	unit_assert_ok(PARSE(&v, &args, &err, "--color", "never"), &err);
	assert_string_equal(v.color, "always");
	assert_int_equal(args.n, 1);
	opt_args_release(&args);
	unit_assert_ok(PARSE(&v, &args, &err, "--color=never"), &err);
	assert_string_equal(v.color, "never");
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *argv[2];
		const char *message;
	} cases[] = {
		{ { "--wrokers=1" }, "unknown flag: --wrokers (did you mean --workers?)" },
		{ { "--frobnicate" }, "unknown flag: --frobnicate" },
		{ { "--"
		    ""
		    "=x" },
		  "unknown flag: --" },
		{ { "-vx" }, "unknown shorthand flag: 'x' in -vx" },
		{ { "--workers" }, "flag needs an argument: --workers" },
		{ { "-w" }, "flag needs an argument: 'w' in -w" },
		{ { "--workers", "x" },
		  "invalid argument for --workers: \"x\" is not a whole number" },
		{ { "--workers", "11" },
		  "invalid argument for --workers: 11 is not between 0 and 10" },
		{ { "--timeout=5x" },
		  "invalid argument for --timeout: \"5x\" is not a duration "
		  "(examples: 90s, 10m, 1h30m)" },
		{ { "--timeout=-5s" },
		  "invalid argument for --timeout: -5s is not between 0s and 2147483647s" },
		{ { "-o", "xml" },
		  "invalid argument for --output: \"xml\" is none of "
		  "json|yaml|wide" },
		{ { "-o", "json|yaml" },
		  "invalid argument for --output: \"json|yaml\" is none of "
		  "json|yaml|wide" },
		{ { "--verbose=maybe" },
		  "invalid argument for --verbose: \"maybe\" is not true or false" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct values v = { 0 };
		AUTO(opt_args) struct opt_args args = { .n = 77 };
		struct err err = ERR_INIT;
		int rc = parse(&v, &args, &err, cases[i].argv[1] ? 2 : 1, cases[i].argv);

		assert_int_equal(rc, -1);
		assert_int_equal(err.fail, FAIL_USAGE);
		assert_string_equal(err.msg, cases[i].message);
		assert_int_equal(args.n, 77);
	}
}

static void help_is_aligned_and_wrapped(void **state)
{
	struct values defaults = {
		.workers = -1, .timeout_s = 5400, .namespace = "team", .yes = true
	};
	AUTO(buf) struct buf b = BUF_INIT(4096);

	opt_help(table, &defaults, 60, &b);
	assert_string_equal(buf_text(&b),
			    "  -w, --workers N              target number of workers\n"
			    "      --timeout DURATION       wait this long (default\n"
			    "                               1h30m)\n"
			    "\nOther options:\n"
			    "  -n, --namespace NAME         namespace of the job (default\n"
			    "                               team)\n"
			    "  -o, --output json|yaml|wide  output format\n"
			    "      --color[=always|never]   color\n"
			    "  -v, --verbose                say more\n"
			    "  -y, --yes                    do not ask (default true)\n"
			    "  -e, --env K=V                variable; can be given again\n"
			    "      --names A,B              names\n");
}

static void hidden_options_are_in_no_help(void **state)
{
	static const struct opt hidden[] = {
		{ .kind = OPT_KIND_BOOL,
		  .name = "old",
		  .help = "old",
		  .flags = OPT_HIDDEN,
		  .given_offset = SIZE_MAX },
		OPT_END,
	};
	AUTO(buf) struct buf b = BUF_INIT(4096);

	opt_help(hidden, NULL, 80, &b);
	assert_string_equal(buf_text(&b), "");
}

static void the_nearest_word_is_found(void **state)
{
	static const char *const words[] = { "submit", "scaleout", "scalein", "get", "logs" };

	assert_string_equal(opt_nearest("submti", words, 5), "submit");
	assert_string_equal(opt_nearest("scaleinn", words, 5), "scalein");
	assert_string_equal(opt_nearest("log", words, 5), "logs");
	assert_string_equal(opt_nearest("gte", words, 5), "get");
	assert_null(opt_nearest("x", words, 5));
	assert_null(opt_nearest("delete", words, 5));
	assert_null(opt_nearest(
		"a-word-that-is-longer-than-any-option-of-any-program-could-ever-be-it", words, 5));
}

static void tables_are_checked(void **state)
{
	static const struct opt twice[] = { OPT_BOOL(struct values, yes, 0, "a", "x"),
					    OPT_BOOL(struct values, yes, 0, "a", "x"), OPT_END };
	static const struct opt letter[] = { OPT_BOOL(struct values, yes, 'a', "a", "x"),
					     OPT_BOOL(struct values, yes, 'a', "b", "x"), OPT_END };
	static const struct opt stop[] = { OPT_BOOL(struct values, yes, 0, "a", "x."), OPT_END };
	static const struct opt upper[] = { OPT_BOOL(struct values, yes, 0, "a", "Xy"), OPT_END };
	struct err err = ERR_INIT;

	unit_assert_ok(opt_check(table, &err), &err);
	unit_assert_fails(opt_check(twice, &err), &err, FAIL_STATE, "--a is there twice");
	unit_assert_fails(opt_check(letter, &err), &err, FAIL_STATE, "--a and --b share -a");
	unit_assert_fails(opt_check(stop, &err), &err, FAIL_STATE, "without a full stop");
	unit_assert_fails(opt_check(upper, &err), &err, FAIL_STATE, "lower case");
}

static void every_failed_allocation_is_reported(void **state)
{
	for (unsigned n = 1, fired = 1; fired; n++) {
		struct values v = { 0 };
		AUTO(opt_args) struct opt_args args = { 0 };
		struct err err = ERR_INIT;
		int rc;

		fault_arm(FAULT_ALLOC, n);
		rc = PARSE(&v, &args, &err, "-e", "A=1", "-e", "B=2", "--names=a,b,c", "x");
		fired = fault_disarm();
		assert_int_equal(rc, fired ? -1 : 0);
		assert_int_equal(err.fail, fired ? FAIL_NOMEM : FAIL_NONE);
		opt_release(table, &v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(all_forms_are_understood),
		UNIT_CASE(the_last_one_wins),
		UNIT_CASE(an_optional_value_is_only_taken_after_an_equals_sign),
		UNIT_CASE(mistakes_are_named),
		UNIT_CASE(help_is_aligned_and_wrapped),
		UNIT_CASE(hidden_options_are_in_no_help),
		UNIT_CASE(the_nearest_word_is_found),
		UNIT_CASE(tables_are_checked),
		UNIT_CASE(every_failed_allocation_is_reported),
	};

	UNIT_MAIN(tests);
}
