/* SPDX-License-Identifier: Apache-2.0 */
/* lint: files checked without a cluster, each finding at its place in the file. */
#ifndef PLUGIN_LINT_H
#define PLUGIN_LINT_H
#include "base/strs.h"
#include "wire/json.h"

struct finding {
	char *file;       /* owned */
	size_t line, col; /* from 1; 0: the whole file */
	bool warning;
	char *rule, *text; /* owned: "min-above-replicas", "field: message" */
	char *object;      /* owned: "TrainingJob/name", "" when there is none */
};
struct lint {
	bool ignore_foreign; /* files named by the user too */
	struct finding *v;   /* owned */
	size_t n, size;
	size_t files, objects; /* looked at; objects of our kinds */
	struct strs names;     /* files looked at */
};
void lint_release(struct lint *l);
/* Reads path: a file, "-", or a folder with all .yaml, .yml and .json below it. */
MUST_USE int lint_path(struct lint *l, const char *path, struct err *err);
/* One file's bytes. */
MUST_USE int lint_text(struct lint *l, const char *file, const char *text, size_t n,
		       struct err *err);

/* Reports. */
MUST_USE int lint_print_text(const struct lint *l, struct buf *out, struct err *err);
MUST_USE int lint_print_json(const struct lint *l, struct buf *out, struct err *err);
MUST_USE int lint_print_junit(const struct lint *l, struct buf *out, struct err *err);
MUST_USE int lint_print_sarif(const struct lint *l, struct buf *out, struct err *err);
size_t lint_errors(const struct lint *l);
#endif
