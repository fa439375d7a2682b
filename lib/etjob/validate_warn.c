/* SPDX-License-Identifier: Apache-2.0 */
/* validate: what is allowed on a job, and yet rarely meant. */
#include "base/limits.h"
#include "etjob/names.h"
#include "etjob/validate_int.h"

#define SCRIPT_PATH CONFIG_DIR "/" CONFIG_SCRIPT
#define ARENA_SCRIPT_PATH "/usr/local/bin/" CONFIG_SCRIPT /* as arena's docs have it */
#define GLOO_WORKERS 50 /* from here on its default time-out of 30 s is short */

/* command and args as one text, words joined by spaces. */
static void join_words(const cJSON *list, struct buf *out)
{
	const cJSON *word;

	if (!cJSON_IsArray(list))
		return;
	json_each (word, list) {
		if (!json_str(word))
			continue;
		buf_str(out, out->len ? " " : "");
		buf_str(out, json_str(word));
	}
}

/* Whether text holds path as a whole word of a command line. */
static bool has_path(const char *text, const char *path)
{
	size_t len = strlen(path);

	for (const char *p = text; (p = strstr(p, path)) != NULL; p += len) {
		char before = p == text ? ' ' : p[-1];

		if (strchr(" =\"'\t\n", before) && strchr(" \"'\t\n;&|)\\", p[len]))
			return true;
	}
	return false;
}

static void warn_discovery(struct check *c, const char *command)
{
	if (!strstr(command, "horovodrun"))
		return;
	if (has_path(command, ARENA_SCRIPT_PATH))
		check_warn(c, "%s is not where the host list is: use --host-discovery-script %s",
			   ARENA_SCRIPT_PATH, SCRIPT_PATH);
	else if (!strstr(command, "--host-discovery-script"))
		check_warn(c,
			   "horovodrun without --host-discovery-script %s sees no change of the "
			   "workers",
			   SCRIPT_PATH);
	else if (!has_path(command, SCRIPT_PATH))
		check_warn(c,
			   "horovodrun asks another script than %s, which has this job's workers",
			   SCRIPT_PATH);
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* A "*" right before or after $gpus, ${gpus} or, in $((...)), gpus. */
static bool multiplies_by_gpus(const char *command)
{
	static const char word[] = "gpus";

	for (const char *p = command; (p = strstr(p, word)) != NULL; p += strlen(word)) {
		const char *before = p, *after = p + strlen(word);

		if (before > command && before[-1] == '{' && *after == '}') {
			before--;
			after++;
		}
		if (before > command && before[-1] == '$')
			before--;
		if (*skip_blanks(after) == '*')
			return true;
		while (before > command && (before[-1] == ' ' || before[-1] == '\t'))
			before--;
		if (before > command && before[-1] == '*')
			return true;
	}
	return false;
}

static const cJSON *find_env(const cJSON *container, const char *name)
{
	const cJSON *entry;

	json_each (entry, json_get(container, "env")) {
		if (str_eq(json_get_str(entry, "name", NULL), name))
			return entry;
	}
	return NULL;
}

static void warn_command(struct check *c, const struct job *j)
{
	const cJSON *first =
		json_index(json_at(j->launcher_template, "spec", "containers", NULL), 0);
	AUTO(buf) struct buf command = BUF_INIT(LIMIT_OBJECT);
	struct mark m = check_into_path(c, "spec.etReplicaSpecs.launcher.template.spec.containers");
	const cJSON *gpus = find_env(first, "gpus");
	bool own_gpus = gpus && !str_eq(json_get_str(gpus, "value", NULL), "0");

	(void)check_into_index(c, 0);
	join_words(json_get(first, "command"), &command);
	join_words(json_get(first, "args"), &command);
	warn_discovery(c, buf_text(&command));
	if (j->gpus == 0 && !own_gpus && multiplies_by_gpus(buf_text(&command)))
		check_warn(c,
			   "the command multiplies by ${gpus}, which is 0 as the workers ask for "
			   "none: -np becomes 0");
	/* arena writes its "no bound" where the user gave none */
	bool bounded = j->max_given && j->max != WORKERS_UNBOUNDED;
	int64_t most = bounded && j->max > j->replicas ? j->max : j->replicas;
	if (most > GLOO_WORKERS && !find_env(first, "HOROVOD_GLOO_TIMEOUT_SECONDS") &&
	    !strstr(buf_text(&command), "--gloo-timeout-seconds"))
		check_warn(c,
			   "%" PRId64 " workers may take longer to join than Gloo's 30 s: set "
			   "HOROVOD_GLOO_TIMEOUT_SECONDS",
			   most);
	check_back(c, m);
}

void check_job_warnings(struct check *c, const struct job *j)
{
	int64_t slots;
	struct mark m;

	warn_command(c, j);
	if (json_int(json_at(j->obj, "spec", "slotsPerWorker", NULL), &slots) && slots >= 1 &&
	    j->gpus > 0 && slots != j->gpus) {
		m = check_into_path(c, "spec.slotsPerWorker");
		check_warn(c, "%" PRId64 " processes share the %" PRId64 " GPUs of a worker", slots,
			   j->gpus);
		check_back(c, m);
	}
	if (j->max_given && j->min == j->max) {
		m = check_into_path(c, "spec.etReplicaSpecs.worker.maxReplicas");
		check_warn(c, "is the same as minReplicas (%" PRId64 "): the job is not elastic",
			   j->min);
		check_back(c, m);
	}
}
