/* SPDX-License-Identifier: Apache-2.0 */
/* submit_children: the ConfigMap of --config-file, and TensorBoard's Deployment and Service. */
#include "base/limits.h"
#include "etjob/names.h"
#include "submit_parts.h"
#include "wire/base64.h"

#define CONFIGMAP_MAX (1u << 20) /* the API server's limit on a ConfigMap's data */
#define TENSORBOARD_IMAGE "tensorflow/tensorflow:2.15.0"
#define TENSORBOARD_PORT 6006

/* Takes child, also on failure. */
static int add_child(struct submit_out *out, cJSON *child, struct err *err)
{
	cJSON **v = reallocarray(out->children, out->nchildren + 1, sizeof(*v));

	if (!v || !child) {
		cJSON_Delete(child);
		return err_nomem(err);
	}
	out->children = v;
	v[out->nchildren++] = child;
	return 0;
}

/* A new object of that kind, named <job><suffix>, with the job's label. */
static cJSON *new_child(const struct submit_in *in, struct submit_out *out, const char *api,
			const char *kind, const char *suffix, struct err *err)
{
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	const char *job = json_get_str(json_get(out->job, "metadata"), "name", "");
	cJSON *child = cJSON_CreateObject();

	buf_printf(&name, "%s%s", job, suffix);
	if (buf_check(&name, err) < 0) {
		cJSON_Delete(child);
		return NULL;
	}
	if (add_child(out, child, err) < 0)
		return NULL;
	cJSON *meta = json_need_object(child, "metadata", err);
	cJSON *labels = meta ? json_need_object(meta, "labels", err) : NULL;
	if (!labels || json_set_str(child, "apiVersion", api, err) < 0 ||
	    json_set_str(child, "kind", kind, err) < 0 ||
	    json_set_str(meta, "name", buf_text(&name), err) < 0 ||
	    json_set_str(meta, "namespace", in->ns, err) < 0 ||
	    json_set_str(labels, "app", "etjob", err) < 0 ||
	    json_set_str(labels, "release", job, err) < 0 ||
	    json_set_str(labels, LABEL_JOB, job, err) < 0)
		return NULL;
	return child;
}

static int config_map(const struct submit_in *in, struct submit_out *out, struct err *err)
{
	cJSON *map = new_child(in, out, "v1", "ConfigMap", "-files", err);
	cJSON *data = map ? json_need_object(map, "binaryData", err) : NULL;
	size_t total = 0;
	char key[48];

	if (!data)
		return -1;
	for (size_t i = 0; i < in->nfiles; i++) {
		AUTO(buf) struct buf text = BUF_INIT(2 * CONFIGMAP_MAX);

		total += in->files[i].n;
		if (total > CONFIGMAP_MAX)
			return err_set(
				err, FAIL_INPUT,
				"--config-file: the files are larger than 1 MiB together: use --data");
		(void)snprintf(key, sizeof(key), "file-%zu", i); /* always fits */
		base64_encode(&text, in->files[i].data, in->files[i].n);
		if (buf_check(&text, err) < 0 || json_set_str(data, key, buf_text(&text), err) < 0)
			return -1;
	}
	return 0;
}

/* On the launcher's node, because a log directory of the node is only there. */
static int near_launcher(const char *job, cJSON *pod_spec, struct err *err)
{
	cJSON *affinity = json_need_object(pod_spec, "affinity", err);
	cJSON *pods = affinity ? json_need_object(affinity, "podAffinity", err) : NULL;
	cJSON *list =
		pods ? json_need_array(pods, "requiredDuringSchedulingIgnoredDuringExecution", err)
		     : NULL;
	cJSON *term = list ? cJSON_CreateObject() : NULL;

	if (!term)
		return err_nomem(err);
	if (json_append(list, term, err) < 0 ||
	    json_set_str(term, "topologyKey", "kubernetes.io/hostname", err) < 0)
		return -1;
	cJSON *selector = json_need_object(term, "labelSelector", err);
	cJSON *labels = selector ? json_need_object(selector, "matchLabels", err) : NULL;
	if (!labels || json_set_str(labels, LABEL_JOB, job, err) < 0)
		return -1;
	return json_set_str(labels, LABEL_ROLE, ROLE_LAUNCHER, err);
}

static int tensorboard_container(const struct submit_in *in, cJSON *pod_spec, struct err *err)
{
	const struct submit_opts *o = in->o;
	AUTO(buf) struct buf logdir = BUF_INIT(LIMIT_TEXT);
	cJSON *list = json_need_array(pod_spec, "containers", err);
	cJSON *c = list ? cJSON_CreateObject() : NULL;
	cJSON *port = cJSON_CreateObject();

	if (!c || !port) {
		cJSON_Delete(c);
		cJSON_Delete(port);
		return err_nomem(err);
	}
	buf_printf(&logdir, "--logdir=%s", parts_logdir(o));
	if (buf_check(&logdir, err) < 0)
		return -1;
	if (json_append(list, c, err) < 0) {
		cJSON_Delete(port);
		return -1;
	}
	cJSON *ports = json_need_array(c, "ports", err);
	if (!ports) {
		cJSON_Delete(port);
		return -1;
	}
	if (json_append(ports, port, err) < 0 ||
	    json_set_int(port, "containerPort", TENSORBOARD_PORT, err) < 0 ||
	    json_set_str(c, "name", "tensorboard", err) < 0 ||
	    json_set_str(c, "image",
			 o->tensorboard_image ? o->tensorboard_image : TENSORBOARD_IMAGE, err) < 0)
		return -1;
	cJSON *command = json_need_array(c, "command", err);
	if (!command || json_append_str(command, "tensorboard", err) < 0 ||
	    json_append_str(command, buf_text(&logdir), err) < 0 ||
	    json_append_str(command, "--host=0.0.0.0", err) < 0)
		return -1;
	return parts_data(in, pod_spec, c, err) < 0 ? -1 : parts_logs(in, pod_spec, c, err);
}

static int tensorboard_deployment(const struct submit_in *in, struct submit_out *out,
				  struct err *err)
{
	const char *job = json_get_str(json_get(out->job, "metadata"), "name", "");
	cJSON *d = new_child(in, out, "apps/v1", "Deployment", "-tensorboard", err);
	cJSON *spec = d ? json_need_object(d, "spec", err) : NULL;
	cJSON *selector = spec ? json_need_object(spec, "selector", err) : NULL;
	cJSON *match = selector ? json_need_object(selector, "matchLabels", err) : NULL;
	cJSON *template_ = match ? json_need_object(spec, "template", err) : NULL;
	cJSON *meta = template_ ? json_need_object(template_, "metadata", err) : NULL;
	cJSON *labels = meta ? json_need_object(meta, "labels", err) : NULL;
	cJSON *pod = labels ? json_need_object(template_, "spec", err) : NULL;
	cJSON *sets[] = { match, labels };

	if (!pod || json_set_int(spec, "replicas", 1, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (json_set_str(sets[i], "app", "etjob-tensorboard", err) < 0 ||
		    json_set_str(sets[i], "release", job, err) < 0)
			return -1;
	if (tensorboard_container(in, pod, err) < 0)
		return -1;
	return near_launcher(job, pod, err);
}

static int tensorboard_service(const struct submit_in *in, struct submit_out *out, struct err *err)
{
	const char *job = json_get_str(json_get(out->job, "metadata"), "name", "");
	cJSON *s = new_child(in, out, "v1", "Service", "-tensorboard", err);
	cJSON *spec = s ? json_need_object(s, "spec", err) : NULL;
	cJSON *selector = spec ? json_need_object(spec, "selector", err) : NULL;
	cJSON *ports = selector ? json_need_array(spec, "ports", err) : NULL;
	cJSON *port = ports ? cJSON_CreateObject() : NULL;

	if (!port)
		return err_nomem(err);
	if (json_append(ports, port, err) < 0 ||
	    json_set_str(port, "name", "tensorboard", err) < 0 ||
	    json_set_int(port, "port", TENSORBOARD_PORT, err) < 0 ||
	    json_set_int(port, "targetPort", TENSORBOARD_PORT, err) < 0 ||
	    json_set_str(selector, "app", "etjob-tensorboard", err) < 0)
		return -1;
	return json_set_str(selector, "release", job, err);
}

int submit_children(const struct submit_in *in, struct submit_out *out, struct err *err)
{
	if (in->nfiles && config_map(in, out, err) < 0)
		return -1;
	if (!in->o->tensorboard)
		return in->o->tensorboard_image || in->o->logdir
			       ? err_set(err, FAIL_USAGE, "--tensorboard is missing")
			       : 0;
	if (tensorboard_deployment(in, out, err) < 0)
		return -1;
	return tensorboard_service(in, out, err);
}
