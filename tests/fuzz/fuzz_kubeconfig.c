/* SPDX-License-Identifier: Apache-2.0 */
/* A kubeconfig file of any bytes. */
#include <sys/mman.h>

#include "base/file.h"
#include "fuzz.h"
#include "kube/config.h"

static char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_CLOSE int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	AUTO(kube_config) struct kube_config config = KUBE_CONFIG_INIT;
	AUTO(strs) struct strs contexts = STRS_INIT;
	struct kube_flags flags = { 0 };
	struct err err = ERR_INIT;
	char path[64];

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(file_write_fd(fd, data, n, &err) == 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	flags.kubeconfig = path;
	FUZZ_RC(kube_config_load(&flags, no_env, &config, &err), &err);
	FUZZ_CHECK(err.fail != FAIL_NONE || config.ns);
	err = ERR_INIT;
	FUZZ_RC(kube_config_contexts(&flags, no_env, &contexts, &err), &err);
	return 0;
}
