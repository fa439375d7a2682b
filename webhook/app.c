/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/app.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "certs/files.h"
#include "certs/rotate.h"
#include "kube/client.h"
#include "webhook/health.h"
#include "webhook/index.h"
#include "webhook/server.h"
#include "webhook/trim.h"

#define TURN_MS 250     /* longest turn of the loop */
#define STUCK_MS 60000  /* the loop did not turn: not alive */
#define FINISH_MS 15000 /* for requests that are under way at the end */
#define THREADS_DEFAULT 4
#define QUIET_MS 20000 /* without a request: memory that is not needed goes back */
#define REQUEST_S 10   /* of our own requests to the API server, in seconds */

struct app {
	const struct options *o;
	const struct log *log;
	char *ns;
	struct strs names; /* of the certificate */
	struct kube_config config;
	struct loop *loop;
	struct kube *kube;
	struct metrics metrics;
	struct tls_store tls;
	struct snap_cell cell;
	struct reserve *reserve;
	struct review_env env;
	struct index *index;
	struct rotate *rotate; /* NULL with certificates from files */
	struct files files;
	int64_t files_due_ms;
	bool files_failing;
	struct server *server;
	struct health *health;
	int signal_fd;
	unsigned signals;            /* that came in */
	int64_t quiet_due_ms;        /* when the number of requests is looked at next */
	unsigned long long answered; /* requests until then */
	atomic_bool draining;
	atomic_llong turned_ms; /* when the loop last turned, monotonic */
	bool has_metrics, has_tls, has_cell;
};

static int64_t now_ms(const struct app *a)
{
	return clock_mono_ms(a->log->clock);
}

/* --- what the health port asks --------------------------------------------------------- */

static const char *alive(void *arg)
{
	struct app *a = arg;

	if (now_ms(a) - atomic_load(&a->turned_ms) > STUCK_MS)
		return "the main loop is stuck";
	return NULL;
}

static const char *ready(void *arg)
{
	struct app *a = arg;

	if (atomic_load(&a->draining))
		return "shutting down";
	if (!tls_store_valid(&a->tls, clock_wall_ms(a->log->clock) / 1000, NULL))
		return a->o->cert_file ? "no valid certificate in the files yet: see the log"
				       : "no valid certificate yet: see the log";
	if (!index_synced(a->index))
		return "the list of jobs is not read yet: see the log";
	return NULL;
}

static void write_metrics(void *arg, struct buf *out)
{
	struct app *a = arg;
	struct metrics_now now = { .reservations = reserve_count(a->reserve) };
	int64_t heard = atomic_load(&a->cell.heard_ms);

	(void)tls_store_valid(&a->tls, 0, &now.cert_not_after_s); /* only the end is asked for */
	now.index_age_ms = heard < 0 ? -1 : now_ms(a) - heard;
	index_counts(a->index, &now.jobs, &now.scalers);
	now.ready = !ready(a);
	metrics_write(&a->metrics, &now, out);
}

/* --- certificates ------------------------------------------------------------------------ */

static int install(void *arg, const struct buf *cert, const struct buf *key, struct err *err)
{
	struct app *a = arg;
	char end[32];

	if (tls_store_set(&a->tls, cert, key, err) < 0)
		return -1;
	atomic_fetch_add(&a->metrics.cert_loads, 1);
	snprintf(end, sizeof(end), "%" PRId64, a->tls.not_after_s);
	log_event(a->log, LOG_INFO, "certificate in place", "not_after", end, NULL);
	return 0;
}

static void on_look(void *arg, bool failed, int64_t ca_not_after_s)
{
	struct app *a = arg;

	if (failed)
		atomic_fetch_add(&a->metrics.cert_errors, 1);
	atomic_store(&a->metrics.ca_not_after_s, ca_not_after_s);
}

static void look_at_files(struct app *a)
{
	struct err err = ERR_INIT;

	a->files_due_ms = now_ms(a) + FILES_CHECK_MS;
	if (files_look(&a->files, install, a, &err) >= 0) {
		a->files_failing = false;
		return;
	}
	atomic_fetch_add(&a->metrics.cert_errors, 1);
	if (!a->files_failing)
		log_event(a->log, LOG_ERROR, "certificate not read, the one before stays", "error",
			  err.msg, NULL);
	a->files_failing = true;
}

static void look_at_certificates(struct app *a)
{
	if (a->rotate && now_ms(a) >= rotate_due_ms(a->rotate))
		rotate_look(a->rotate);
	else if (!a->rotate && now_ms(a) >= a->files_due_ms)
		look_at_files(a);
}

static int service_names(struct app *a, struct err *err)
{
	static const char *const forms[] = { "%s.%s.svc", "%s.%s.svc.cluster.local", "%s.%s",
					     "%s" };

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		AUTO(buf) struct buf name = BUF_INIT(512);

		for (const char *p = forms[i], *s = a->o->service; *p; p++) {
			if (*p != '%') {
				buf_char(&name, *p);
				continue;
			}
			buf_str(&name, s);
			s = a->ns;
			p++;
		}
		if (buf_check(&name, err) < 0 || strs_add(&a->names, buf_text(&name), err) < 0)
			return -1;
	}
	for (size_t i = 0; i < a->o->dns.n; i++)
		if (strs_add(&a->names, a->o->dns.v[i], err) < 0)
			return -1;
	return 0;
}

static int start_certificates(struct app *a, struct err *err)
{
	const struct rotate_opts opts = {
		.clock = a->log->clock,
		.log = a->log,
		.ns = a->ns,
		.secret = a->o->secret,
		.config = a->o->config,
		.names = &a->names,
		.ca_life_s = a->o->ca_life_s,
		.cert_life_s = a->o->cert_life_s,
		.settle_s = a->o->ca_settle_s,
		.keep_s = a->o->ca_keep_s,
		.install = install,
		.on_look = on_look,
		.arg = a,
	};

	a->files = FILES_INIT(a->o->cert_file, a->o->key_file);
	if (a->o->cert_file)
		return 0;
	if (service_names(a, err) < 0)
		return -1;
	return rotate_new(a->kube, &opts, &a->rotate, err);
}

/* --- start ---------------------------------------------------------------------------------- */

static void on_publish(void *arg)
{
	struct app *a = arg;

	if (a->server)
		server_index_moved(a->server);
}

static void on_signal(void *arg)
{
	struct app *a = arg;
	struct signalfd_siginfo info;

	if (read(a->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		a->signals++;
}

static size_t default_threads(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 2;
	n = CPU_COUNT(&set);
	return n > THREADS_DEFAULT ? THREADS_DEFAULT : (size_t)n;
}

/* Sockets are what it runs out of first; a core dump would hold the CA's key. */
static void set_limits(void)
{
	const struct rlimit none = { 0 };
	struct rlimit r;

	(void)setrlimit(RLIMIT_CORE, &none); /* lowering is always allowed */
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max < 65536 ? r.rlim_max : 65536;
		(void)setrlimit(RLIMIT_NOFILE, &r); /* only a wish */
	}
}

static int connect_cluster(struct app *a, struct err *err)
{
	const struct kube_flags flags = { .kubeconfig = a->o->kubeconfig,
					  .context = a->o->context,
					  .request_timeout_s = REQUEST_S };
	const struct kube_opts opts = { .user_agent = "etjob-webhook/" ETJOB_RELEASE,
					.field_manager = "etjob-webhook",
					.max_retries = 2 };
	const char *ns = a->o->namespace_;

	if (!ns)
		ns = getenv("POD_NAMESPACE");
	if (str_copy(ns && *ns ? ns : "etjob-system", &a->ns, err) < 0 ||
	    loop_new(a->log->clock, &a->loop, err) < 0 ||
	    kube_config_load(&flags, getenv, &a->config, err) < 0)
		return -1;
	return kube_new(a->loop, &a->config, &opts, &a->kube, err);
}

static int start_memory(struct app *a, struct err *err)
{
	if (metrics_init(&a->metrics, err) < 0)
		return -1;
	a->has_metrics = true;
	if (tls_store_init(&a->tls, err) < 0)
		return -1;
	a->has_tls = true;
	if (snap_cell_init(&a->cell, err) < 0)
		return -1;
	a->has_cell = true;
	return reserve_new(a->log->clock, &a->reserve, err);
}

static int start_servers(struct app *a, struct err *err)
{
	const struct server_opts server = {
		.listen = a->o->listen,
		.threads = a->o->threads ? (size_t)a->o->threads : default_threads(),
		.tls = &a->tls,
		.metrics = &a->metrics,
		.log = a->log,
		.env = &a->env,
	};
	const struct health_opts health = {
		.listen = a->o->health_listen,
		.alive = alive,
		.ready = ready,
		.metrics = write_metrics,
		.arg = a,
	};

	a->env = (struct review_env){
		.clock = a->log->clock,
		.cell = &a->cell,
		.reserve = a->reserve,
		.mount = a->o->inject_mount,
		.unique_names = str_eq(a->o->unique_names, "cluster"),
	};
	if (server_start(&server, &a->server, err) < 0)
		return -1;
	return health_start(&health, &a->health, err);
}

static int start(struct app *a, struct err *err)
{
	struct index_opts index = {
		.metrics = &a->metrics, .log = a->log, .on_publish = on_publish, .arg = a
	};
	char port[16];

	set_limits();
	a->quiet_due_ms = now_ms(a) + QUIET_MS;
	atomic_store(&a->turned_ms, now_ms(a));
	if (start_memory(a, err) < 0 || connect_cluster(a, err) < 0)
		return -1;
	index.cell = &a->cell;
	index.reserve = a->reserve;
	if (!loop_watch_fd(a->loop, a->signal_fd, on_signal, a))
		return err_nomem(err);
	if (index_new(a->kube, &index, &a->index, err) < 0 || start_servers(a, err) < 0 ||
	    start_certificates(a, err) < 0)
		return -1;
	snprintf(port, sizeof(port), "%u", server_port(a->server));
	log_event(a->log, LOG_INFO, "serving", "version", ETJOB_RELEASE, "port", port,
		  "certificates", a->rotate ? "self-managed" : "files", NULL);
	return 0;
}

/* --- memory --- */

/* Whenever there were no requests for a while. */
static void look_at_memory(struct app *a)
{
	unsigned long long answered = metrics_answered(&a->metrics);

	if (now_ms(a) < a->quiet_due_ms)
		return;
	a->quiet_due_ms = now_ms(a) + QUIET_MS;
	if (answered == a->answered && index_synced(a->index))
		trim_memory();
	a->answered = answered;
}

/* --- run and end ---------------------------------------------------------------------------- */

static int turn(struct app *a, struct err *err)
{
	if (loop_once(a->loop, TURN_MS, err) < 0)
		return -1;
	atomic_store(&a->turned_ms, now_ms(a));
	return 0;
}

/* Serves on until clients have gone elsewhere, then finishes what is under way. */
static int drain(struct app *a, struct err *err)
{
	int64_t until = now_ms(a) + a->o->drain_s * 1000;

	atomic_store(&a->draining, true);
	server_drain(a->server);
	log_event(a->log, LOG_INFO, "shutting down", NULL);
	while (now_ms(a) < until && a->signals < 2) {
		if (turn(a, err) < 0)
			return -1;
		look_at_certificates(a);
	}
	server_close(a->server);
	until = now_ms(a) + FINISH_MS;
	while (server_in_flight(a->server) && now_ms(a) < until && a->signals < 2)
		if (loop_once(a->loop, 20, err) < 0)
			return -1;
	log_event(a->log, LOG_INFO, "stopped", NULL);
	return 0;
}

static void stop(struct app *a)
{
	server_free(a->server);
	health_free(a->health);
	rotate_free(a->rotate);
	files_release(&a->files);
	index_free(a->index);
	kube_free(a->kube);
	loop_free(a->loop);
	kube_config_release(&a->config);
	reserve_free(a->reserve);
	if (a->has_cell)
		snap_cell_release(&a->cell);
	if (a->has_tls)
		tls_store_release(&a->tls);
	if (a->has_metrics)
		metrics_release(&a->metrics);
	strs_release(&a->names);
	free(a->ns);
}

int app_run(const struct options *o, int signal_fd, const struct log *log, struct err *err)
{
	struct app *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_nomem(err);
	a->o = o;
	a->log = log;
	a->signal_fd = signal_fd;
	a->config = KUBE_CONFIG_INIT;
	rc = start(a, err);
	while (rc == 0 && !a->signals) {
		look_at_certificates(a);
		look_at_memory(a);
		rc = turn(a, err);
	}
	if (rc == 0)
		rc = drain(a, err);
	stop(a);
	free(a);
	return rc;
}
