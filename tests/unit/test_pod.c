/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/pod.h"

#include "controller/sshkey.h"
#include "controller/trim.h"
#include "unit.h"

static void reasons_are_the_clusters_own_and_stable(void **state)
{
	static const struct {
		const char *status, *want; /* NULL: no reason */
	} cases[] = {
		{ "{\"phase\":\"Pending\"}", NULL },
		{ "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
		  "\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available\"}]}",
		  "Unschedulable: 0/1 nodes are available" },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"image\":\"i:1\",\"state\":{\"waiting\":"
		  "{\"reason\":\"ErrImagePull\",\"message\":\"x\"}}}]}",
		  "ImagePullBackOff: image i:1" },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"image\":\"i:1\",\"state\":{\"waiting\":"
		  "{\"reason\":\"ImagePullBackOff\",\"message\":\"back-off 10s\"}}}]}",
		  "ImagePullBackOff: image i:1" },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"state\":{\"waiting\":{\"reason\":"
		  "\"ContainerCreating\"}}}]}",
		  NULL },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"state\":{\"terminated\":{\"exitCode\":137,"
		  "\"reason\":\"OOMKilled\"}}}]}",
		  "OOMKilled: exit code 137" },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"state\":{\"terminated\":{\"exitCode\":110,"
		  "\"reason\":\"Error\",\"message\":\"the image has no sshd\\nmore\"}}}]}",
		  "Error: exit code 110, the image has no sshd" },
		{ "{\"containerStatuses\":[{\"name\":\"et\",\"state\":{\"waiting\":{\"reason\":"
		  "\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":1,\"reason\":\"Error\"}}}]}",
		  "Error: exit code 1" },
		{ "{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"low on memory\"}",
		  "Evicted: low on memory" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf) struct buf text = BUF_INIT(4096), why = BUF_INIT(4096);
		struct pod pod;

		buf_printf(&text, "{\"metadata\":{\"name\":\"et-worker-0\"},\"status\":%s}",
			   cases[i].status);
		AUTO_JSON cJSON *obj = unit_json(buf_text(&text));

		for (int trimmed = 0; trimmed < 2; trimmed++) {
			buf_clear(&why);
			pod_view(obj, NULL, "et", "u", &pod);
			bool any = pod_reason(&pod, &why, NULL);

			assert_int_equal(any, cases[i].want != NULL);
			assert_string_equal(buf_text(&why), cases[i].want ? cases[i].want : "");
			trim_for(SEEN_POD)(obj); /* what the informer keeps says the same */
		}
	}
}

static void a_taint_pushes_out_what_does_not_tolerate_it(void **state)
{
	static const struct {
		const char *taint, *tolerations;
		bool out;
	} cases[] = {
		{ "{\"key\":\"a\",\"effect\":\"NoExecute\"}", "[]", true },
		{ "{\"key\":\"a\",\"effect\":\"NoSchedule\"}", "[]", false },
		{ "{\"key\":\"a\",\"effect\":\"NoExecute\"}",
		  "[{\"key\":\"a\",\"operator\":\"Exists\"}]", false },
		{ "{\"key\":\"a\",\"value\":\"x\",\"effect\":\"NoExecute\"}",
		  "[{\"key\":\"a\",\"value\":\"y\"}]", true },
		{ "{\"key\":\"a\",\"value\":\"x\",\"effect\":\"NoExecute\"}",
		  "[{\"key\":\"a\",\"value\":\"x\",\"effect\":\"NoExecute\"}]", false },
		{ "{\"key\":\"a\",\"effect\":\"NoExecute\"}", "[{\"operator\":\"Exists\"}]",
		  false },
		/* A time limit only puts the end off. */
		{ "{\"key\":\"node.kubernetes.io/unreachable\",\"effect\":\"NoExecute\"}",
		  "[{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\","
		  "\"tolerationSeconds\":300}]",
		  true },
		{ "{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"}", "[]",
		  true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf) struct buf a = BUF_INIT(4096), b = BUF_INIT(4096);

		buf_printf(&a, "{\"spec\":{\"taints\":[%s]}}", cases[i].taint);
		buf_printf(&b, "{\"metadata\":{},\"spec\":{\"tolerations\":%s}}",
			   cases[i].tolerations);
		AUTO_JSON cJSON *node = unit_json(buf_text(&a));
		AUTO_JSON cJSON *pod = unit_json(buf_text(&b));

		assert_int_equal(pod_tainted(pod, node), cases[i].out);
		trim_for(SEEN_POD)(pod);
		assert_int_equal(pod_tainted(pod, node), cases[i].out);
	}
}

static void a_launcher_is_done_when_its_first_container_is(void **state)
{
	AUTO_JSON cJSON *obj = unit_json(
		"{\"metadata\":{\"name\":\"et-launcher\"},\"spec\":{\"restartPolicy\":\"Never\","
		"\"containers\":[{\"name\":\"et\"},{\"name\":\"side\"}]},\"status\":{\"phase\":\"Running\","
		"\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{\"name\":\"et\","
		"\"state\":{\"terminated\":{\"exitCode\":0}}}]}}");
	struct pod pod;

	pod_view(obj, NULL, "et", "u", &pod);
	assert_true(pod.done);
	assert_false(pod.dead);
	assert_int_equal(pod.exit_code, 0);
}

static void a_key_pair_is_what_ssh_reads(void **state)
{
	AUTO(buf) struct buf key = BUF_INIT(16384), line = BUF_INIT(16384), other = BUF_INIT(16384);
	AUTO(buf) struct buf line2 = BUF_INIT(16384);
	struct err err = ERR_INIT;

	unit_assert_ok(sshkey_make(&key, &line, &err), &err);
	unit_assert_ok(sshkey_make(&other, &line2, &err), &err);
	assert_true(str_starts(buf_text(&key), "-----BEGIN PRIVATE KEY-----\n"));
	/* "ecdsa-sha2-nistp256", "nistp256" and a point of 65 bytes, each with its length. */
	assert_true(str_starts(buf_text(&line),
			       "ecdsa-sha2-nistp256 "
			       "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB"));
	assert_string_equal(buf_text(&line) + line.len - 7, " etjob\n");
	assert_string_not_equal(buf_text(&line), buf_text(&line2));
	buf_wipe(&key);
	buf_wipe(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(reasons_are_the_clusters_own_and_stable),
		UNIT_CASE(a_taint_pushes_out_what_does_not_tolerate_it),
		UNIT_CASE(a_launcher_is_done_when_its_first_container_is),
		UNIT_CASE(a_key_pair_is_what_ssh_reads),
	};
	UNIT_MAIN(tests);
}
