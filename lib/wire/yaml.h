/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml: YAML documents as kubectl reads them (libyaml for syntax, YAML 1.1
 * scalar typing as sigs.k8s.io/yaml does it, merge keys), and printed as
 * `kubectl -o yaml` prints. Limits on depth, size and alias expansion.
 * JSON documents are read too, as kubectl does.
 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H
#include "base/map.h"
#include "wire/json.h"

/* Where a value stands in its file; lines and columns count from 1. */
struct yaml_pos {
	size_t line, col;
};

struct yaml_doc {
	cJSON *json;     /* owned; an object, array or scalar */
	size_t line;     /* first line of the document in the file, from 1 */
	struct map *pos; /* owned; JSON Pointer -> struct yaml_pos *; NULL unless asked for */
};

struct yaml_docs {
	struct yaml_doc *v; /* owned */
	size_t n;
};

enum yaml_flag {
	YAML_POSITIONS = 1,   /* fill yaml_doc.pos */
	YAML_STRICT_KEYS = 2, /* a duplicate key is an error; else the last wins, as in kubectl */
};

void yaml_docs_release(struct yaml_docs *d);
/*
 * Parses all documents of n bytes; empty documents are left out. FAIL_INPUT
 * with "line N: ..."; nothing is returned then.
 */
MUST_USE int yaml_parse(const char *text, size_t n, unsigned flags, struct yaml_docs *out,
			struct err *err);
/* Position of a JSON Pointer ("/spec/x/0"), or of the nearest parent that has one. */
struct yaml_pos yaml_pos_of(const struct yaml_doc *d, const char *pointer);
/* Appends v as YAML: keys sorted, 2 columns, as kubectl prints. */
MUST_USE int yaml_print(const cJSON *v, struct buf *out, struct err *err);
#endif
