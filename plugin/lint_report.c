/* SPDX-License-Identifier: Apache-2.0 */
/* lint_report: findings as text, JSON, JUnit and SARIF. */
#include "cmd.h"
#include "lint.h"

int lint_print_text(const struct lint *l, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct finding *f = &l->v[i];

		buf_str(out, f->file);
		if (f->line)
			buf_printf(out, ":%zu:%zu", f->line, f->col);
		buf_str(out, f->warning ? ": warning: " : ": error: ");
		buf_visible(out, f->text, strlen(f->text));
		buf_char(out, '\n');
	}
	return buf_check(out, err);
}

static int set_all(cJSON *o, const char *const pairs[][2], size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (json_set_str(o, pairs[i][0], pairs[i][1], err) < 0)
			return -1;
	return 0;
}

/* A new object at the end of an array; NULL with err. */
static cJSON *append_object(cJSON *array, struct err *err)
{
	cJSON *o = array ? cJSON_CreateObject() : NULL;

	if (!o) {
		(void)err_nomem(err);
		return NULL;
	}
	return json_append(array, o, err) < 0 ? NULL : o;
}

int lint_print_json(const struct lint *l, struct buf *out, struct err *err)
{
	AUTO_JSON cJSON *doc = cJSON_CreateObject();
	cJSON *list = doc ? json_need_array(doc, "findings", err) : NULL;

	if (!list)
		return err_nomem(err);
	for (size_t i = 0; i < l->n; i++) {
		const struct finding *f = &l->v[i];
		const char *const pairs[][2] = { { "file", f->file },
						 { "severity", f->warning ? "warning" : "error" },
						 { "rule", f->rule },
						 { "object", f->object },
						 { "message", f->text } };
		cJSON *o = append_object(list, err);

		if (!o || set_all(o, pairs, ARRAY_LEN(pairs), err) < 0 ||
		    json_set_int(o, "line", (int64_t)f->line, err) < 0 ||
		    json_set_int(o, "column", (int64_t)f->col, err) < 0)
			return -1;
	}
	if (json_set_int(doc, "files", (int64_t)l->files, err) < 0 ||
	    json_set_int(doc, "objects", (int64_t)l->objects, err) < 0 ||
	    json_set_int(doc, "errors", (int64_t)lint_errors(l), err) < 0)
		return -1;
	return json_print_pretty(doc, out, err);
}

static void xml(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			buf_str(out, "&lt;");
		else if (*s == '>')
			buf_str(out, "&gt;");
		else if (*s == '&')
			buf_str(out, "&amp;");
		else if (*s == '"')
			buf_str(out, "&quot;");
		else
			buf_char(out, (unsigned char)*s < 0x20 ? ' ' : *s);
	}
}

int lint_print_junit(const struct lint *l, struct buf *out, struct err *err)
{
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		   "<testsuite name=\"kubectl etjob validate\" tests=\"%zu\" failures=\"",
		   l->names.n);
	size_t failed = 0;
	for (size_t i = 0; i < l->names.n; i++) {
		bool bad = false;

		for (size_t k = 0; k < l->n; k++)
			bad = bad || (!l->v[k].warning && str_eq(l->v[k].file, l->names.v[i]));
		failed += bad;
	}
	buf_printf(out, "%zu\" errors=\"0\" skipped=\"0\">\n", failed);
	for (size_t i = 0; i < l->names.n; i++) {
		buf_str(out, "<testcase classname=\"kubectl-etjob\" name=\"");
		xml(out, l->names.v[i]);
		buf_str(out, "\">\n");
		for (size_t k = 0; k < l->n; k++) {
			const struct finding *f = &l->v[k];

			if (f->warning || !str_eq(f->file, l->names.v[i]))
				continue;
			buf_str(out, "<failure type=\"");
			xml(out, f->rule);
			buf_str(out, "\" message=\"");
			xml(out, f->text);
			buf_printf(out, "\">line %zu, column %zu</failure>\n", f->line, f->col);
		}
		buf_str(out, "</testcase>\n");
	}
	buf_str(out, "</testsuite>\n</testsuites>\n");
	return buf_check(out, err);
}

static int sarif_rules(const struct lint *l, cJSON *driver, struct err *err)
{
	AUTO(strs) struct strs seen = STRS_INIT;
	cJSON *rules = json_need_array(driver, "rules", err);

	if (!rules)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		if (strs_has(&seen, l->v[i].rule))
			continue;
		cJSON *rule = append_object(rules, err);
		if (!rule || strs_add(&seen, l->v[i].rule, err) < 0 ||
		    json_set_str(rule, "id", l->v[i].rule, err) < 0)
			return -1;
	}
	return 0;
}

static int sarif_result(const struct finding *f, cJSON *results, struct err *err)
{
	cJSON *r = append_object(results, err);
	cJSON *message = r ? json_need_object(r, "message", err) : NULL;
	cJSON *locations = message ? json_need_array(r, "locations", err) : NULL;
	cJSON *location = append_object(locations, err);
	cJSON *physical = location ? json_need_object(location, "physicalLocation", err) : NULL;
	cJSON *artifact = physical ? json_need_object(physical, "artifactLocation", err) : NULL;

	if (!artifact || json_set_str(r, "ruleId", f->rule, err) < 0 ||
	    json_set_str(r, "level", f->warning ? "warning" : "error", err) < 0 ||
	    json_set_str(message, "text", f->text, err) < 0 ||
	    json_set_str(artifact, "uri", f->file, err) < 0)
		return -1;
	if (!f->line)
		return 0;
	cJSON *region = json_need_object(physical, "region", err);
	if (!region || json_set_int(region, "startLine", (int64_t)f->line, err) < 0)
		return -1;
	return json_set_int(region, "startColumn", (int64_t)(f->col ? f->col : 1), err);
}

int lint_print_sarif(const struct lint *l, struct buf *out, struct err *err)
{
	AUTO_JSON cJSON *doc = cJSON_CreateObject();
	cJSON *run = append_object(doc ? json_need_array(doc, "runs", err) : NULL, err);
	cJSON *tool = run ? json_need_object(run, "tool", err) : NULL;
	cJSON *driver = tool ? json_need_object(tool, "driver", err) : NULL;
	cJSON *results = driver ? json_need_array(run, "results", err) : NULL;

	if (!results)
		return err_nomem(err);
	if (json_set_str(doc, "version", "2.1.0", err) < 0 ||
	    json_set_str(doc, "$schema", "https://json.schemastore.org/sarif-2.1.0.json", err) <
		    0 ||
	    json_set_str(driver, "name", "kubectl-etjob", err) < 0 ||
	    json_set_str(driver, "version", ETJOB_RELEASE, err) < 0 ||
	    sarif_rules(l, driver, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (sarif_result(&l->v[i], results, err) < 0)
			return -1;
	return json_print_pretty(doc, out, err);
}
