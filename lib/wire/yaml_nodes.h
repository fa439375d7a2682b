/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_nodes: one YAML document as a tree, before its scalars get a type and its aliases a copy. */
#ifndef WIRE_YAML_NODES_H
#define WIRE_YAML_NODES_H
#include "wire/yaml.h"

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING, YAML_ALIAS };

struct yaml_node {
	enum yaml_kind kind;
	bool plain;                  /* scalar: not quoted (or with the tag "!") */
	bool open;                   /* being followed through an alias */
	char *text;                  /* owned: a scalar's text, an alias's name */
	size_t len;                  /* of text, which may hold NULs */
	char *tag;                   /* owned; NULL: none */
	struct yaml_node **children; /* owned array; items, or keys and values in turn */
	size_t n, size;
	const struct yaml_node *target; /* alias: what it stands for */
	struct yaml_pos pos;
	struct yaml_node *next; /* in the list of all nodes of the tree */
};

struct yaml_tree {
	struct yaml_node *root; /* NULL: an empty document */
	struct yaml_node *all;  /* owned list */
	size_t count;
};

void yaml_tree_release(struct yaml_tree *t);
/* Reads the only document of n bytes, whose first line is line `line` of the file. */
MUST_USE int yaml_tree_read(const char *text, size_t n, size_t line, struct yaml_tree *out,
			    struct err *err);
/* The tree's value; positions go to pos (JSON Pointer -> struct yaml_pos *) unless it is NULL. */
MUST_USE int yaml_tree_value(const struct yaml_tree *t, bool strict_keys, struct map *pos,
			     cJSON **out, struct err *err);
#endif
