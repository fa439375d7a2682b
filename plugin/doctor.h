/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: findings about an installation, each with what to do. */
#ifndef PLUGIN_DOCTOR_H
#define PLUGIN_DOCTOR_H
#include "cmd.h"
#include "wire/yaml.h"

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_FAIL };

struct doctor {
	struct cmd_ctx *ctx;
	struct yaml_docs bundle; /* owned: what should be there */
	cJSON *findings;         /* owned array of {check, status, message, fix} */
	bool failed;
};
PRINTF(6, 7)
MUST_USE int doctor_say(struct doctor *d, const char *check, enum health health, const char *fix,
			struct err *err, const char *fmt, ...);
/* Each looks at one thing; -1 only when memory is out or the server can not be reached. */
MUST_USE int doctor_server(struct doctor *d, struct err *err);
MUST_USE int doctor_crds(struct doctor *d, struct err *err);
MUST_USE int doctor_webhook(struct doctor *d, struct err *err);
MUST_USE int doctor_probe(struct doctor *d, struct err *err);
MUST_USE int doctor_controller(struct doctor *d, struct err *err);
MUST_USE int doctor_rights(struct doctor *d, struct err *err);
MUST_USE int doctor_others(struct doctor *d, struct err *err);
#endif
