/* SPDX-License-Identifier: Apache-2.0 */
/* output: objects on standard output, as kubectl prints them. */
#include "output.h"

#include "base/limits.h"
#include "wire/yaml.h"

int output_parse(const char *text, struct output *out, struct err *err)
{
	static const struct {
		const char *word;
		enum output_kind kind;
	} words[] = { { "json", OUT_JSON },
		      { "yaml", OUT_YAML },
		      { "name", OUT_NAME },
		      { "wide", OUT_WIDE } };

	*out = (struct output){ .kind = OUT_TABLE };
	if (!text || !*text)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_eq(text, words[i].word)) {
			out->kind = words[i].kind;
			return 0;
		}
	}
	if (str_starts(text, "jsonpath=") && text[9]) {
		*out = (struct output){ .kind = OUT_JSONPATH, .path = text + 9 };
		return 0;
	}
	return err_set(err, FAIL_USAGE,
		       "unable to match a printer suitable for the output format \"%s\": "
		       "use json, yaml, name, wide or jsonpath=TEMPLATE",
		       text);
}

void output_name(const cJSON *obj, struct buf *out)
{
	const char *kind = json_get_str(obj, "kind", "");
	const char *api = json_get_str(obj, "apiVersion", "");
	const char *slash = strchr(api, '/');

	for (const char *p = kind; *p; p++)
		buf_char(out, (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
	if (slash) {
		buf_char(out, '.');
		buf_add(out, api, (size_t)(slash - api));
	}
	buf_char(out, '/');
	buf_str(out, json_get_str(json_get(obj, "metadata"), "name", ""));
}

/* managedFields are noise to a reader; kubectl hides them too. */
static cJSON *without_managed(const cJSON *obj, struct err *err)
{
	cJSON *copy = json_copy(obj, err);
	cJSON *meta = json_get_mut(copy, "metadata");

	if (meta)
		json_del(meta, "managedFields");
	return copy;
}

int output_object(struct cmd_ctx *ctx, const struct output *o, const cJSON *obj, struct err *err)
{
	AUTO_JSON cJSON *copy = without_managed(obj, err);

	if (!copy)
		return -1;
	switch (o->kind) {
	case OUT_JSON:
		return json_print_pretty(copy, &ctx->out, err);
	case OUT_YAML:
		return yaml_print(copy, &ctx->out, err);
	case OUT_JSONPATH:
		return jsonpath_print(o->path, obj, &ctx->out, err);
	case OUT_NAME:
	case OUT_TABLE:
	case OUT_WIDE:
		output_name(obj, &ctx->out);
		buf_char(&ctx->out, '\n');
		return 0;
	}
	return 0;
}

static int as_list(cJSON *const *v, size_t n, cJSON **out, struct err *err)
{
	AUTO_JSON cJSON *list = cJSON_CreateObject();

	if (!list)
		return err_nomem(err);
	if (json_set_str(list, "apiVersion", "v1", err) < 0)
		return -1;
	cJSON *items = json_need_array(list, "items", err);
	if (!items)
		return -1;
	for (size_t i = 0; i < n; i++) {
		cJSON *copy = without_managed(v[i], err);

		if (!copy || json_append(items, copy, err) < 0)
			return -1;
	}
	cJSON *meta = json_need_object(list, "metadata", err);
	if (!meta || json_set_str(list, "kind", "List", err) < 0 ||
	    json_set_str(meta, "resourceVersion", "", err) < 0)
		return -1;
	*out = TAKE(list);
	return 0;
}

int output_objects(struct cmd_ctx *ctx, const struct output *o, cJSON *const *v, size_t n,
		   bool list, struct err *err)
{
	AUTO_JSON cJSON *all = NULL;

	if (o->kind == OUT_JSON || o->kind == OUT_JSONPATH || (list && o->kind == OUT_YAML)) {
		if (n == 1 && !list)
			return output_object(ctx, o, v[0], err);
		return as_list(v, n, &all, err) < 0 ? -1 : output_object(ctx, o, all, err);
	}
	for (size_t i = 0; i < n; i++) {
		if (i && o->kind == OUT_YAML)
			buf_str(&ctx->out, "---\n");
		if (output_object(ctx, o, v[i], err) < 0)
			return -1;
	}
	return 0;
}
