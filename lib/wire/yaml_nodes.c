/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml_nodes.h"

#include <yaml.h>

#include "base/limits.h"

struct reader {
	yaml_parser_t parser;
	struct yaml_tree *tree;
	struct map anchors; /* name -> node, borrowed */
	size_t line;        /* of the file's line that the text starts with */
	unsigned depth;
	struct err *err;
};

void yaml_tree_release(struct yaml_tree *t)
{
	struct yaml_node *node = t->all;

	while (node) {
		struct yaml_node *next = node->next;

		free(node->text);
		free(node->tag);
		free(node->children);
		free(node);
		node = next;
	}
	*t = (struct yaml_tree){ 0 };
}

/* The parser's own complaint. */
static int syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "not YAML";

	if (p->error == YAML_MEMORY_ERROR)
		return err_nomem(r->err);
	if (p->error == YAML_READER_ERROR)
		return err_set(r->err, FAIL_INPUT, "%s", problem);
	return err_set(r->err, FAIL_INPUT, "line %zu: %s", r->line + p->problem_mark.line, problem);
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : syntax(r);
}

static struct yaml_pos pos_of(const struct reader *r, const yaml_mark_t *mark)
{
	return (struct yaml_pos){ r->line + mark->line, mark->column + 1 };
}

/* A new node, owned by the tree. */
static struct yaml_node *new_node(struct reader *r, enum yaml_kind kind, const yaml_event_t *event,
				  const yaml_char_t *tag)
{
	struct yaml_node *node;

	if (r->tree->count == LIMIT_YAML_NODES) {
		(void)err_set(r->err, FAIL_LIMIT, "more than %d values", LIMIT_YAML_NODES);
		return NULL;
	}
	node = calloc(1, sizeof(*node));
	if (!node) {
		(void)err_nomem(r->err);
		return NULL;
	}
	node->kind = kind;
	node->pos = pos_of(r, &event->start_mark);
	node->next = r->tree->all;
	r->tree->all = node;
	r->tree->count++;
	if (tag) {
		node->tag = strdup((const char *)tag);
		if (!node->tag) {
			(void)err_nomem(r->err);
			return NULL;
		}
	}
	return node;
}

static int set_text(struct yaml_node *node, const void *text, size_t n, struct err *err)
{
	node->text = malloc(n + 1);
	if (!node->text)
		return err_nomem(err);
	memcpy(node->text, text, n);
	node->text[n] = '\0';
	node->len = n;
	return 0;
}

static int add_child(struct yaml_node *parent, struct yaml_node *child, struct err *err)
{
	if (parent->n == parent->size) {
		size_t size = parent->size ? parent->size * 2 : 8;
		struct yaml_node **children =
			reallocarray(parent->children, size, sizeof(struct yaml_node *));

		if (!children)
			return err_nomem(err);
		parent->children = children;
		parent->size = size;
	}
	parent->children[parent->n++] = child;
	return 0;
}

static struct yaml_node *read_node(struct reader *r, const yaml_event_t *event);

/* Reads children up to the event that ends the collection. */
static int read_children(struct reader *r, struct yaml_node *node, yaml_event_type_t end)
{
	if (++r->depth > LIMIT_YAML_DEPTH)
		return err_set(r->err, FAIL_INPUT, "line %zu: nested deeper than %d levels",
			       node->pos.line, LIMIT_YAML_DEPTH);
	for (;;) {
		yaml_event_t event;
		struct yaml_node *child;
		bool ended;

		if (next_event(r, &event) < 0)
			return -1;
		ended = event.type == end;
		child = ended ? NULL : read_node(r, &event);
		yaml_event_delete(&event);
		if (ended)
			break;
		if (!child || add_child(node, child, r->err) < 0)
			return -1;
	}
	r->depth--;
	return 0;
}

static struct yaml_node *read_alias(struct reader *r, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	const struct yaml_node *target = map_get(&r->anchors, name);
	struct yaml_node *node;

	if (!target) {
		(void)err_set(r->err, FAIL_INPUT, "line %zu: unknown anchor '%s' referenced",
			      r->line + event->start_mark.line, name);
		return NULL;
	}
	node = new_node(r, YAML_ALIAS, event, NULL);
	if (!node || set_text(node, name, strlen(name), r->err) < 0)
		return NULL;
	node->target = target;
	return node;
}

static int set_anchor(struct reader *r, const yaml_char_t *anchor, struct yaml_node *node)
{
	return anchor ? map_put(&r->anchors, (const char *)anchor, node, r->err) : 0;
}

/* The node that begins with this event, children and all; NULL with err. */
static struct yaml_node *read_node(struct reader *r, const yaml_event_t *event)
{
	struct yaml_node *node;

	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return read_alias(r, event);
	case YAML_SCALAR_EVENT:
		node = new_node(r, YAML_SCALAR, event, event->data.scalar.tag);
		if (!node ||
		    set_text(node, event->data.scalar.value, event->data.scalar.length, r->err) <
			    0 ||
		    set_anchor(r, event->data.scalar.anchor, node) < 0)
			return NULL;
		node->plain = event->data.scalar.plain_implicit;
		return node;
	case YAML_SEQUENCE_START_EVENT:
		node = new_node(r, YAML_SEQUENCE, event, event->data.sequence_start.tag);
		if (!node || set_anchor(r, event->data.sequence_start.anchor, node) < 0 ||
		    read_children(r, node, YAML_SEQUENCE_END_EVENT) < 0)
			return NULL;
		return node;
	case YAML_MAPPING_START_EVENT:
		node = new_node(r, YAML_MAPPING, event, event->data.mapping_start.tag);
		if (!node || set_anchor(r, event->data.mapping_start.anchor, node) < 0 ||
		    read_children(r, node, YAML_MAPPING_END_EVENT) < 0)
			return NULL;
		return node;
	default:
		(void)err_set(r->err, FAIL_INPUT, "line %zu: a value was expected",
			      r->line + event->start_mark.line);
		return NULL;
	}
}

/* Takes the next event, which is of one of two types; true in *second for the second. */
static int expect(struct reader *r, yaml_event_type_t one, yaml_event_type_t two, bool *second)
{
	yaml_event_t event;
	yaml_event_type_t type;
	size_t line;

	if (next_event(r, &event) < 0)
		return -1;
	type = event.type;
	line = r->line + event.start_mark.line;
	yaml_event_delete(&event);
	if (type != one && type != two)
		return err_set(r->err, FAIL_INPUT,
			       "line %zu: text after the end of the document (\"---\" on a line of "
			       "its own separates documents)",
			       line);
	*second = type == two;
	return 0;
}

static int read_document(struct reader *r)
{
	yaml_event_t event;
	bool end;

	if (expect(r, YAML_STREAM_START_EVENT, YAML_STREAM_START_EVENT, &end) < 0 ||
	    expect(r, YAML_DOCUMENT_START_EVENT, YAML_STREAM_END_EVENT, &end) < 0)
		return -1;
	if (end)
		return 0;
	if (next_event(r, &event) < 0)
		return -1;
	r->tree->root = read_node(r, &event);
	yaml_event_delete(&event);
	if (!r->tree->root || expect(r, YAML_DOCUMENT_END_EVENT, YAML_DOCUMENT_END_EVENT, &end) < 0)
		return -1;
	return expect(r, YAML_STREAM_END_EVENT, YAML_STREAM_END_EVENT, &end);
}

int yaml_tree_read(const char *text, size_t n, size_t line, struct yaml_tree *out, struct err *err)
{
	AUTO(yaml_tree) struct yaml_tree tree = { 0 };
	struct reader r = { .tree = &tree, .anchors = MAP_INIT(NULL), .line = line, .err = err };
	int rc;

	if (!yaml_parser_initialize(&r.parser))
		return err_nomem(err);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
	rc = read_document(&r);
	yaml_parser_delete(&r.parser);
	map_release(&r.anchors);
	if (rc < 0)
		return -1;
	*out = tree;
	tree = (struct yaml_tree){ 0 };
	return 0;
}
