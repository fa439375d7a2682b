/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host list: which lines Horovod sees. The rules (docs/controller.md, "When a worker
 * leaves") in one place:
 *  - a line is added for a worker that is Ready, wanted and not about to leave;
 *  - the line of a dead worker stays until its replacement is Ready, and goes in that same
 *    update, or at once when nobody replaces it. Horovod leaves a host that failed out by
 *    itself, so the line does no harm; but a survivor that hears of a removal alone skips the
 *    synchronisation that a newcomer then waits for, for ever. A pod deleted by force is gone
 *    from the API before its processes are, so they do hear of it;
 *  - the line of a living worker that leaves goes when its replacement is Ready (both in one
 *    update), when nobody replaces it, or when its grace is nearly over;
 *  - and never when fewer than minReplicas lines would be left: Horovod, told to shrink below
 *    its minimum, never tells the leaving process and waits for ever.
 */
#include "base/limits.h"
#include "controller/plan_impl.h"
#include "etjob/hosts.h"
#include "etjob/podspec.h"

/* When the line must go even if no replacement is Ready; 0: no such time. */
static int64_t urgent_at(const struct pod *pod)
{
	int64_t margin = MARGIN_MS;

	if (!pod->deletion_ms)
		return 0;
	if (pod->grace_s * 1000 / 3 < margin)
		margin = pod->grace_s * 1000 / 3;
	return pod->deletion_ms - margin;
}

static bool unready_for_long(struct plan *p, const struct pod *pod)
{
	if (pod->ready)
		return false;
	if (p->now - pod->unready_ms >= UNREADY_MS)
		return true;
	plan_wake(p, pod->unready_ms + UNREADY_MS);
	return false;
}

static bool is_victim(const struct plan *p, const char *name)
{
	const cJSON *v;

	if (!p->active || p->active->out)
		return false;
	json_each (v, p->active->pods) {
		if (str_eq(json_str(v), name))
			return true;
	}
	return false;
}

/* A listed worker that is alive stays without question. */
static bool stays(struct plan *p, const struct pod *pod)
{
	return strs_has(&p->target, pod->name) && !pod->going && !unready_for_long(p, pod);
}

static void add_line(struct plan *p, const char *name)
{
	(void)plan_ok(p, strs_add(&p->hosts, name, p->err));
}

/* Ready workers without a line; during a ScaleOut no more than the old size, until all are. */
static size_t joiners(const struct plan *p, size_t room, const struct pod **out)
{
	size_t n = 0;

	for (size_t i = 0; i < p->w->nworkers && n < room; i++) {
		const struct pod *pod = &p->w->workers[i];

		if (worker_good(p, pod) && !strs_has(&p->listed, pod->name)) {
			if (out)
				out[n] = pod;
			n++;
		}
	}
	return n;
}

/* Keeps lines of the leaving and the dead: while a replacement is awaited, and at the minimum. */
static void keep_leavers(struct plan *p, size_t wish, size_t lines)
{
	size_t min = p->job->min > 0 ? (size_t)p->job->min : 0, kept = 0;

	for (int forced = 0; forced < 2; forced++) {
		for (size_t i = 0; i < p->listed.n; i++) {
			const struct pod *pod = worker_find(p, p->listed.v[i]);
			bool alive = pod && !pod->dead;
			int64_t urgent = alive ? urgent_at(pod) : 0;
			bool waits = kept < wish && !is_victim(p, p->listed.v[i]) &&
				     (!alive || (pod->going && (!urgent || urgent > p->now) &&
						 !unready_for_long(p, pod)));

			if (strs_has(&p->hosts, p->listed.v[i]) ||
			    (forced ? lines + kept >= min : !waits))
				continue;
			if (urgent > p->now)
				plan_wake(p, urgent);
			add_line(p, p->listed.v[i]);
			kept++;
		}
	}
}

/* Older lines first: Horovod keeps their ranks low. */
static void order_lines(struct plan *p)
{
	AUTO(strs) struct strs sorted = STRS_INIT;

	for (size_t i = 0; i < p->listed.n; i++) {
		if (strs_has(&p->hosts, p->listed.v[i]))
			(void)plan_ok(p, strs_add(&sorted, p->listed.v[i], p->err));
	}
	for (size_t i = 0; i < p->hosts.n; i++) {
		if (!strs_has(&sorted, p->hosts.v[i]))
			(void)plan_ok(p, strs_add(&sorted, p->hosts.v[i], p->err));
	}
	struct strs swap = p->hosts;
	p->hosts = sorted;
	sorted = swap;
}

void hosts_compute(struct plan *p)
{
	bool training = p->w->launcher.obj && !p->w->launcher.done;
	size_t cap = p->base > 0 ? (size_t)p->base : 0;

	p->hosts_known = true;
	p->out->hosts = 0;
	if (!training) { /* nobody reads the list: all that are good, no more */
		for (size_t i = 0; i < p->w->nworkers; i++) {
			if (worker_good(p, &p->w->workers[i]) && p->hosts.n < cap)
				add_line(p, p->w->workers[i].name);
		}
	} else {
		for (size_t i = 0; i < p->listed.n; i++) {
			const struct pod *pod = worker_find(p, p->listed.v[i]);

			if (pod && !pod->dead && stays(p, pod))
				add_line(p, pod->name);
		}
		size_t room = cap > p->hosts.n ? cap - p->hosts.n : 0;
		const struct pod **joining = calloc(p->w->nworkers + 1, sizeof(const struct pod *));

		if (!joining) {
			plan_fail(p);
			return;
		}
		size_t n = joiners(p, room, joining);
		size_t lines = p->hosts.n + n;

		keep_leavers(p, cap > lines ? cap - lines : 0, lines);
		for (size_t i = 0; i < n; i++)
			add_line(p, joining[i]->name);
		free(joining);
	}
	order_lines(p);
	p->out->hosts = (int64_t)p->hosts.n;
}

void hosts_text(const struct plan *p, const struct strs *names, struct buf *out)
{
	hosts_file(p->job->name, (const char *const *)names->v, names->n, p->job->slots, out);
}

/* FNV-1a, 64 bits: no secret, only a name for the text. */
void hosts_revision(const char *text, char out[17])
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	(void)snprintf(out, 17, "%016" PRIx64, h);
}

void hosts_write(struct plan *p, const char *text)
{
	const cJSON *have = json_get(p->w->config, "data");
	AUTO(buf) struct buf name = BUF_INIT(256);

	if (str_eq(json_get_str(have, CONFIG_HOSTFILE, NULL), text) &&
	    str_eq(json_get_str(have, CONFIG_SCRIPT, NULL), hosts_script()))
		return;
	cJSON *patch = cJSON_CreateObject();
	cJSON *data = patch ? json_need_object(patch, "data", p->err) : NULL;
	cJSON *meta = data ? json_need_object(patch, "metadata", p->err) : NULL;
	const cJSON *from = json_get(p->w->config, "metadata");

	/* A list is made from the one before: never on top of one that was not seen. */
	if (!meta ||
	    json_set_str(meta, "resourceVersion", json_get_str(from, "resourceVersion", ""),
			 p->err) < 0 ||
	    json_set_str(meta, "uid", json_get_str(from, "uid", ""), p->err) < 0 ||
	    json_set_str(data, CONFIG_HOSTFILE, text, p->err) < 0 ||
	    json_set_str(data, CONFIG_SCRIPT, hosts_script(), p->err) < 0) {
		cJSON_Delete(patch);
		plan_fail(p);
		return;
	}
	name_config(p->job->name, &name);
	(void)plan_act(p, ACT_PATCH, STAGE_OBJECTS, &kube_configmaps, plan_text(p, &name), patch);
}

static void tell_launcher(struct plan *p, const char *text)
{
	const cJSON *have = json_at(p->w->launcher.obj, "metadata", "annotations", NULL);
	cJSON *patch, *meta, *notes;
	char revision[17];

	hosts_revision(text, revision);
	if (!p->w->launcher.obj || p->w->launcher.deletion_ms || p->w->launcher.done ||
	    str_eq(json_get_str(have, ANNOTATION_HOSTS, ""), revision))
		return;
	patch = cJSON_CreateObject();
	meta = patch ? json_need_object(patch, "metadata", p->err) : NULL;
	notes = meta ? json_need_object(meta, "annotations", p->err) : NULL;
	if (!notes || json_set_str(meta, "uid", p->w->launcher.uid, p->err) < 0 ||
	    json_set_str(notes, ANNOTATION_HOSTS, revision, p->err) < 0) {
		cJSON_Delete(patch);
		plan_fail(p);
		return;
	}
	(void)plan_act(p, ACT_PATCH, STAGE_PODS, &kube_pods, p->w->launcher.name, patch);
}

void hosts_act(struct plan *p)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	bool training = p->w->launcher.obj && !p->w->launcher.done;
	cJSON *doc = NULL;

	if (!training || p->failed) /* before a start launcher_start() writes it */
		return;
	hosts_text(p, &p->hosts, &text);
	if (!plan_ok(p, buf_check(&text, p->err)))
		return;
	if (!p->w->config) {
		if (!name_blocked(p, "ConfigMap", NULL, NULL) &&
		    plan_ok(p, podspec_config(p->job, plan_text(p, &text), &doc, p->err)))
			(void)plan_act(p, ACT_CREATE, STAGE_OBJECTS, &kube_configmaps, NULL, doc);
	} else {
		hosts_write(p, plan_text(p, &text));
	}
	tell_launcher(p, plan_text(p, &text));
}
