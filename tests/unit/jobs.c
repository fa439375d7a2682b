/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"

#include "unit.h"
#include "wire/patch.h"

static const char good[] =
	"{\"apiVersion\":\"kai.alibabacloud.com/v1alpha1\",\"kind\":\"TrainingJob\","
	"\"metadata\":{\"name\":\"et\",\"namespace\":\"ml\"},"
	"\"spec\":{\"cleanPodPolicy\":\"Running\",\"etReplicaSpecs\":{"
	"\"launcher\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"et\","
	"\"image\":\"horovod:1\",\"command\":[\"sh\",\"-c\",\"horovodrun -np "
	"$((${workers}*${gpus})) --host-discovery-script /etc/edl/discover_hosts.sh python "
	"t.py\"]}]}}},"
	"\"worker\":{\"replicas\":2,\"minReplicas\":1,\"maxReplicas\":4,\"template\":{\"spec\":{"
	"\"containers\":[{\"name\":\"et\",\"image\":\"horovod:1\",\"resources\":{\"limits\":{"
	"\"nvidia.com/gpu\":1}}}]}}}}}}";

cJSON *jobs_good(void)
{
	return unit_json(good);
}

cJSON *jobs_running(void)
{
	cJSON *job = jobs_good();

	jobs_set(&job, "/metadata/uid", "\"u1\"");
	jobs_set(&job, "/metadata/creationTimestamp", "\"2026-01-02T03:04:05Z\"");
	jobs_set(&job, "/status",
		 "{\"phase\":\"Running\",\"replicas\":2,\"nextWorkerIndex\":2,"
		 "\"targetWorkers\":[\"et-worker-0\",\"et-worker-1\"],"
		 "\"currentWorkers\":[\"et-worker-0\",\"et-worker-1\"],"
		 "\"replicaStatuses\":{\"Launcher\":{\"active\":1},\"Worker\":{\"active\":2}}}");
	return job;
}

void jobs_set(cJSON **job, const char *pointer, const char *text)
{
	AUTO(patch) struct patch patch = PATCH_INIT;
	struct err err = ERR_INIT;

	if (text)
		unit_assert_ok(patch_add(&patch, pointer, unit_json(text), &err), &err);
	else
		unit_assert_ok(patch_remove(&patch, pointer, &err), &err);
	unit_assert_ok(patch_apply(patch.ops, job, &err), &err);
}

uint64_t jobs_random(uint64_t *seed)
{
	/* splitmix64 */
	uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static bool one_in(uint64_t *seed, unsigned n)
{
	return jobs_random(seed) % n == 0;
}

static void set_number(cJSON **job, const char *pointer, int64_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(64);

	buf_printf(&text, "%" PRId64, n);
	jobs_set(job, pointer, buf_text(&text));
}

static void random_env(cJSON **job, uint64_t *seed, const char *container)
{
	static const char *const names[] = { "workers", "A/B~C", "gpus", "minWorkers", "x" };
	AUTO(buf) struct buf at = BUF_INIT(256);

	if (one_in(seed, 3))
		return;
	buf_printf(&at, "%s/env", container);
	if (one_in(seed, 8)) {
		jobs_set(job, buf_text(&at), "null");
		return;
	}
	jobs_set(job, buf_text(&at), "[]");
	buf_str(&at, "/-");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(buf) struct buf entry = BUF_INIT(256);

		if (!one_in(seed, 2))
			continue;
		buf_printf(&entry, "{\"name\":\"%s\",\"value\":\"%u\"}", names[i],
			   (unsigned)(jobs_random(seed) % 6));
		jobs_set(job, buf_text(&at), buf_text(&entry));
	}
}

static void random_mount(cJSON **job, uint64_t *seed)
{
	switch (jobs_random(seed) % 6) {
	case 0:
		jobs_set(job, L "/volumes", "[{\"name\":\"data\",\"emptyDir\":{}}]");
		jobs_set(job, L "/containers/0/volumeMounts",
			 "[{\"name\":\"data\",\"mountPath\":\"/etc/edl/\"}]");
		break;
	case 1:
		jobs_set(job, L "/volumes",
			 "[{\"name\":\"etjob-config\",\"configMap\":{\"name\":\"et-config\"}}]");
		break;
	case 2:
		jobs_set(job, L "/volumes", "[{\"name\":\"etjob-config\",\"emptyDir\":{}}]");
		break;
	case 3:
		jobs_set(job, L "/containers/0/volumeMounts",
			 "[{\"name\":\"etjob-config\",\"mountPath\":\"/etc/edl\"}]");
		break;
	case 4:
		jobs_set(job, L "/volumes", "null");
		break;
	default:
		break;
	}
}

cJSON *jobs_random_valid(uint64_t *seed)
{
	cJSON *job = jobs_good();
	int64_t min = 1 + (int64_t)(jobs_random(seed) % 5);
	int64_t replicas = min + (int64_t)(jobs_random(seed) % 5);

	set_number(&job, WORKER "/replicas", replicas);
	set_number(&job, WORKER "/minReplicas", min);
	set_number(&job, WORKER "/maxReplicas", replicas + (int64_t)(jobs_random(seed) % 5));
	if (one_in(seed, 4))
		jobs_set(&job, WORKER "/maxReplicas", NULL);
	if (one_in(seed, 4))
		jobs_set(&job, WORKER "/minReplicas", "null");
	if (one_in(seed, 3))
		jobs_set(&job, W "/containers/0/resources", NULL);
	if (one_in(seed, 3))
		jobs_set(&job, W "/containers/-", "{\"name\":\"side\",\"image\":\"i\"}");
	/* What the user set must stay, to the last digit. */
	jobs_set(&job, "/metadata/annotations",
		 "{\"a~b/c\":\"9223372036854775807\",\"big\":\"\\u00e9\"}");
	jobs_set(&job, W "/odd", "[9223372036854775807,1.10,1e400,{\"a/b\":{\"~\":null}}]");
	random_env(&job, seed, L "/containers/0");
	random_env(&job, seed, W "/containers/0");
	random_mount(&job, seed);
	return job;
}
