/* SPDX-License-Identifier: Apache-2.0 */
/* output: -o of all commands: objects as JSON, YAML, names or a JSONPath. */
#ifndef PLUGIN_OUTPUT_H
#define PLUGIN_OUTPUT_H
#include "cmd.h"

enum output_kind { OUT_TABLE, OUT_WIDE, OUT_JSON, OUT_YAML, OUT_NAME, OUT_JSONPATH };

struct output {
	enum output_kind kind;
	const char *path; /* JSONPATH: the template, borrowed */
};

#define OUTPUT_HELP "output format: json, yaml, name, wide or jsonpath=TEMPLATE"
#define OUTPUT_OBJECT_HELP "output format: json, yaml, name or jsonpath=TEMPLATE"
/* A row for the field `output` (const char *) of an options struct. */
#define OPT_OUTPUT(type, hlp) OPT_STR(type, output, 'o', "output", "FORMAT", hlp)

/* text NULL or "": OUT_TABLE. FAIL_USAGE names the formats. */
MUST_USE int output_parse(const char *text, struct output *out, struct err *err);
/* "trainingjob.kai.alibabacloud.com/name" */
void output_name(const cJSON *obj, struct buf *out);
/* Writes one object in a format that is neither table nor wide. */
MUST_USE int output_object(struct cmd_ctx *ctx, const struct output *o, const cJSON *obj,
			   struct err *err);
/*
 * Several objects: JSON and a JSONPath see a List, YAML is a List too when list is set, else
 * documents parted by "---"; names one a line.
 */
MUST_USE int output_objects(struct cmd_ctx *ctx, const struct output *o, cJSON *const *v, size_t n,
			    bool list, struct err *err);
/* Appends what a JSONPath template of kubectl gives for doc. FAIL_USAGE for a bad template. */
MUST_USE int jsonpath_print(const char *template_, const cJSON *doc, struct buf *out,
			    struct err *err);
#endif
