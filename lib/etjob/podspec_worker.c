/* SPDX-License-Identifier: Apache-2.0 */
/* podspec: a worker's pod. */
#include "base/limits.h"
#include "etjob/names.h"
#include "etjob/podspec_int.h"
#include "etjob/scripts.h"

/* {"command": words}, for probes and hooks; NULL with err. */
static cJSON *exec_of(const char *const *words, size_t n, struct err *err)
{
	AUTO_JSON cJSON *exec = cJSON_CreateObject();
	cJSON *list = podspec_words(words, n, err);

	if (!list)
		return NULL;
	if (!exec) {
		cJSON_Delete(list);
		(void)err_nomem(err);
		return NULL;
	}
	return json_set(exec, "command", list, err) < 0 ? NULL : TAKE(exec);
}

static int set_exec(cJSON *parent, const char *const *words, size_t n, struct err *err)
{
	cJSON *exec = exec_of(words, n, err);

	return exec ? json_set(parent, "exec", exec, err) : -1;
}

static int set_pre_stop(cJSON *first, const char *mode, struct err *err)
{
	const char *const words[] = { "/bin/sh", "-c", scripts_prestop(), "etjob-prestop", mode };
	cJSON *lifecycle, *hook;

	if (json_at(first, "lifecycle", "preStop", NULL))
		return 0;
	lifecycle = json_need_object(first, "lifecycle", err);
	hook = lifecycle ? json_need_object(lifecycle, "preStop", err) : NULL;
	return hook ? set_exec(hook, words, ARRAY_LEN(words), err) : -1;
}

/*
 * A startup probe and no readiness probe: the pod is Ready once sshd listens, and as long as
 * it runs, since sshd is the container's own process. It costs nothing afterwards.
 */
static int set_probe(cJSON *first, struct err *err)
{
	const char *const words[] = { "/bin/sh", "-c", scripts_probe() };
	cJSON *probe;

	if (json_get(first, "startupProbe"))
		return 0;
	probe = json_need_object(first, "startupProbe", err);
	if (!probe || set_exec(probe, words, ARRAY_LEN(words), err) < 0 ||
	    json_set_int(probe, "periodSeconds", 1, err) < 0 ||
	    json_set_int(probe, "timeoutSeconds", 5, err) < 0 ||
	    json_set_int(probe, "failureThreshold", 300, err) < 0)
		return -1;
	return 0;
}

static int set_command(cJSON *first, const char *script, const char *const *args, size_t nargs,
		       struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	cJSON *list;

	scripts_escape(script, &text);
	if (buf_check(&text, err) < 0)
		return -1;
	const char *const head[] = { "/bin/sh", "-c", buf_text(&text) };
	list = podspec_words(head, ARRAY_LEN(head), err);
	for (size_t i = 0; list && i < nargs; i++) {
		if (json_append_str(list, args[i], err) < 0) {
			cJSON_Delete(list);
			return -1;
		}
	}
	return list ? json_set(first, "command", list, err) : -1;
}

/* On the node's network the port is the node's: the scheduler must know that it is taken. */
static int claim_host_port(cJSON *first, struct err *err)
{
	cJSON *ports = json_need_array(first, "ports", err);
	cJSON *port = ports ? cJSON_CreateObject() : NULL;

	if (!port)
		return ports ? err_nomem(err) : -1;
	if (json_append(ports, port, err) < 0 || json_set_str(port, "name", "etjob-ssh", err) < 0 ||
	    json_set_int(port, "containerPort", 2222, err) < 0 ||
	    json_set_int(port, "hostPort", 2222, err) < 0)
		return -1;
	return 0;
}

/* sshd wants /run/sshd, which it can not make on a root that is read-only. */
static int add_sshd_dir(cJSON *pod, struct err *err)
{
	cJSON *first = podspec_first(pod);
	cJSON *dir;

	if (!json_get_bool(json_get(first, "securityContext"), "readOnlyRootFilesystem", false))
		return 0;
	dir = cJSON_CreateObject();
	if (!dir)
		return err_nomem(err);
	if (json_set_str(dir, "medium", "Memory", err) < 0) {
		cJSON_Delete(dir);
		return -1;
	}
	if (podspec_add_volume(pod, "etjob-sshd", "emptyDir", dir, err) < 0)
		return -1;
	return podspec_add_mount(first, "etjob-sshd", "/run/sshd", false, err);
}

static int set_sshd(cJSON *pod, struct err *err)
{
	cJSON *first = podspec_first(pod);
	bool host = json_get_bool(json_get(pod, "spec"), "hostNetwork", false);
	const char *const args[] = {
		"etjob-worker",
		host ? "2222" : "auto",
		json_get_str(first, "terminationMessagePath", "/dev/termination-log"),
	};

	if (set_command(first, scripts_worker(), args, ARRAY_LEN(args), err) < 0 ||
	    set_probe(first, err) < 0 || add_sshd_dir(pod, err) < 0)
		return -1;
	return host ? claim_host_port(first, err) : 0;
}

static int set_gang(const struct job *j, cJSON *pod, struct err *err)
{
	cJSON *meta = json_get_mut(pod, "metadata");
	cJSON *labels = json_get_mut(meta, "labels");
	bool volcano =
		str_eq(json_get_str(json_get(pod, "spec"), "schedulerName", NULL), "volcano");
	char text[24];

	/* All of the minimum at once, or none; what is above it comes as it can. */
	(void)snprintf(text, sizeof(text), "%" PRId64, j->min);
	if (json_get(labels, GANG_COSCHEDULING_MIN) &&
	    json_set_str(labels, GANG_COSCHEDULING_MIN, text, err) < 0)
		return -1;
	if (!volcano)
		return 0;
	cJSON *annotations = json_need_object(meta, "annotations", err);
	return annotations ? podspec_default_str(annotations, GANG_VOLCANO, j->name, err) : -1;
}

static int set_identity(const struct job *j, int64_t index, const char *name, cJSON *pod,
			struct err *err)
{
	AUTO(buf) struct buf service = BUF_INIT(LIMIT_TEXT);
	cJSON *spec = json_get_mut(pod, "spec");
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, index);
	name_service(j->name, &service);
	if (buf_check(&service, err) < 0 ||
	    json_set_str(json_at_mut(pod, "metadata", "labels", NULL), LABEL_INDEX, text, err) <
		    0 ||
	    json_set_str(spec, "hostname", name, err) < 0 ||
	    json_set_str(spec, "subdomain", buf_text(&service), err) < 0)
		return -1;
	if (!json_get(spec, "terminationGracePeriodSeconds") &&
	    json_set_int(spec, "terminationGracePeriodSeconds", PODSPEC_GRACE_S, err) < 0)
		return -1;
	/* A worker that names a service account wants its token. */
	if (!json_get(spec, "serviceAccountName") &&
	    podspec_default_bool(spec, "automountServiceAccountToken", false, err) < 0)
		return -1;
	return set_gang(j, pod, err);
}

int podspec_worker(const struct job *j, int64_t index, cJSON **out, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	AUTO_JSON cJSON *pod = NULL;
	const char *const idle[] = { "etjob-worker" };
	cJSON *first;
	bool ssh = j->attach == ATTACH_SSH;

	name_worker(j->name, index, &name);
	if (buf_check(&name, err) < 0 ||
	    podspec_pod(j, ROLE_WORKER, buf_text(&name), &pod, err) < 0 ||
	    set_identity(j, index, buf_text(&name), pod, err) < 0)
		return -1;
	first = podspec_first(pod);
	if (ssh && podspec_ssh(j, pod, err) < 0)
		return -1;
	if (podspec_own_command(first)) {
		if (ssh && !podspec_not_root(j->worker_template) &&
		    podspec_ssh_home(j, pod, err) < 0)
			return -1;
	} else if (ssh ? set_sshd(pod, err) < 0
		       : set_command(first, scripts_idle(), idle, ARRAY_LEN(idle), err) < 0) {
		return -1;
	}
	if (set_pre_stop(first, ssh ? "ssh" : "kubexec", err) < 0)
		return -1;
	*out = TAKE(pod);
	return 0;
}
