/* SPDX-License-Identifier: Apache-2.0 */
/* podspec: the launcher's pod. */
#include "base/limits.h"
#include "base/num.h"
#include "etjob/names.h"
#include "etjob/podspec_int.h"
#include "etjob/scripts.h"

#define KUBEXEC_VOLUME "etjob-kubexec"
#define KUBEXEC_DIR "/etc/mpi"
#define KUBEXEC_SCRIPT "kubexec.sh"

/* The launcher starts when the workers are there: in their gang, each would wait for the other. */
static void leave_gang(cJSON *pod)
{
	static const char *const labels[] = {
		GANG_COSCHEDULING_NAME,
		GANG_COSCHEDULING_MIN,
		GANG_COSCHEDULING_GROUP,
	};
	static const char *const annotations[] = { GANG_VOLCANO, GANG_VOLCANO_MIN };
	cJSON *meta = json_get_mut(pod, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		if (json_at(meta, "labels", labels[i], NULL))
			json_del(json_get_mut(meta, "labels"), labels[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
		if (json_at(meta, "annotations", annotations[i], NULL))
			json_del(json_get_mut(meta, "annotations"), annotations[i]);
	}
}

/* `workers` is the smaller of what is there and the workers that are Ready: horovodrun -np. */
static int cap_workers(cJSON *pod, int64_t ready, struct err *err)
{
	cJSON *container, *entry;

	json_each (container, json_at_mut(pod, "spec", "containers", NULL)) {
		json_each (entry, json_get_mut(container, "env")) {
			const char *value = json_get_str(entry, "value", NULL);
			char text[24];
			int64_t n;

			if (!str_eq(json_get_str(entry, "name", NULL), "workers") || !value ||
			    num_parse(value, strlen(value), 0, INT32_MAX, &n, NULL) < 0 ||
			    n <= ready || ready < 1)
				continue;
			(void)snprintf(text, sizeof(text), "%" PRId64, ready);
			if (json_set_str(entry, "value", text, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* command = our wrapper + the user's words, which the kubelet expands as it would have. */
static int wrap_command(cJSON *first, const char *port, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *list = NULL;
	const cJSON *word;

	scripts_escape(scripts_launcher(), &text);
	if (buf_check(&text, err) < 0)
		return -1;
	const char *const head[] = { "/bin/sh", "-c", buf_text(&text), "etjob-launcher", port };
	list = podspec_words(head, ARRAY_LEN(head), err);
	if (!list)
		return -1;
	json_each (word, json_get(first, "command")) {
		cJSON *copy = json_copy(word, err);

		if (!copy || json_append(list, copy, err) < 0)
			return -1;
	}
	return json_set(first, "command", TAKE(list), err);
}

static int set_ssh(const struct job *j, cJSON *pod, struct err *err)
{
	cJSON *first = podspec_first(pod);

	if (podspec_ssh(j, pod, err) < 0)
		return -1;
	if (json_len(json_get(first, "command")) > 0)
		return wrap_command(first, podspec_port_word(podspec_port(j->worker_template)),
				    err);
	/* The image's own entrypoint: nothing to wrap, so the key goes where ssh looks. */
	return podspec_not_root(j->launcher_template) ? 0 : podspec_ssh_home(j, pod, err);
}

static bool has_env(const cJSON *container, const char *name)
{
	const cJSON *entry;

	json_each (entry, json_get(container, "env")) {
		if (str_eq(json_get_str(entry, "name", NULL), name))
			return true;
	}
	return false;
}

static int set_kubexec_env(cJSON *first, struct err *err)
{
	static const char name[] = "OMPI_MCA_plm_rsh_agent"; /* by which Horovod tells, too */
	cJSON *list, *entry;

	if (has_env(first, name))
		return 0;
	list = json_need_array(first, "env", err);
	entry = list ? cJSON_CreateObject() : NULL;
	if (!entry)
		return list ? err_nomem(err) : -1;
	if (json_append(list, entry, err) < 0 || json_set_str(entry, "name", name, err) < 0)
		return -1;
	return json_set_str(entry, "value", KUBEXEC_DIR "/" KUBEXEC_SCRIPT, err);
}

static int set_kubexec(const struct job *j, cJSON *pod, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *map = cJSON_CreateObject();
	cJSON *items, *item;

	name_config(j->name, &name);
	if (!map)
		return err_nomem(err);
	if (buf_check(&name, err) < 0 || json_set_str(map, "name", buf_text(&name), err) < 0 ||
	    json_set_int(map, "defaultMode", 0755, err) < 0)
		return -1;
	items = json_need_array(map, "items", err);
	item = items ? cJSON_CreateObject() : NULL;
	if (!item)
		return items ? err_nomem(err) : -1;
	if (json_append(items, item, err) < 0 ||
	    json_set_str(item, "key", KUBEXEC_SCRIPT, err) < 0 ||
	    json_set_str(item, "path", KUBEXEC_SCRIPT, err) < 0 ||
	    podspec_add_volume(pod, KUBEXEC_VOLUME, "configMap", TAKE(map), err) < 0 ||
	    podspec_add_mount(podspec_first(pod), KUBEXEC_VOLUME, KUBEXEC_DIR, true, err) < 0)
		return -1;
	return set_kubexec_env(podspec_first(pod), err);
}

int podspec_launcher(const struct job *j, int64_t ready, const char *revision, cJSON **out,
		     struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *pod = NULL;
	cJSON *annotations, *spec;

	name_launcher(j->name, &name);
	if (buf_check(&name, err) < 0 ||
	    podspec_pod(j, ROLE_LAUNCHER, buf_text(&name), &pod, err) < 0)
		return -1;
	leave_gang(pod);
	annotations = json_need_object(json_get_mut(pod, "metadata"), "annotations", err);
	if (!annotations || json_set_str(annotations, ANNOTATION_HOSTS, revision, err) < 0 ||
	    cap_workers(pod, ready, err) < 0)
		return -1;
	spec = json_get_mut(pod, "spec");
	if (j->attach == ATTACH_KUBEXEC) {
		/* kubectl exec needs the token; what it may do is the service account's. */
		if (set_kubexec(j, pod, err) < 0)
			return -1;
	} else if (podspec_default_bool(spec, "automountServiceAccountToken", false, err) < 0 ||
		   set_ssh(j, pod, err) < 0) {
		return -1;
	}
	*out = TAKE(pod);
	return 0;
}
