/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as YAML, by libyaml's emitter with the choices of kubectl's writer. */
#include <yaml.h>

#include "wire/floats.h"
#include "wire/json_nodes.h"
#include "wire/yaml.h"
#include "wire/yaml_scalar.h"

struct printer {
	yaml_emitter_t emitter;
	struct buf *out; /* borrowed */
	struct err *err;
};

static int write_out(void *data, unsigned char *bytes, size_t n)
{
	struct printer *p = data;

	buf_add(p->out, bytes, n);
	return p->out->fail == FAIL_NONE;
}

/* Sends an event that `made` says was made; the emitter owns it then. */
static int emit(struct printer *p, yaml_event_t *event, int made)
{
	if (made && yaml_emitter_emit(&p->emitter, event))
		return 0;
	if (buf_check(p->out, p->err) < 0)
		return -1;
	if (made && p->emitter.error != YAML_MEMORY_ERROR)
		return err_set(p->err, FAIL_INPUT, "cannot print YAML: %s",
			       p->emitter.problem ? p->emitter.problem : "unknown");
	return err_nomem(p->err);
}

static int emit_scalar(struct printer *p, const char *text, yaml_scalar_style_t style)
{
	size_t n = strlen(text);
	yaml_event_t event;

	if (n > INT32_MAX)
		return err_set(p->err, FAIL_LIMIT, "a text of %zu bytes", n);
	return emit(p, &event,
		    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
						 (int)n, 1, 1, style));
}

static int emit_string(struct printer *p, const char *s)
{
	if (strchr(s, '\n'))
		return emit_scalar(p, s, YAML_LITERAL_SCALAR_STYLE);
	if (yaml_resolve(s, strlen(s)).type != YAML_STR || yaml_is_base60(s))
		return emit_scalar(p, s, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
	return emit_scalar(p, s, YAML_PLAIN_SCALAR_STYLE);
}

/* kubectl's writer reads its own JSON text as YAML, so 1e20 is a float and 1e19 an integer. */
static int emit_number(struct printer *p, const cJSON *v)
{
	char text[FLOAT_TEXT_SIZE];
	const char *raw = cJSON_IsRaw(v) ? v->valuestring : text;
	struct yaml_scalar s;

	if (!cJSON_IsRaw(v))
		float_json(v->valuedouble, text);
	s = yaml_resolve(raw, strlen(raw));
	if (s.type == YAML_INT || s.type == YAML_UINT)
		return emit_scalar(p, raw, YAML_PLAIN_SCALAR_STYLE);
	float_g(strtod(raw, NULL), false, text);
	return emit_scalar(p, text, YAML_PLAIN_SCALAR_STYLE);
}

/* --- the order of keys -------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes past ASCII are taken for letters: keys are mostly names. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The number at s, and its end in *end. */
static uint64_t number_at(const char *s, uint64_t start, const char **end)
{
	for (; is_digit(*s); s++)
		start = start * 10 + (uint64_t)(*s - '0');
	*end = s;
	return start;
}

/* Order at the first difference, at offset i; `digits`: the byte before is a digit. */
static int order_at(const char *a, const char *b, size_t i, bool digits)
{
	bool al = is_letter(a[i]);
	bool bl = is_letter(b[i]);
	const char *a_end;
	const char *b_end;
	uint64_t an = 0;
	uint64_t bn;
	uint64_t start = 0;

	if (!al != !bl)
		return (digits ? al : bl) ? -1 : 1;
	if (al)
		return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
	if (a[i] == '0' || b[i] == '0')
		for (size_t j = i; j > 0 && is_digit(a[j - 1]); j--)
			if (a[j - 1] != '0')
				start = 1;
	an = number_at(a + i, start, &a_end);
	bn = number_at(b + i, start, &b_end);
	if (an != bn)
		return an < bn ? -1 : 1;
	if (a_end - a != b_end - b)
		return a_end - a < b_end - b ? -1 : 1;
	return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}

/* Natural order, as kubectl's writer has it: "a2" before "a10". */
static int by_key(const void *x, const void *y)
{
	const char *a = (*(const cJSON *const *)x)->string;
	const char *b = (*(const cJSON *const *)y)->string;
	bool digits = false;
	size_t i = 0;

	for (; a[i] && b[i]; i++) {
		if (a[i] != b[i])
			return order_at(a, b, i, digits);
		digits = is_digit(a[i]);
	}
	return (a[i] != '\0') - (b[i] != '\0');
}

/* --- trees -------------------------------------------------------------- */

static int emit_value(struct printer *p, const cJSON *v);

static int emit_object(struct printer *p, const cJSON *v)
{
	AUTO_FREE const cJSON **members = NULL;
	yaml_event_t event;
	size_t n;

	if (emit(p, &event,
		 yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
						     YAML_BLOCK_MAPPING_STYLE)) < 0 ||
	    json_sorted_members(v, &members, &n, p->err) < 0)
		return -1;
	qsort(members, n, sizeof(const cJSON *), by_key);
	for (size_t i = 0; i < n; i++)
		if (emit_string(p, members[i]->string) < 0 || emit_value(p, members[i]) < 0)
			return -1;
	return emit(p, &event, yaml_mapping_end_event_initialize(&event));
}

static int emit_array(struct printer *p, const cJSON *v)
{
	const cJSON *item;
	yaml_event_t event;

	if (emit(p, &event,
		 yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
						      YAML_BLOCK_SEQUENCE_STYLE)) < 0)
		return -1;
	json_each (item, v)
		if (emit_value(p, item) < 0)
			return -1;
	return emit(p, &event, yaml_sequence_end_event_initialize(&event));
}

static int emit_value(struct printer *p, const cJSON *v)
{
	if (cJSON_IsObject(v))
		return emit_object(p, v);
	if (cJSON_IsArray(v))
		return emit_array(p, v);
	if (cJSON_IsString(v))
		return emit_string(p, v->valuestring);
	if (json_is_number(v))
		return emit_number(p, v);
	return emit_scalar(p,
			   cJSON_IsTrue(v)    ? "true"
			   : cJSON_IsFalse(v) ? "false"
					      : "null",
			   YAML_PLAIN_SCALAR_STYLE);
}

static int print(struct printer *p, const cJSON *v)
{
	yaml_event_t event;

	if (emit(p, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) < 0 ||
	    emit(p, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) <
		    0 ||
	    emit_value(p, v) < 0 ||
	    emit(p, &event, yaml_document_end_event_initialize(&event, 1)) < 0)
		return -1;
	/* No end of stream: it may add "...", which kubectl does not print. */
	return yaml_emitter_flush(&p->emitter) ? buf_check(p->out, p->err) : err_nomem(p->err);
}

int yaml_print(const cJSON *v, struct buf *out, struct err *err)
{
	struct printer p = { .out = out, .err = err };
	int rc;

	if (!yaml_emitter_initialize(&p.emitter))
		return err_nomem(err);
	yaml_emitter_set_output(&p.emitter, write_out, &p);
	yaml_emitter_set_unicode(&p.emitter, 1);
	rc = print(&p, v);
	yaml_emitter_delete(&p.emitter);
	return rc;
}
