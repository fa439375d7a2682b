/* SPDX-License-Identifier: Apache-2.0 */
/* faults: the list of what is wrong with an object, and the paths that it names. */
#include "base/limits.h"
#include "etjob/validate_int.h"
#include "wire/patch.h"

#define FAULTS_MAX 1000 /* of one object; nobody reads more, and memory is bounded */
#define WARNING_MAX 256 /* bytes: what the API server passes on uncut */
#define KEY_MAX 128     /* bytes of a key in a field path */
#define FIELD_MAX 1024  /* bytes of a field path, about */
#define SHOWN_MAX 64    /* bytes of a value in a message */

static void fault_release(struct fault *f)
{
	free(f->field);
	free(f->pointer);
	free(f->message);
}

void faults_release(struct faults *f)
{
	for (size_t i = 0; i < f->n; i++)
		fault_release(&f->v[i]);
	free(f->v);
	strs_release(&f->warnings);
	*f = FAULTS_INIT;
}

/* Longest prefix of at most max bytes that ends with a whole UTF-8 character. */
static size_t utf8_prefix(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/* Takes the three texts on success. */
static int add_owned(struct faults *f, struct fault *fault, struct err *err)
{
	if (f->n >= FAULTS_MAX) {
		fault_release(fault);
		return 0;
	}
	/* Grown at powers of two. */
	if ((f->n & (f->n - 1)) == 0) {
		struct fault *v = reallocarray(f->v, f->n ? f->n * 2 : 1, sizeof(*v));

		if (!v)
			return err_nomem(err);
		f->v = v;
	}
	f->v[f->n++] = *fault;
	return 0;
}

PRINTF(7, 0)
static int add_text(struct faults *f, struct err *err, int code, const char *rule,
		    const char *field, const char *pointer, const char *fmt, va_list ap)
{
	AUTO(buf) struct buf raw = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf shown = BUF_INIT(LIMIT_TEXT * 4);
	AUTO(buf) struct buf where = BUF_INIT(LIMIT_TEXT * 4);
	struct fault fault = { .rule = rule, .code = code };

	buf_vprintf(&raw, fmt, ap);
	buf_visible(&shown, buf_text(&raw), raw.len);
	buf_visible(&where, field, strlen(field));
	if (buf_check(&raw, err) < 0 || buf_finish(&shown, &fault.message, err) < 0 ||
	    buf_finish(&where, &fault.field, err) < 0 ||
	    str_copy(pointer, &fault.pointer, err) < 0 || add_owned(f, &fault, err) < 0) {
		fault_release(&fault);
		return -1;
	}
	return 0;
}

/* "spec.a[0].b" as "/spec/a/0/b". */
static void pointer_of(const char *field, struct buf *out)
{
	for (const char *p = field; *p;) {
		size_t len = strcspn(p, ".[]");

		if (len > 0) {
			AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

			buf_add(&key, p, len);
			patch_pointer(out, buf_text(&key));
		}
		p += len + (p[len] ? 1 : 0);
	}
}

int faults_add(struct faults *f, struct err *err, int code, const char *rule, const char *field,
	       const char *fmt, ...)
{
	AUTO(buf) struct buf pointer = BUF_INIT(LIMIT_TEXT);
	va_list ap;
	int rc;

	pointer_of(field, &pointer);
	if (buf_check(&pointer, err) < 0)
		return -1;
	va_start(ap, fmt);
	rc = add_text(f, err, code, rule, field, buf_text(&pointer), fmt, ap);
	va_end(ap);
	return rc;
}

int faults_code(const struct faults *f)
{
	int code = 0;

	for (size_t i = 0; i < f->n; i++) {
		int c = f->v[i].code;

		if (c == 422 || code == 0 || (c == 409 && code == 403))
			code = c;
	}
	return code;
}

void faults_message(const struct faults *f, struct buf *out)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_MESSAGE);
	size_t shown = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct fault *v = &f->v[i];
		size_t more = strlen(v->field) + strlen(v->message) + 4;

		/* 64: room for the line that says how many are left out. */
		if (i > 0 && text.len + more > LIMIT_MESSAGE - 64)
			break;
		buf_str(&text, i > 0 ? "; " : "");
		buf_printf(&text, "%s: ", v->field);
		buf_add(&text, v->message,
			utf8_prefix(v->message, strlen(v->message),
				    LIMIT_MESSAGE - 64 -
					    (text.len > LIMIT_MESSAGE - 64 ? LIMIT_MESSAGE - 64
									   : text.len)));
		shown++;
	}
	if (shown < f->n)
		buf_printf(&text, "; and %zu more", f->n - shown);
	buf_add(out, buf_text(&text), text.len);
}

/* --- inside validate ------------------------------------------------------- */

void check_start(struct check *c, struct faults *out, struct err *err)
{
	c->out = out;
	c->err = err;
	c->failed = false;
	c->depth = 0;
}

int check_end(const struct check *c)
{
	return c->failed ? -1 : 0;
}

struct mark check_mark(const struct check *c)
{
	return (struct mark){ .depth = c->depth };
}

void check_back(struct check *c, struct mark m)
{
	c->depth = m.depth;
}

static void push(struct check *c, const char *key, size_t n)
{
	if (c->depth == CHECK_DEPTH) {
		/* A path too long to name is no reason to let an object pass. */
		if (!c->failed)
			err_set(c->err, FAIL_LIMIT, "the object is nested too deeply");
		c->failed = true;
		return;
	}
	c->path[c->depth++] = (struct step){ .key = key, .n = n };
}

struct mark check_into(struct check *c, const char *key)
{
	struct mark m = check_mark(c);

	push(c, key, strlen(key));
	return m;
}

struct mark check_into_path(struct check *c, const char *dotted)
{
	struct mark m = check_mark(c);

	for (const char *p = dotted; *p;) {
		size_t len = strcspn(p, ".");

		push(c, p, len);
		p += len + (p[len] ? 1 : 0);
	}
	return m;
}

struct mark check_into_index(struct check *c, size_t i)
{
	struct mark m = check_mark(c);

	push(c, NULL, i);
	return m;
}

static bool plain_key(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (strchr(".[]\"'/ ", s->key[i]))
			return false;
	return s->n > 0;
}

/* Deep paths and long keys are cut: somebody reads this, and it must fit in an answer. */
static void field_text(const struct check *c, struct buf *out)
{
	for (size_t i = 0; i < c->depth; i++) {
		const struct step *s = &c->path[i];
		size_t n = s->key ? utf8_prefix(s->key, s->n, KEY_MAX) : 0;
		const char *dots = s->key && n < s->n ? "..." : "";

		if (out->len > FIELD_MAX) {
			buf_str(out, "...");
			return;
		}
		if (!s->key)
			buf_printf(out, "[%zu]", s->n);
		else if (plain_key(s))
			buf_printf(out, "%s%.*s%s", out->len ? "." : "", (int)n, s->key, dots);
		else
			buf_printf(out, "[\"%.*s%s\"]", (int)n, s->key, dots);
	}
}

/* As far as it fits: a pointer to what is around the place is one too. */
static void pointer_text(const struct check *c, struct buf *out)
{
	for (size_t i = 0; i < c->depth && out->len < LIMIT_TEXT / 4; i++) {
		const struct step *s = &c->path[i];
		AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

		if (!s->key) {
			patch_pointer_index(out, s->n);
			continue;
		}
		if (s->n > LIMIT_TEXT / 4)
			return;
		buf_add(&key, s->key, s->n);
		patch_pointer(out, buf_text(&key));
		if (key.fail != FAIL_NONE && out->fail == FAIL_NONE)
			out->fail = key.fail;
	}
}

void check_fault(struct check *c, int code, const char *rule, const char *fmt, ...)
{
	AUTO(buf) struct buf field = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf pointer = BUF_INIT(LIMIT_TEXT);
	va_list ap;

	if (c->failed)
		return;
	field_text(c, &field);
	pointer_text(c, &pointer);
	va_start(ap, fmt);
	if (buf_check(&field, c->err) < 0 || buf_check(&pointer, c->err) < 0 ||
	    add_text(c->out, c->err, code, rule, buf_text(&field), buf_text(&pointer), fmt, ap) < 0)
		c->failed = true;
	va_end(ap);
}

void check_warn(struct check *c, const char *fmt, ...)
{
	AUTO(buf) struct buf raw = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf shown = BUF_INIT(LIMIT_TEXT * 4);
	va_list ap;

	if (c->failed)
		return;
	field_text(c, &raw);
	buf_str(&raw, ": ");
	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	buf_visible(&shown, buf_text(&raw), raw.len);
	if (buf_check(&raw, c->err) < 0 || buf_check(&shown, c->err) < 0 ||
	    strs_addn(&c->out->warnings, buf_text(&shown),
		      utf8_prefix(buf_text(&shown), shown.len, WARNING_MAX), c->err) < 0)
		c->failed = true;
}

struct shown shown_text(const char *text)
{
	struct shown s;
	size_t len = strlen(text), n = utf8_prefix(text, len, SHOWN_MAX);

	(void)snprintf(s.text, sizeof(s.text), "\"%.*s%s\"", (int)n, text, n < len ? "..." : "");
	return s;
}

struct shown shown_value(const cJSON *v)
{
	struct shown s = { .text = "nothing" };
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);

	if (cJSON_IsString(v))
		return shown_text(v->valuestring);
	if (cJSON_IsObject(v) || cJSON_IsArray(v)) {
		(void)snprintf(s.text, sizeof(s.text), "a%s",
			       cJSON_IsObject(v) ? "n object" : " list");
		return s;
	}
	if (v && json_print(v, &text, NULL) == 0) {
		size_t n = utf8_prefix(buf_text(&text), text.len, SHOWN_MAX);

		(void)snprintf(s.text, sizeof(s.text), "%.*s%s", (int)n, buf_text(&text),
			       n < text.len ? "..." : "");
	}
	return s;
}
