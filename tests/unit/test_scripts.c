/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of the scripts. What they do is tested by tests/cli/scripts.bats, for which
 * `test_scripts print NAME` prints one, and `test_scripts print NAME command` prints it as
 * it stands in a container's command.
 */
#include "etjob/scripts.h"
#include "jobs.h"
#include "unit.h"

static const struct {
	const char *name;
	const char *(*text)(void);
} scripts[] = {
	{ "discover", scripts_discover }, { "worker", scripts_worker },
	{ "idle", scripts_idle },         { "probe", scripts_probe },
	{ "prestop", scripts_prestop },   { "launcher", scripts_launcher },
	{ "kubexec", scripts_kubexec },   { "ssh_config", scripts_ssh_config },
};

/* What the kubelet makes of a word of a command, with no variable set. */
static void expand(const char *text, struct buf *out)
{
	for (const char *p = text; *p; p++) {
		if (p[0] == '$' && p[1] == '$')
			p++; /* "$$" is "$" */
		else if (p[0] == '$' && p[1] == '(' && strchr(p, ')'))
			buf_str(out, "<variable>");
		buf_char(out, *p);
	}
}

static void the_kubelet_gives_a_script_back_as_it_was(void **state)
{
	uint64_t seed = 3;

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		AUTO(buf) struct buf escaped = BUF_INIT(1u << 16), got = BUF_INIT(1u << 16);

		scripts_escape(scripts[i].text(), &escaped);
		expand(buf_text(&escaped), &got);
		assert_string_equal(buf_text(&got), scripts[i].text());
	}
	for (int i = 0; i < 5000; i++) {
		AUTO(buf) struct buf escaped = BUF_INIT(256), got = BUF_INIT(256);
		char text[12] = "";

		for (size_t k = 0; k + 1 < sizeof(text); k++)
			text[k] = "$$$()a"[jobs_random(&seed) % 6];
		scripts_escape(text, &escaped);
		expand(buf_text(&escaped), &got);
		assert_string_equal(buf_text(&got), text);
	}
}

static void scripts_are_small_text(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		const char *text = scripts[i].text();
		size_t len = strlen(text);

		assert_true(len > 0 && len < 6000);
		assert_int_equal(text[len - 1], '\n');
		for (size_t k = 0; k < len; k++)
			assert_true(text[k] == '\n' || text[k] == '\t' ||
				    (text[k] >= ' ' && text[k] < 127));
	}
}

static int print(const char *name, bool command)
{
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		AUTO(buf) struct buf text = BUF_INIT(1u << 16);

		if (strcmp(scripts[i].name, name) != 0)
			continue;
		if (command)
			scripts_escape(scripts[i].text(), &text);
		else
			buf_str(&text, scripts[i].text());
		return fputs(buf_text(&text), stdout) < 0 || fflush(stdout) != 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(the_kubelet_gives_a_script_back_as_it_was),
		UNIT_CASE(scripts_are_small_text),
	};

	if (argc >= 3 && strcmp(argv[1], "print") == 0)
		return print(argv[2], argc > 3);
	UNIT_MAIN(tests);
}
