/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a watch, in two pieces. The part that reads them is static, so its file comes in
 * whole. */
#include "kube/informer.c"

#include "fuzz.h"

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	size_t *changes = arg;

	FUZZ_CHECK(old || now);
	++*changes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kube_config config = { .server = (char *)(uintptr_t) "http://127.0.0.1:1",
				      .ns = (char *)(uintptr_t) "default" };
	struct err err = ERR_INIT;
	size_t changes = 0;
	struct informer_opts opts = { .res = &kube_pods, .on_change = on_change, .arg = &changes };
	struct kube_opts kube_opts = { .user_agent = "fuzz" };
	struct loop *loop = NULL;
	struct kube *kube = NULL;
	struct informer *i = NULL;
	size_t cut = n ? data[0] % n : 0;

	FUZZ_CHECK(loop_new(clock_system(), &loop, &err) == 0);
	FUZZ_CHECK(kube_new(loop, &config, &kube_opts, &kube, &err) == 0);
	FUZZ_CHECK(informer_new(kube, &opts, &i, &err) == 0);
	i->phase = PHASE_WATCH;
	if (on_watch_data(i, (const char *)data, cut) == 0)
		(void)on_watch_data(i, (const char *)data + cut,
				    n - cut); /* its end is no matter */
	FUZZ_CHECK(changes <= n);
	informer_free(i);
	kube_free(kube);
	loop_free(loop);
	return 0;
}
