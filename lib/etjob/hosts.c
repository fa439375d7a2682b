/* SPDX-License-Identifier: Apache-2.0 */
#include "etjob/hosts.h"

#include "etjob/names.h"
#include "etjob/scripts.h"

void hosts_line(const char *job, const char *pod, int64_t slots, struct buf *out)
{
	buf_printf(out, "%s.", pod);
	name_service(job, out);
	buf_printf(out, ":%" PRId64 "\n", slots);
}

void hosts_file(const char *job, const char *const *pods, size_t n, int64_t slots, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		hosts_line(job, pods[i], slots, out);
}

int hosts_read(const char *hostfile, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *list = cJSON_CreateArray();

	if (!list)
		return err_nomem(err);
	for (const char *line = hostfile; *line;) {
		size_t len = strcspn(line, "\n");
		size_t pod_len = strcspn(line, ".:\n");

		if (pod_len > 0) {
			AUTO(buf) struct buf pod = BUF_INIT(len);

			buf_add(&pod, line, pod_len);
			if (buf_check(&pod, err) < 0 ||
			    json_append_str(list, buf_text(&pod), err) < 0)
				return -1;
		}
		line += len + (line[len] == '\n' ? 1 : 0);
	}
	*out = TAKE(list);
	return 0;
}

const char *hosts_script(void)
{
	return scripts_discover();
}
