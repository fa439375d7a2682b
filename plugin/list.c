/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: two paged lists (pods, jobs), each object cut down to what a row needs as
 * it comes, so that memory does not grow with the size of the objects.
 */
#include "list.h"

#include "base/limits.h"
#include "etjob/names.h"
#include "fetch.h"
#include "kube/informer.h"
#include "list_row.h"
#include "output.h"

struct listing {
	struct cmd_ctx *ctx;
	const struct list_opts *o;
	struct map tallies;
	struct rows rows;
	struct strs names; /* -o name */
	cJSON **objects;   /* owned: -o json and the like */
	size_t nobjects, size;
	struct err err;
};

static void listing_release(struct listing *l)
{
	map_release(&l->tallies);
	rows_release(&l->rows);
	strs_release(&l->names);
	for (size_t i = 0; i < l->nobjects; i++)
		cJSON_Delete(l->objects[i]);
	free(l->objects);
}

static int on_pod(void *arg, cJSON *pod)
{
	struct listing *l = arg;
	int rc = tally_add(&l->tallies, pod, &l->err);

	cJSON_Delete(pod);
	return rc;
}

static int on_row(void *arg, cJSON *job)
{
	AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);
	struct listing *l = arg;
	int rc;

	informer_key(job, &key);
	if (buf_check(&key, &l->err) < 0) {
		cJSON_Delete(job);
		return -1;
	}
	rc = rows_add(&l->rows, job, map_get(&l->tallies, buf_text(&key)), l->o->sort_by,
		      clock_wall_ms(l->ctx->clock), &l->err);
	cJSON_Delete(job);
	return rc;
}

/* The items of a list have no kind of their own. */
static int set_kind(cJSON *job, struct err *err)
{
	if (!json_get(job, "kind") && json_set_str(job, "kind", KIND_JOB, err) < 0)
		return -1;
	return json_get(job, "apiVersion")
		       ? 0
		       : json_set_str(job, "apiVersion", ETJOB_API_VERSION, err);
}

static int on_object(void *arg, cJSON *job)
{
	struct listing *l = arg;

	if (set_kind(job, &l->err) < 0) {
		cJSON_Delete(job);
		return -1;
	}
	if (l->nobjects == l->size) {
		size_t size = l->size ? l->size * 2 : 32;
		cJSON **v = reallocarray(l->objects, size, sizeof(cJSON *));

		if (!v) {
			cJSON_Delete(job);
			return err_nomem(&l->err);
		}
		l->objects = v;
		l->size = size;
	}
	l->objects[l->nobjects++] = job;
	return 0;
}

static int on_name(void *arg, cJSON *job)
{
	struct listing *l = arg;
	int rc = set_kind(job, &l->err);

	if (rc == 0) {
		output_name(job, &l->ctx->out);
		buf_char(&l->ctx->out, '\n');
		l->nobjects = 0;
	}
	cJSON_Delete(job);
	return rc;
}

static int get_list(struct listing *l, const struct kube_res *res, const char *labels,
		    const char *fields, int (*fn)(void *, cJSON *), struct err *err)
{
	const struct kube_list_opts opts = {
		.label_selector = labels, .field_selector = fields, .on_item = fn, .arg = l
	};
	const char *ns = l->o->all ? NULL : ctx_ns(l->ctx);

	int rc = kube_list(l->ctx->api, res, ns, &opts, NULL, err);

	if (l->err.fail == FAIL_NONE) /* a callback that stops is no error of the list */
		return rc;
	*err = l->err;
	return -1;
}

static void no_resources(struct cmd_ctx *ctx, const struct list_opts *o)
{
	if (o->all)
		ctx_note(ctx, "No resources found");
	else
		ctx_note(ctx, "No resources found in %s namespace.", ctx_ns(ctx));
}

static int list_table(struct listing *l, const struct output *output, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_ANSWER);
	struct err pods = ERR_INIT;

	if (get_list(l, &kube_pods, LABEL_GROUP "=" ETJOB_GROUP, NULL, on_pod, &pods) < 0) {
		if (pods.fail != FAIL_HTTP) {
			*err = pods;
			return -1;
		}
		ctx_warn(l->ctx, "the pods are not shown: %s", pods.msg);
	}
	if (get_list(l, &kube_trainingjobs, l->o->selector, l->o->field_selector, on_row, err) < 0)
		return -1;
	if (!l->rows.n) {
		no_resources(l->ctx, l->o);
		return 0;
	}
	rows_sort(&l->rows);
	if (rows_print(&l->rows, l->o->all, output->kind == OUT_WIDE, !l->o->no_headers, &text,
		       err) < 0 ||
	    buf_check(&text, err) < 0)
		return -1;
	/* A long reason is told by get; here it would break the columns of a terminal. */
	if (l->ctx->out_tty && output->kind != OUT_WIDE)
		(void)rows_cut(buf_text(&text), ctx_width(l->ctx->out_fd, 80), "\n", &l->ctx->out);
	else
		buf_add(&l->ctx->out, text.data, text.len);
	return 0;
}

static int list_objects(struct listing *l, const struct output *output, struct err *err)
{
	if (get_list(l, &kube_trainingjobs, l->o->selector, l->o->field_selector,
		     output->kind == OUT_NAME ? on_name : on_object, err) < 0)
		return -1;
	if (output->kind == OUT_NAME)
		return 0;
	return output_objects(l->ctx, output, l->objects, l->nobjects, true, err);
}

int list_jobs(struct cmd_ctx *ctx, const struct list_opts *o, struct err *err)
{
	struct listing l = { .ctx = ctx, .o = o, .tallies = MAP_INIT(tally_free) };
	struct output output;
	int rc;

	if (output_parse(o->output, &output, err) < 0 || ctx_api(ctx, err) < 0)
		return -1;
	rc = output.kind == OUT_TABLE || output.kind == OUT_WIDE ? list_table(&l, &output, err)
								 : list_objects(&l, &output, err);
	if (rc < 0)
		fetch_hint(ctx, err);
	listing_release(&l);
	return rc;
}
