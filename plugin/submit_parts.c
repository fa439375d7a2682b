/* SPDX-License-Identifier: Apache-2.0 */
/* submit_parts: labels, resources, scheduling and environment. */
#include "submit_parts.h"

#include "cmd.h"
#include "wire/quantity.h"

int parts_pair(const char *flag, const char *text, struct buf *key, const char **value,
	       struct err *err)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text)
		return err_set(err, FAIL_USAGE, "--%s \"%s\": write KEY=VALUE", flag, text);
	buf_clear(key);
	buf_add(key, text, (size_t)(eq - text));
	*value = eq + 1;
	return buf_check(key, err);
}

/* Sets each KEY=VALUE of a list as a string member of object. */
static int set_pairs(const char *flag, const struct strs *list, cJSON *object, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

	for (size_t i = 0; i < list->n; i++) {
		const char *value;

		if (parts_pair(flag, list->v[i], &key, &value, err) < 0 ||
		    json_set_str(object, buf_text(&key), value, err) < 0)
			return -1;
	}
	return 0;
}

/* As set_pairs, into member `name` of parent, which is made only when there is something. */
static int set_pairs_in(const char *flag, const struct strs *list, cJSON *parent, const char *name,
			struct err *err)
{
	cJSON *object;

	if (!list->n)
		return 0;
	object = json_need_object(parent, name, err);
	return object ? set_pairs(flag, list, object, err) : -1;
}

int parts_labels(const struct submit_in *in, cJSON *job, struct role roles[2], struct err *err)
{
	const struct {
		const char *key, *value;
	} rows[] = { { "app", "etjob" },
		     { "release", in->name },
		     { "createdBy", "etjob" },
		     { "heritage", "kubectl-etjob" },
		     { "chart", "etjob-" ETJOB_RELEASE } };
	cJSON *metas[] = { json_need_object(job, "metadata", err), roles[0].meta, roles[1].meta };
	AUTO(buf) struct buf launcher = BUF_INIT(LIMIT_TEXT);

	for (size_t m = 0; m < ARRAY_LEN(metas); m++) {
		cJSON *labels = metas[m] ? json_need_object(metas[m], "labels", err) : NULL;

		if (!labels)
			return -1;
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			if (rows[i].value &&
			    json_set_str(labels, rows[i].key, rows[i].value, err) < 0)
				return -1;
	}
	buf_printf(&launcher, "%s-launcher", in->name ? in->name : "");
	if (buf_check(&launcher, err) < 0)
		return -1;
	return json_set_str(json_get_mut(roles[0].meta, "labels"), "master-pod-name",
			    buf_text(&launcher), err);
}

static int gang(const struct submit_in *in, cJSON *job, struct role roles[2], struct err *err)
{
	const char *name = json_get_str(json_get(job, "metadata"), "name", "");
	int64_t pods = json_get_int(roles[1].replica, "replicas", 1) + 1;
	char count[32];

	if (!in->o->gang)
		return 0;
	(void)snprintf(count, sizeof(count), "%" PRId64, pods); /* 32 bytes hold any int64 */
	for (int i = 0; i < 2; i++) {
		cJSON *labels = json_need_object(roles[i].meta, "labels", err);

		if (!labels ||
		    json_set_str(labels, "pod-group.scheduling.sigs.k8s.io/name", name, err) < 0 ||
		    json_set_str(labels, "pod-group.scheduling.sigs.k8s.io/min-available", count,
				 err) < 0)
			return -1;
	}
	return 0;
}

static int job_annotations(const struct submit_opts *o, cJSON *meta, struct err *err)
{
	char wait[32];
	cJSON *a;

	if (!o->queue && !o->spot && o->max_wait_s < 0 && !o->ssh_secret)
		return 0;
	if (!(a = json_need_object(meta, "annotations", err)))
		return -1;
	if (o->queue && json_set_str(a, "scheduling.x-k8s.io/suspend", "true", err) < 0)
		return -1;
	if (o->spot && json_set_str(a, "job-supervisor.kube-ai.io/spot-instance", "true", err) < 0)
		return -1;
	(void)snprintf(wait, sizeof(wait), "%" PRId64, o->max_wait_s); /* 32 bytes hold any int64 */
	if (o->max_wait_s >= 0 &&
	    json_set_str(a, "job-supervisor.kube-ai.io/max-wait-time", wait, err) < 0)
		return -1;
	return o->ssh_secret ? json_set_str(a, "arena.kubeflow.org/ssh-secret", o->ssh_secret, err)
			     : 0;
}

int parts_metadata(const struct submit_in *in, cJSON *job, struct role roles[2], struct err *err)
{
	const struct submit_opts *o = in->o;
	cJSON *metas[] = { json_need_object(job, "metadata", err), roles[0].meta, roles[1].meta };

	for (size_t i = 0; i < ARRAY_LEN(metas); i++)
		if (!metas[i] || set_pairs_in("label", &o->labels, metas[i], "labels", err) < 0 ||
		    set_pairs_in("annotation", &o->annotations, metas[i], "annotations", err) < 0)
			return -1;
	if (set_pairs_in("launcher-annotation", &o->launcher_annotations, roles[0].meta,
			 "annotations", err) < 0 ||
	    set_pairs_in("worker-annotation", &o->worker_annotations, roles[1].meta, "annotations",
			 err) < 0 ||
	    job_annotations(o, metas[0], err) < 0)
		return -1;
	return gang(in, job, roles, err);
}

static int set_resource(cJSON *container, const char *flag, const char *name, const char *value,
			struct err *err)
{
	cJSON *resources = json_need_object(container, "resources", err);
	cJSON *limits = resources ? json_need_object(resources, "limits", err) : NULL;
	cJSON *requests = resources ? json_need_object(resources, "requests", err) : NULL;
	struct err why = ERR_INIT;
	int64_t milli;

	if (!requests || !limits)
		return -1;
	if (quantity_parse(value, &milli, &why) < 0 || milli < 0)
		return err_set(err, FAIL_USAGE, "--%s: \"%s\" is no quantity: write 2, 500m or 4Gi",
			       flag, value);
	if (json_set_str(limits, name, value, err) < 0)
		return -1;
	return json_set_str(requests, name, value, err);
}

/* --gpus=0 over a file that asks for some. */
static void drop_gpus(cJSON *container)
{
	cJSON *resources = json_get_mut(container, "resources");

	if (json_get(resources, "limits"))
		json_del(json_get_mut(resources, "limits"), "nvidia.com/gpu");
	if (json_get(resources, "requests"))
		json_del(json_get_mut(resources, "requests"), "nvidia.com/gpu");
}

static int no_gpus(cJSON *container, struct err *err)
{
	cJSON *env = json_need_array(container, "env", err), *e = cJSON_CreateObject();

	if (!env || !e) {
		cJSON_Delete(e);
		return err_nomem(err);
	}
	if (json_append(env, e, err) < 0 ||
	    json_set_str(e, "name", "NVIDIA_VISIBLE_DEVICES", err) < 0)
		return -1;
	return json_set_str(e, "value", "void", err);
}

static int rdma(cJSON *container, struct err *err)
{
	cJSON *context = json_need_object(container, "securityContext", err);
	cJSON *caps = context ? json_need_object(context, "capabilities", err) : NULL;
	cJSON *add = caps ? json_need_array(caps, "add", err) : NULL;

	if (!add || json_append_str(add, "IPC_LOCK", err) < 0)
		return -1;
	return set_resource(container, "rdma", "rdma/hca", "1", err);
}

int parts_resources(const struct submit_in *in, struct role *r, struct err *err)
{
	const struct submit_opts *o = in->o;
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	char gpus[32];

	if (o->cpu && set_resource(r->container, "cpu", "cpu", o->cpu, err) < 0)
		return -1;
	if (o->memory && set_resource(r->container, "memory", "memory", o->memory, err) < 0)
		return -1;
	/* A launcher has no GPU; a process that sees the node's anyway would take one. */
	if (!in->base && (r->launcher || o->gpus <= 0) && no_gpus(r->container, err) < 0)
		return -1;
	if (r->launcher)
		return 0;
	if (in->base && o->gpus == 0)
		drop_gpus(r->container);
	(void)snprintf(gpus, sizeof(gpus), "%" PRId64, o->gpus); /* 32 bytes hold any int64 */
	if (o->gpus > 0 && set_resource(r->container, "gpus", "nvidia.com/gpu", gpus, err) < 0)
		return -1;
	for (size_t i = 0; i < o->device.n; i++) {
		const char *value;

		if (parts_pair("device", o->device.v[i], &key, &value, err) < 0 ||
		    set_resource(r->container, "device", buf_text(&key), value, err) < 0)
			return -1;
	}
	return o->rdma ? rdma(r->container, err) : 0;
}

/* arena's forms: all, KEY, KEY=VALUE:EFFECT, KEY=VALUE:EFFECT,OPERATOR. */
static int toleration(const char *text, cJSON *list, struct err *err)
{
	AUTO(buf) struct buf part = BUF_INIT(LIMIT_TEXT);
	cJSON *t = cJSON_CreateObject();
	const char *comma = strchr(text, ','), *stop = comma ? comma : text + strlen(text);
	const char *colon = memchr(text, ':', (size_t)(stop - text));
	const char *key_end = colon ? colon : stop;
	const char *eq = memchr(text, '=', (size_t)(key_end - text));

	if (!t)
		return err_nomem(err);
	if (json_append(list, t, err) < 0)
		return -1;
	if (str_eq(text, "all"))
		return json_set_str(t, "operator", "Exists", err);
	if (!*text || eq == text || colon == text || comma == text)
		return err_set(err, FAIL_USAGE,
			       "--toleration \"%s\": write KEY, KEY=VALUE:EFFECT or all", text);
	buf_add(&part, text, (size_t)((eq ? eq : key_end) - text));
	if (buf_check(&part, err) < 0)
		return -1;
	if (json_set_str(t, "key", buf_text(&part), err) < 0 || json_set_str(t, "operator",
									     comma ? comma + 1
									     : eq  ? "Equal"
										   : "Exists",
									     err) < 0)
		return -1;
	if (eq) {
		buf_clear(&part);
		buf_add(&part, eq + 1, (size_t)(key_end - eq - 1));
		if (buf_check(&part, err) < 0)
			return -1;
		if (json_set_str(t, "value", buf_text(&part), err) < 0)
			return -1;
	}
	if (colon) {
		buf_clear(&part);
		buf_add(&part, colon + 1, (size_t)(stop - colon - 1));
		if (buf_check(&part, err) < 0)
			return -1;
		if (json_set_str(t, "effect", buf_text(&part), err) < 0)
			return -1;
	}
	return 0;
}

static int pull_secrets(const struct submit_opts *o, cJSON *spec, struct err *err)
{
	cJSON *list;

	if (!o->pull_secret.n)
		return 0;
	if (!(list = json_need_array(spec, "imagePullSecrets", err)))
		return -1;
	for (size_t i = 0; i < o->pull_secret.n; i++) {
		cJSON *e = cJSON_CreateObject();

		if (!e)
			return err_nomem(err);
		if (json_append(list, e, err) < 0 ||
		    json_set_str(e, "name", o->pull_secret.v[i], err) < 0)
			return -1;
	}
	return 0;
}

static int host_namespaces(const struct submit_opts *o, cJSON *spec, struct err *err)
{
	if (o->host_network &&
	    (json_set_bool(spec, "hostNetwork", true, err) < 0 ||
	     json_set_str(spec, "dnsPolicy", "ClusterFirstWithHostNet", err) < 0))
		return -1;
	if (o->host_ipc && json_set_bool(spec, "hostIPC", true, err) < 0)
		return -1;
	return o->host_pid ? json_set_bool(spec, "hostPID", true, err) : 0;
}

int parts_pod(const struct submit_in *in, struct role *r, struct err *err)
{
	const struct submit_opts *o = in->o;
	const struct {
		cJSON *in;
		const char *key, *value;
	} rows[] = {
		{ r->container, "image", o->image },
		{ r->container, "imagePullPolicy", o->pull_policy },
		{ r->container, "workingDir", o->working_dir },
		{ r->spec, "priorityClassName", o->priority },
		{ r->spec, "schedulerName", o->scheduler },
	};
	const struct strs *selector = r->launcher ? &o->launcher_selector : &o->selector;
	const char *flag = r->launcher ? "launcher-selector" : "selector";

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].value && json_set_str(rows[i].in, rows[i].key, rows[i].value, err) < 0)
			return -1;
	if (set_pairs_in(flag, selector, r->spec, "nodeSelector", err) < 0 ||
	    pull_secrets(o, r->spec, err) < 0 || host_namespaces(o, r->spec, err) < 0)
		return -1;
	if (!o->toleration.n)
		return 0;
	cJSON *list = json_need_array(r->spec, "tolerations", err);
	if (!list)
		return -1;
	for (size_t i = 0; i < o->toleration.n; i++)
		if (toleration(o->toleration.v[i], list, err) < 0)
			return -1;
	return 0;
}

/* Sets one variable: replaces one of that name, else adds it. */
static int set_env(cJSON *env, const char *name, const char *value, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	cJSON *e;

	submit_escape(value, &text); /* the kubelet reads $(NAME) in values too */
	if (buf_check(&text, err) < 0)
		return -1;
	json_each (e, env) {
		if (str_eq(json_get_str(e, "name", ""), name)) {
			json_del(e, "valueFrom");
			return json_set_str(e, "value", buf_text(&text), err);
		}
	}
	if (!(e = cJSON_CreateObject()))
		return err_nomem(err);
	if (json_append(env, e, err) < 0 || json_set_str(e, "name", name, err) < 0)
		return -1;
	return json_set_str(e, "value", buf_text(&text), err);
}

/* NAME=VALUE lines; empty lines and those that begin with # say nothing. */
static int env_lines(const char *text, cJSON *env, struct err *err)
{
	AUTO(strs) struct strs lines = STRS_INIT;
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

	if (strs_split(&lines, text, '\n', false, err) < 0)
		return -1;
	for (size_t i = 0; i < lines.n; i++) {
		char *line = lines.v[i] + strspn(lines.v[i], " \t");
		const char *value;
		size_t n = strlen(line);

		if (n && line[n - 1] == '\r')
			line[n - 1] = '\0';
		if (!*line || *line == '#')
			continue;
		if (str_starts(line, "export "))
			line += strlen("export ");
		if (parts_pair("env-file", line, &key, &value, err) < 0 ||
		    set_env(env, buf_text(&key), value, err) < 0)
			return -1;
	}
	return 0;
}

int parts_env(const struct submit_in *in, struct role *r, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	cJSON *env;

	if (!in->env_file && !in->o->env.n)
		return 0;
	if (!(env = json_need_array(r->container, "env", err)))
		return -1;
	if (in->env_file && env_lines(in->env_file, env, err) < 0)
		return -1;
	for (size_t i = 0; i < in->o->env.n; i++) {
		const char *value;

		if (parts_pair("env", in->o->env.v[i], &key, &value, err) < 0 ||
		    set_env(env, buf_text(&key), value, err) < 0)
			return -1;
	}
	return 0;
}
