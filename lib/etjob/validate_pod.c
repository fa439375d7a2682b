/* SPDX-License-Identifier: Apache-2.0 */
/* validate: the rules on a pod template. */
#include "base/map.h"
#include "base/num.h"
#include "etjob/inject.h"
#include "etjob/validate_int.h"

/* What a list of objects is keyed by, and how its faults are called. */
struct list_rule {
	const char *key;       /* member that names an item */
	const char *what;      /* "container" */
	const char *missing;   /* rule id */
	const char *duplicate; /* rule id */
	bool optional;         /* an item may lack its key */
};

static const struct list_rule containers_rule = { "name", "container", "container-name-missing",
						  "container-duplicate", false };
static const struct list_rule volumes_rule = { "name", "volume", "volume-name-missing",
					       "volume-duplicate", false };
static const struct list_rule env_rule = { "name", "variable", "env-name-missing", "env-duplicate",
					   false };
static const struct list_rule ports_rule = { "name", "port", "port-name-missing", "port-duplicate",
					     true };
static const struct list_rule mounts_rule = { "mountPath", "mount path", "mount-path-missing",
					      "mount-duplicate", false };

/* The keys of a list so far. The first few need no map: most lists are short. */
#define SEEN_FEW 24
struct seen {
	struct {
		const char *text; /* borrowed from the object */
		size_t n;
	} few[SEEN_FEW];
	size_t count;
	struct map more;
};
#define SEEN_INIT ((struct seen){ .more = MAP_INIT(NULL) })

static void seen_release(struct seen *s)
{
	map_release(&s->more);
}

/* 1 when the key is there already, 0 when it was added, -1 when memory is out. */
static int seen_add(struct seen *s, const char *text, size_t n, struct err *err)
{
	AUTO_FREE char *key = NULL;

	/* Names of one list often begin alike: the last byte tells them apart first. */
	for (size_t i = 0; n && i < s->count; i++)
		if (s->few[i].n == n && s->few[i].text[n - 1] == text[n - 1] &&
		    memcmp(s->few[i].text, text, n) == 0)
			return 1;
	if (s->count < SEEN_FEW) {
		s->few[s->count].text = text;
		s->few[s->count++].n = n;
		return 0;
	}
	key = strndup(text, n);
	if (!key)
		return err_nomem(err);
	if (map_has(&s->more, key))
		return 1;
	return map_put(&s->more, key, NULL, err);
}

/* Length of a key; of a path without the slashes at its end, so that "/a/" and "/a" are one. */
static size_t key_length(const struct list_rule *rule, const char *text)
{
	size_t n = strlen(text);

	while (rule == &mounts_rule && n > 1 && text[n - 1] == '/')
		n--;
	return n;
}

/* c stands at the item. seen may span two lists: names are unique over both. */
static void check_item(struct check *c, const cJSON *item, const struct list_rule *rule,
		       struct seen *seen)
{
	const cJSON *value = json_get(item, rule->key);
	const char *text = json_str(value);
	struct mark m;
	int there;

	if (!cJSON_IsObject(item)) {
		check_fault(c, CODE_INVALID, "wrong-type", "%s is no object: give a %s with a %s",
			    shown_value(item).text, rule->what, rule->key);
		return;
	}
	if (!value && rule->optional)
		return;
	m = check_into(c, rule->key);
	if (!text || !*text) {
		if (value && !text)
			check_fault(c, CODE_INVALID, "wrong-type",
				    "%s is no text: put it in quotes", shown_value(value).text);
		else
			check_fault(c, CODE_INVALID, rule->missing, "is %s: give one",
				    value ? "empty" : "missing");
		check_back(c, m);
		return;
	}
	there = seen_add(seen, text, key_length(rule, text), c->err);
	if (there < 0)
		c->failed = true;
	else if (there)
		check_fault(c, CODE_INVALID, rule->duplicate,
			    "%s is the name of another %s already: use another",
			    shown_text(text).text, rule->what);
	check_back(c, m);
}

/* The list at key of v, or NULL when it is absent or none (a fault). c stands at v. */
static const cJSON *get_list(struct check *c, const cJSON *v, const char *key)
{
	const cJSON *list = json_get(v, key);

	if (!list || cJSON_IsArray(list))
		return list;
	struct mark m = check_into(c, key);
	check_fault(c, CODE_INVALID, "wrong-type", "%s is no list: give a list",
		    shown_value(list).text);
	check_back(c, m);
	return NULL;
}

static void check_named_list(struct check *c, const cJSON *v, const char *key,
			     const struct list_rule *rule)
{
	const cJSON *list = get_list(c, v, key);
	AUTO(seen) struct seen seen = SEEN_INIT;
	const cJSON *item;
	size_t i = 0;

	json_each (item, list) {
		struct mark m = check_into(c, key);

		(void)check_into_index(c, i++);
		check_item(c, item, rule, &seen);
		check_back(c, m);
	}
}

/* The value of one of the four variables that is no number. */
static void check_count_env(struct check *c, const cJSON *entry)
{
	const cJSON *value = json_get(entry, "value");
	const char *text = json_str(value);
	int64_t n;

	if (json_get(entry, "valueFrom") && !value)
		return;
	if (text && num_parse(text, strlen(text), 0, INT32_MAX, &n, NULL) == 0)
		return;
	struct mark m = check_into(c, "value");
	if (!text || !*text)
		check_fault(c, CODE_INVALID, "env-not-a-number",
			    "is %s: give a whole number, or leave %s out to have it set",
			    value ? "empty" : "missing", json_get_str(entry, "name", ""));
	else
		check_fault(c, CODE_INVALID, "env-not-a-number",
			    "%s is no whole number: give one, or leave %s out to have it set",
			    shown_text(text).text, json_get_str(entry, "name", ""));
	check_back(c, m);
}

static void check_env(struct check *c, const cJSON *container, bool counts)
{
	const cJSON *env = json_get(container, "env");
	const cJSON *entry;
	size_t i = 0;

	check_named_list(c, container, "env", &env_rule);
	if (!cJSON_IsArray(env))
		return;
	json_each (entry, env) {
		const cJSON *value = json_get(entry, "value");
		struct mark m = check_into(c, "env");

		(void)check_into_index(c, i++);
		if (value && !cJSON_IsString(value)) {
			struct mark inner = check_into(c, "value");

			check_fault(c, CODE_INVALID, "env-not-text",
				    "%s is no text: put it in quotes", shown_value(value).text);
			check_back(c, inner);
		} else if (counts && inject_is_env(json_get_str(entry, "name", NULL))) {
			check_count_env(c, entry);
		}
		check_back(c, m);
	}
}

static void check_container(struct check *c, const cJSON *container, bool counts)
{
	const cJSON *image = json_get(container, "image");
	const char *text = json_str(image);

	if (!cJSON_IsObject(container))
		return; /* check_item said it */
	if (!text || !*text) {
		struct mark m = check_into(c, "image");

		if (image && !text)
			check_fault(c, CODE_INVALID, "wrong-type",
				    "%s is no text: give the name of an image",
				    shown_value(image).text);
		else
			check_fault(c, CODE_INVALID, "image-missing",
				    "is %s: give the image to run", image ? "empty" : "missing");
		check_back(c, m);
	}
	check_env(c, container, counts);
	check_named_list(c, container, "ports", &ports_rule);
	check_named_list(c, container, "volumeMounts", &mounts_rule);
}

/* One of the two lists of containers; c stands at the pod's spec. */
static void check_containers(struct check *c, const cJSON *spec, const char *key, struct seen *seen)
{
	bool main_list = strcmp(key, "containers") == 0;
	const cJSON *list = get_list(c, spec, key);
	const cJSON *item;
	size_t i = 0;

	if (main_list && json_len(list) == 0 && (list || !json_get(spec, key))) {
		struct mark m = check_into(c, key);

		check_fault(c, CODE_INVALID, "containers-missing",
			    "%s: give at least one container", list ? "is empty" : "is missing");
		check_back(c, m);
	}
	json_each (item, list) {
		struct mark m = check_into(c, key);

		(void)check_into_index(c, i++);
		check_item(c, item, &containers_rule, seen);
		check_container(c, item, main_list);
		check_back(c, m);
	}
}

void check_template(struct check *c, const cJSON *replica_spec)
{
	static const char *const way[] = { "template", "spec" };
	AUTO(seen) struct seen seen = SEEN_INIT;
	const cJSON *at = replica_spec;
	struct mark start = check_mark(c);

	for (size_t i = 0; i < ARRAY_LEN(way); i++) {
		const cJSON *next = json_get(at, way[i]);

		(void)check_into(c, way[i]);
		if (next && !cJSON_IsObject(next))
			check_fault(c, CODE_INVALID, "wrong-type",
				    "%s is no object: give a pod template", shown_value(next).text);
		else if (!next)
			check_fault(c, CODE_INVALID, "containers-missing",
				    "is missing: give a pod template with at least one container");
		if (!cJSON_IsObject(next)) {
			check_back(c, start);
			return;
		}
		at = next;
	}
	check_containers(c, at, "initContainers", &seen);
	check_containers(c, at, "containers", &seen);
	check_named_list(c, at, "volumes", &volumes_rule);
	check_back(c, start);
}
