/* SPDX-License-Identifier: Apache-2.0 */
/* lint: documents of files through the rules of lib/etjob. */
#include "lint.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "etjob/names.h"
#include "etjob/validate.h"
#include "wire/yaml.h"

#define FOLDER_DEPTH 64

void lint_release(struct lint *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].file);
		free(l->v[i].rule);
		free(l->v[i].text);
		free(l->v[i].object);
	}
	free(l->v);
	strs_release(&l->names);
	*l = (struct lint){ 0 };
}

size_t lint_errors(const struct lint *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !l->v[i].warning;
	return n;
}

/* Where in a file, and of what. */
struct place {
	const char *file, *object;
	const struct yaml_doc *doc; /* NULL: no document */
	const char *prefix;         /* pointer of the object in the document: "" or "/items/0" */
	bool found;                 /* in a folder, not named by the user */
};

static int add(struct lint *l, const struct place *p, struct yaml_pos pos, bool warning,
	       const char *rule, const char *text, struct err *err)
{
	struct finding f = { .line = pos.line, .col = pos.col, .warning = warning };

	if (l->n == l->size) {
		size_t size = l->size ? l->size * 2 : 16;
		struct finding *v = reallocarray(l->v, size, sizeof(*v));

		if (!v)
			return err_nomem(err);
		l->v = v;
		l->size = size;
	}
	l->v[l->n] = f;
	struct finding *kept = &l->v[l->n++];
	if (str_copy(p->file, &kept->file, err) < 0 || str_copy(rule, &kept->rule, err) < 0 ||
	    str_copy(text, &kept->text, err) < 0)
		return -1;
	return str_copy(p->object, &kept->object, err);
}

static struct yaml_pos at(const struct place *p, const char *pointer)
{
	AUTO(buf) struct buf whole = BUF_INIT(LIMIT_TEXT);

	buf_printf(&whole, "%s%s", p->prefix, pointer);
	return yaml_pos_of(p->doc, buf_text(&whole));
}

/* The pointer of "spec.a.b[0].c: text", for a warning that has only its text. */
static void pointer_of(const char *warning, struct buf *out)
{
	const char *end = strstr(warning, ": ");

	buf_char(out, '/');
	for (const char *p = warning; *p && p != end; p++) {
		if (*p == '.' || *p == '[')
			buf_char(out, '/');
		else if (*p != ']')
			buf_char(out, *p);
	}
}

static int add_faults(struct lint *l, const struct place *p, const struct faults *f,
		      struct err *err)
{
	for (size_t i = 0; i < f->n; i++) {
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

		buf_printf(&text, "%s: %s", f->v[i].field, f->v[i].message);
		if (buf_check(&text, err) < 0)
			return -1;
		if (add(l, p, at(p, f->v[i].pointer), false, f->v[i].rule, buf_text(&text), err) <
		    0)
			return -1;
	}
	for (size_t i = 0; i < f->warnings.n; i++) {
		AUTO(buf) struct buf pointer = BUF_INIT(LIMIT_TEXT);

		pointer_of(f->warnings.v[i], &pointer);
		if (add(l, p, at(p, buf_text(&pointer)), true, "warning", f->warnings.v[i], err) <
		    0)
			return -1;
	}
	return 0;
}

static int rules(const cJSON *obj, const char *kind, struct faults *f, struct err *err)
{
	static const struct scaler_world offline = { 0 };
	int rc = str_eq(kind, KIND_JOB) ? validate_job(obj, f, err)
					: validate_scaler(obj, &offline, f, err);

	return rc < 0 ? -1 : validate_unknown(obj, f, err);
}

static int lint_object(struct lint *l, const struct place *p, const cJSON *obj, struct err *err);

static int lint_items(struct lint *l, const struct place *p, const cJSON *list, struct err *err)
{
	const cJSON *item;
	size_t i = 0;

	json_each (item, json_get(list, "items")) {
		AUTO(buf) struct buf prefix = BUF_INIT(LIMIT_TEXT);
		struct place inner = *p;

		buf_printf(&prefix, "%s/items/%zu", p->prefix, i++);
		if (buf_check(&prefix, err) < 0)
			return -1;
		inner.prefix = buf_text(&prefix);
		if (lint_object(l, &inner, item, err) < 0)
			return -1;
	}
	return 0;
}

static int lint_object(struct lint *l, const struct place *p, const cJSON *obj, struct err *err)
{
	static const char *const kinds[] = { KIND_JOB, KIND_SCALEOUT, KIND_SCALEIN };
	const char *kind = json_get_str(obj, "kind", ""),
		   *api = json_get_str(obj, "apiVersion", "");
	AUTO(buf) struct buf name = BUF_INIT(LIMIT_TEXT);
	struct faults faults = FAULTS_INIT;
	struct place mine = *p;
	bool ours = false;
	int rc;

	if ((!cJSON_IsObject(obj) || !*kind || !*api) && p->found)
		return 0; /* a folder holds other files too */
	if (!cJSON_IsObject(obj) || !*kind || !*api)
		return add(l, p, at(p, ""), false, "not-an-object",
			   "this is no Kubernetes object: apiVersion and kind are missing", err);
	if (cJSON_IsArray(json_get(obj, "items")) && strlen(kind) >= 4 &&
	    str_eq(kind + strlen(kind) - 4, "List"))
		return lint_items(l, p, obj, err);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		ours = ours || str_eq(kind, kinds[i]);
	if (!str_starts(api, ETJOB_GROUP "/"))
		return 0; /* not ours to judge */
	if (!str_eq(api, ETJOB_API_VERSION) || !ours) {
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

		buf_printf(&text,
			   "there is no %s in %s: use " KIND_JOB ", " KIND_SCALEOUT
			   " or " KIND_SCALEIN " of " ETJOB_API_VERSION,
			   kind, api);
		if (buf_check(&text, err) < 0)
			return -1;
		return add(l, p, at(p, "/kind"), false, "unknown-kind", buf_text(&text), err);
	}
	l->objects++;
	buf_printf(&name, "%s/%s", kind, json_get_str(json_get(obj, "metadata"), "name", ""));
	if (buf_check(&name, err) < 0)
		return -1;
	mine.object = buf_text(&name);
	rc = rules(obj, kind, &faults, err);
	if (rc == 0)
		rc = add_faults(l, &mine, &faults, err);
	faults_release(&faults);
	return rc;
}

/* "line 3: column 5: text" of a parser's error. */
static struct yaml_pos error_pos(const char *msg)
{
	struct yaml_pos pos = { 0 };
	const char *line = strstr(msg, "line "), *col = strstr(msg, "column ");

	if (line)
		pos.line = (size_t)strtoul(line + 5, NULL, 10);
	if (col)
		pos.col = (size_t)strtoul(col + 7, NULL, 10);
	if (pos.line && !pos.col)
		pos.col = 1;
	return pos;
}

static int lint_bytes(struct lint *l, const char *file, bool found, const char *text, size_t n,
		      struct err *err)
{
	struct yaml_docs docs = { 0 };
	struct place p = { .file = file, .object = "", .prefix = "", .found = found };
	struct err bad = ERR_INIT;
	int rc = 0;

	l->files++;
	if (strs_add(&l->names, file, err) < 0)
		return -1;
	if (yaml_parse(text, n, YAML_POSITIONS | YAML_STRICT_KEYS, &docs, &bad) < 0) {
		if (bad.fail == FAIL_NOMEM)
			return err_nomem(err);
		/* A template or a manifest of something else, which only looks like ours. */
		if (found && !memmem(text, n, ETJOB_GROUP, strlen(ETJOB_GROUP)))
			return 0;
		return add(l, &p, error_pos(bad.msg), false, "syntax", bad.msg, err);
	}
	for (size_t i = 0; rc == 0 && i < docs.n; i++) {
		p.doc = &docs.v[i];
		rc = lint_object(l, &p, docs.v[i].json, err);
	}
	yaml_docs_release(&docs);
	return rc;
}

int lint_text(struct lint *l, const char *file, const char *text, size_t n, struct err *err)
{
	return lint_bytes(l, file, false, text, n, err);
}

static bool manifest_name(const char *name)
{
	static const char *const ends[] = { ".yaml", ".yml", ".json" };
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t m = strlen(ends[i]);

		if (n > m && str_eq(name + n - m, ends[i]))
			return true;
	}
	return false;
}

static int read_folder(const char *path, struct strs *names, struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return err_os(err, errno, "cannot open the folder \"%s\"", path);
	while (rc == 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			rc = strs_add(names, e->d_name, err);
	(void)closedir(dir); /* only read */
	strs_sort(names);
	return rc;
}

static int lint_file(struct lint *l, const char *path, bool found, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_FILE);

	if (file_read(path, &text, err) < 0)
		return -1;
	return lint_bytes(l, str_eq(path, "-") ? "<stdin>" : path, found, buf_text(&text), text.len,
			  err);
}

static int walk(struct lint *l, const char *path, int depth, struct err *err)
{
	AUTO(strs) struct strs names = STRS_INIT;
	struct stat st;

	if (str_eq(path, "-"))
		return lint_file(l, path, depth > 0 || l->ignore_foreign, err);
	if (stat(path, &st) < 0)
		return err_os(err, errno, "cannot read \"%s\"", path);
	if (!S_ISDIR(st.st_mode))
		return depth && !manifest_name(path)
			       ? 0
			       : lint_file(l, path, depth > 0 || l->ignore_foreign, err);
	if (depth > FOLDER_DEPTH)
		return err_set(err, FAIL_LIMIT, "\"%s\": more than %d folders deep", path,
			       FOLDER_DEPTH);
	if (read_folder(path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		AUTO(buf) struct buf inner = BUF_INIT(LIMIT_TEXT);
		size_t n = strlen(path);

		buf_printf(&inner, "%s%s%s", path, n && path[n - 1] == '/' ? "" : "/", names.v[i]);
		if (buf_check(&inner, err) < 0 || walk(l, buf_text(&inner), depth + 1, err) < 0)
			return -1;
	}
	return 0;
}

int lint_path(struct lint *l, const char *path, struct err *err)
{
	return walk(l, path, 0, err);
}
