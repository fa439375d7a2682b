/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/limits.h"
#include "controller/engine.h"
#include "controller/lease.h"
#include "controller/metrics.h"
#include "controller/serve.h"
#include "controller/sshkey.h"
#include "controller/trim.h"
#include "etjob/names.h"
#include "kube/informer.h"

#define LEASE_NAME "etjob-controller"
#define DRAIN_MS 5000 /* requests under way at the end are waited for so long */

const struct run_opts run_defaults = {
	.leader_elect = true,
	.unique_names = "cluster",
	.listen = ":8081",
	.log_format = "text",
	.log_level = "info",
};

const struct opt run_options[] = {
	OPT_STR(struct run_opts, kubeconfig, 0, "kubeconfig", "FILE",
		"kubeconfig to use; without it $KUBECONFIG, ~/.kube/config or the pod's own account"),
	OPT_STR(struct run_opts, context, 0, "context", "NAME", "context of the kubeconfig to use"),
	OPT_BOOL(struct run_opts, leader_elect, 0, "leader-elect",
		 "act only while holding the Lease " LEASE_NAME),
	OPT_STR(struct run_opts, lease_namespace, 0, "lease-namespace", "NAMESPACE",
		"namespace of the Lease; without it $POD_NAMESPACE or the kubeconfig's namespace"),
	OPT_CSV(struct run_opts, namespaces, 0, "namespaces", "NAMES",
		"look at jobs in these namespaces only"),
	OPT_ENUM(struct run_opts, unique_names, 0, "unique-names", "cluster|namespace",
		 "where a job's name must be unique"),
	OPT_BOOL(struct run_opts, allow_scripts, 0, "allow-scripts",
		 "run the scripts of ScaleOuts and ScaleIns in the launcher (needs pods/exec)"),
	OPT_STR(struct run_opts, listen, 0, "listen", "ADDRESS",
		"serve /healthz, /readyz and /metrics on HOST:PORT or :PORT; empty for none"),
	OPT_ENUM(struct run_opts, log_format, 0, "log-format", "text|json", "form of the log"),
	OPT_ENUM(struct run_opts, log_level, 0, "log-level", "debug|info|warn|error",
		 "least important level that is logged"),
	OPT_BOOL(struct run_opts, help, 'h', "help", "print this help"),
	OPT_BOOL(struct run_opts, version, 0, "version", "print the version"),
	OPT_END,
};

struct watcher { /* of one kind in one namespace */
	struct run *run;
	enum seen kind;
	struct informer *informer;
};

struct run {
	const struct run_opts *opts;
	const struct log *log;
	struct loop *loop;
	struct kube *kube;
	struct lease *lease;
	struct serve *serve;
	struct engine engine;
	struct watcher *watchers; /* owned */
	size_t nwatchers;
	bool leads, synced, ending;
	struct err why; /* why it ends, FAIL_NONE: asked to */
};

static bool may_act(const struct run *r)
{
	return r->leads && (!r->lease || lease_valid(r->lease));
}

static int io_send(void *arg, const struct kube_req *req, struct err *err)
{
	struct run *r = arg;
	struct kube_call *call;

	/* A process that was stopped and woken finds out here, before anything else. */
	if (!may_act(r))
		return err_set(err, FAIL_STATE, "the lease is not ours any more");
	return kube_start(r->kube, req, &call, err);
}

static uint64_t io_random(void *arg)
{
	uint64_t n = 0;

	(void)arg;
	if (clock_random(&n, sizeof(n)) < 0)
		n = (uint64_t)clock_mono_ms(clock_system()); /* only jitter and event names */
	return n;
}

static int io_key(void *arg, struct buf *private_pem, struct buf *public_line, struct err *err)
{
	(void)arg;
	return sshkey_make(private_pem, public_line, err);
}

static void end(struct run *r, enum fail fail, const char *why)
{
	if (r->ending)
		return;
	r->ending = true;
	if (fail != FAIL_NONE)
		(void)err_set(&r->why, fail, "%s", why); /* run() returns it */
	loop_stop(r->loop);
}

static void on_change(void *arg, const cJSON *old, const cJSON *now)
{
	struct watcher *w = arg;

	engine_change(&w->run->engine, w->kind, old, now);
}

static void on_sync(void *arg)
{
	struct run *r = ((struct watcher *)arg)->run;

	if (r->synced)
		return;
	for (size_t i = 0; i < r->nwatchers; i++) {
		/* Nodes only say who is about to leave; a role for some namespaces can not see
		 * them. */
		if (r->watchers[i].kind != SEEN_NODE && !informer_synced(r->watchers[i].informer))
			return;
	}
	r->synced = true;
	log_event(r->log, LOG_INFO, "caches are filled, the controller acts", NULL);
}

static void on_watch_error(void *arg, const struct err *err)
{
	struct watcher *w = arg;

	log_event(w->run->log, w->kind == SEEN_NODE ? LOG_DEBUG : LOG_WARN,
		  "a list or watch failed, it is tried again", "error", err->msg, NULL);
}

static int start_watch(struct run *r, enum seen kind, const struct kube_res *res, const char *ns,
		       struct err *err)
{
	bool labelled = kind == SEEN_POD || kind == SEEN_SERVICE || kind == SEEN_CONFIG;
	struct watcher *w = &r->watchers[r->nwatchers++];

	*w = (struct watcher){ .run = r, .kind = kind };
	return informer_new(r->kube,
			    &(struct informer_opts){
				    .res = res,
				    .ns = ns,
				    .label_selector = labelled ? LABEL_GROUP "=" ETJOB_GROUP : NULL,
				    .trim = trim_for(kind),
				    .on_change = on_change,
				    .on_sync = on_sync,
				    .on_error = on_watch_error,
				    .arg = w },
			    &w->informer, err);
}

static int start_watches(struct run *r, struct err *err)
{
	static const struct {
		enum seen kind;
		const struct kube_res *res;
	} kinds[] = {
		{ SEEN_JOB, &kube_trainingjobs }, { SEEN_SCALEOUT, &kube_scaleouts },
		{ SEEN_SCALEIN, &kube_scaleins }, { SEEN_POD, &kube_pods },
		{ SEEN_SERVICE, &kube_services }, { SEEN_CONFIG, &kube_configmaps },
	};
	const struct strs *only = &r->opts->namespaces;
	size_t namespaces = only->n ? only->n : 1;

	r->watchers = calloc(namespaces * ARRAY_LEN(kinds) + 1, sizeof(*r->watchers));
	if (!r->watchers)
		return err_nomem(err);
	for (size_t n = 0; n < namespaces; n++) {
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
			if (start_watch(r, kinds[i].kind, kinds[i].res, only->n ? only->v[n] : NULL,
					err) < 0)
				return -1;
		}
	}
	return start_watch(r, SEEN_NODE, &kube_nodes, NULL, err);
}

/* The caches are read anew when the lease is won: what the leader before did is in them. */
static void lead(struct run *r)
{
	struct err err = ERR_INIT;

	r->leads = true;
	if (start_watches(r, &err) < 0)
		end(r, err.fail, err.msg);
}

static void on_won(void *arg)
{
	struct run *r = arg;

	log_event(r->log, LOG_INFO, "the lease is ours", NULL);
	lead(r);
}

static void on_lost(void *arg, const char *why)
{
	struct run *r = arg;

	r->leads = false;
	r->engine.stopped = true;
	AUTO(buf) struct buf text = BUF_INIT(1024);

	buf_printf(&text, "the lease is lost: %s", why);
	end(r, FAIL_STATE, buf_text(&text));
}

static void on_lease_error(void *arg, const struct err *err)
{
	struct run *r = arg;

	log_event(r->log, LOG_WARN, "the lease could not be read or written", "error", err->msg,
		  NULL);
}

static bool on_ready(void *arg, struct buf *out)
{
	struct run *r = arg;
	bool waits = r->lease && !r->leads;
	bool ok = waits ? lease_fresh(r->lease) : r->synced;

	buf_str(out, !ok     ? "not ready: the API server has not answered yet\n"
		     : waits ? "ok: another replica leads\n"
			     : "ok\n");
	return ok;
}

static void on_metrics(void *arg, struct buf *out)
{
	struct run *r = arg;
	struct metrics_extra extra = { .leader = may_act(r),
				       .synced = r->synced,
				       .api_requests = kube_requests(r->kube),
				       .oldest_news_ms = -1 };

	for (size_t i = 0; i < r->nwatchers; i++) {
		int64_t age = r->watchers[i].kind == SEEN_NODE
				      ? -1
				      : informer_age_ms(r->watchers[i].informer);

		if (age > extra.oldest_news_ms)
			extra.oldest_news_ms = age;
	}
	metrics_print(&r->engine, &extra, out);
}

struct signals {
	struct run *run;
	int fd;
};

static void on_signal(void *arg)
{
	struct signals *s = arg;
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	log_event(s->run->log, LOG_INFO, "asked to end", "signal",
		  info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM", NULL);
	end(s->run, FAIL_NONE, "");
}

static int signal_fd(struct err *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_os(err, errno, "signalfd") : fd;
}

/* Who we are in the Lease: the pod, or the machine and a number that no other process has. */
static int identity(struct buf *out, struct err *err)
{
	char host[256] = "";
	const char *pod = getenv("POD_NAME");

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	buf_printf(out, "%s_%016" PRIx64, pod && pod[0] ? pod : host, io_random(NULL));
	return buf_check(out, err);
}

static int start_lease(struct run *r, const struct kube_config *config, struct err *err)
{
	const char *ns =
		r->opts->lease_namespace ? r->opts->lease_namespace : getenv("POD_NAMESPACE");
	AUTO(buf) struct buf who = BUF_INIT(1024);

	if (!r->opts->leader_elect) {
		lead(r);
		return 0;
	}
	if (identity(&who, err) < 0)
		return -1;
	return lease_new(r->kube,
			 &(struct lease_opts){ .ns = ns && ns[0] ? ns : config->ns,
					       .name = LEASE_NAME,
					       .identity = buf_text(&who),
					       .on_won = on_won,
					       .on_lost = on_lost,
					       .on_error = on_lease_error,
					       .arg = r },
			 &r->lease, err);
}

static int turn(struct run *r, struct err *err)
{
	int64_t ms = 1000;

	if (r->leads && r->synced) {
		if (!may_act(r)) {
			on_lost(r, "it could not be renewed for 10 s");
			return 0;
		}
		engine_run(&r->engine);
		int64_t next = engine_next_ms(&r->engine), now = clock_mono_ms(clock_system());

		if (next - now < ms)
			ms = next > now ? next - now : 0;
	}
	return loop_once(r->loop, ms, err);
}

/* What is under way is let through, then the lease is given back. */
static void drain(struct run *r)
{
	int64_t until = clock_mono_ms(clock_system()) + DRAIN_MS;
	struct err err = ERR_INIT;

	r->engine.stopped = true;
	while (r->engine.under_way && may_act(r) && clock_mono_ms(clock_system()) < until) {
		if (loop_once(r->loop, 100, &err) < 0)
			break;
	}
	if (r->lease)
		lease_release(r->lease);
}

static int serve_all(struct run *r, const struct kube_config *config, struct err *err)
{
	AUTO_CLOSE int fd = signal_fd(err);
	struct signals signals = { .run = r, .fd = fd };
	const struct serve_opts serve = { .ready = on_ready, .metrics = on_metrics, .arg = r };

	if (fd < 0)
		return -1;
	struct fdwatch *watch = loop_watch_fd(r->loop, fd, on_signal, &signals);

	if (!watch)
		return err_nomem(err);
	if ((r->opts->listen[0] &&
	     serve_new(r->loop, r->opts->listen, &serve, &r->serve, err) < 0) ||
	    start_lease(r, config, err) < 0)
		return -1;
	log_event(r->log, LOG_INFO, "etjob-controller started", "version", ETJOB_RELEASE, "server",
		  config->server, NULL);
	while (!r->ending) {
		if (turn(r, err) < 0)
			return -1;
	}
	drain(r);
	loop_unwatch_fd(r->loop, watch);
	if (r->why.fail == FAIL_NONE)
		return 0;
	*err = r->why;
	return -1;
}

static void run_free(struct run *r)
{
	for (size_t i = 0; i < r->nwatchers; i++)
		informer_free(r->watchers[i].informer);
	free(r->watchers);
	serve_free(r->serve);
	lease_free(r->lease);
	kube_free(r->kube);
	loop_free(r->loop);
	engine_release(&r->engine);
}

int run(const struct run_opts *opts, const struct log *log, struct err *err)
{
	AUTO(kube_config) struct kube_config config = KUBE_CONFIG_INIT;
	const struct kube_flags flags = { .kubeconfig = opts->kubeconfig,
					  .context = opts->context };
	struct run r = { .opts = opts, .log = log, .why = ERR_INIT };
	const struct engine_io io = { .arg = &r,
				      .clock = clock_system(),
				      .log = log,
				      .send = io_send,
				      .random = io_random,
				      .make_key = io_key };
	const struct kube_opts kube = { .user_agent = "etjob-controller/" ETJOB_RELEASE,
					.field_manager = "etjob-controller",
					.max_retries = 3 };
	int rc;

	if (kube_config_load(&flags, getenv, &config, err) < 0)
		return -1;
	engine_init(&r.engine, &io);
	r.engine.seen.unique_cluster = str_eq(opts->unique_names, "cluster");
	r.engine.seen.allow_scripts = opts->allow_scripts;
	rc = loop_new(clock_system(), &r.loop, err);
	if (rc == 0)
		rc = kube_new(r.loop, &config, &kube, &r.kube, err);
	if (rc == 0)
		rc = serve_all(&r, &config, err);
	run_free(&r);
	return rc;
}
