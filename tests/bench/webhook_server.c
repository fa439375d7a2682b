/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's server without a cluster: an empty index that is always fresh,
 * a certificate made at start. For measurements, abuse and sanitizers.
 *
 *	webhook_server [--plain] [--threads=N] [--listen=HOST:PORT] [--ca-file=FILE]
 *
 * Prints "ready PORT", serves until SIGTERM, drains a second, and prints its metrics.
 */
#include <signal.h>

#include "base/file.h"
#include "base/opt.h"
#include "certs/renew.h"
#include "webhook/arena.h"
#include "webhook/health.h"
#include "webhook/server.h"

struct options {
	const char *listen, *health, *ca_file;
	int64_t threads;
	bool plain, rotate;
};

static const struct opt table[] = {
	OPT_STR(struct options, listen, 0, "listen", "HOST:PORT", "address"),
	OPT_STR(struct options, health, 0, "health-listen", "HOST:PORT", "address of the metrics"),
	OPT_STR(struct options, ca_file, 0, "ca-file", "FILE", "where the CA is written"),
	OPT_INT(struct options, threads, 0, "threads", "N", 1, 64, "daemons"),
	OPT_BOOL(struct options, plain, 0, "plain", "without TLS"),
	OPT_BOOL(struct options, rotate, 0, "rotate",
		 "a new certificate and snapshot 20 times a second"),
	OPT_END,
};

struct parts {
	struct metrics metrics;
	struct tls_store tls;
	struct snap_cell cell;
	struct reserve *reserve;
	struct renew_state certs;
	struct strs names;
	struct server *server;
	struct health *health;
	struct log log;
};

static int new_certificate(struct parts *p, bool force, struct err *err)
{
	struct renew_policy policy = { .names = &p->names,
				       .now_s = clock_wall_ms(clock_system()) / 1000,
				       .ca_life_s = 86400,
				       .cert_life_s = 86400 };
	unsigned changed;

	if (force)
		buf_clear(&p->certs.cert);
	if (renew_plan(&p->certs, &policy, &changed, err) < 0)
		return -1;
	return tls_store_set(&p->tls, &p->certs.cert, &p->certs.key, err);
}

static int new_snapshot(struct parts *p, struct err *err)
{
	struct snap *s;

	if (snap_new(&s, err) < 0)
		return -1;
	snap_cell_set(&p->cell, s);
	atomic_store(&p->cell.heard_ms, clock_mono_ms(clock_system()));
	return 0;
}

static const char *well(void *arg UNUSED)
{
	return NULL;
}

static void write_metrics(void *arg, struct buf *out)
{
	struct parts *p = arg;
	struct metrics_now now = { .ready = true };

	metrics_write(&p->metrics, &now, out);
}

static int start(struct parts *p, const struct options *o, struct review_env *env, struct err *err)
{
	struct server_opts opts = { .listen = o->listen,
				    .threads = (size_t)o->threads,
				    .plain = o->plain,
				    .tls = &p->tls,
				    .metrics = &p->metrics,
				    .log = &p->log,
				    .env = env };
	struct health_opts health = { .listen = o->health,
				      .alive = well,
				      .ready = well,
				      .metrics = write_metrics,
				      .arg = p };

	if (metrics_init(&p->metrics, err) < 0 || tls_store_init(&p->tls, err) < 0 ||
	    snap_cell_init(&p->cell, err) < 0 ||
	    reserve_new(clock_system(), &p->reserve, err) < 0 ||
	    strs_add(&p->names, "localhost", err) < 0 ||
	    strs_add(&p->names, "127.0.0.1", err) < 0 || new_certificate(p, false, err) < 0 ||
	    new_snapshot(p, err) < 0)
		return -1;
	if (o->ca_file && file_write(o->ca_file, p->certs.ca.data, p->certs.ca.len, 0644, err) < 0)
		return -1;
	*env = (struct review_env){ .clock = clock_system(),
				    .cell = &p->cell,
				    .reserve = p->reserve,
				    .mount = true,
				    .unique_names = true };
	if (server_start(&opts, &p->server, err) < 0)
		return -1;
	return o->health ? health_start(&health, &p->health, err) : 0;
}

static int serve(struct parts *p, const struct options *o, const sigset_t *set, struct err *err)
{
	const struct timespec turn = { .tv_nsec = 50000000 };
	int64_t until;

	printf("ready %u\n", server_port(p->server));
	fflush(stdout);
	while (sigtimedwait(set, NULL, &turn) < 0) {
		atomic_store(&p->cell.heard_ms, clock_mono_ms(clock_system()));
		if (!o->rotate)
			continue;
		if (new_certificate(p, true, err) < 0 || new_snapshot(p, err) < 0)
			return -1;
		server_index_moved(p->server);
	}
	server_drain(p->server);
	until = clock_mono_ms(clock_system()) + 1000;
	while (clock_mono_ms(clock_system()) < until || server_in_flight(p->server))
		(void)sigtimedwait(set, NULL, &turn); /* a pause, or one more signal */
	return 0;
}

static void stop(struct parts *p)
{
	server_free(p->server);
	health_free(p->health);
	reserve_free(p->reserve);
	snap_cell_release(&p->cell);
	tls_store_release(&p->tls);
	metrics_release(&p->metrics);
	renew_state_release(&p->certs);
	strs_release(&p->names);
}

int main(int argc, char **argv)
{
	struct options o = { .listen = "127.0.0.1:0", .threads = 1 };
	const struct opt_set opts = { .opts = table, .into = &o };
	struct opt_args args = { .dashdash = -1 };
	struct parts p = { .certs = RENEW_STATE_INIT,
			   .log = { .fd = 2, .level = LOG_ERROR, .clock = clock_system() } };
	struct review_env env;
	struct err err = ERR_INIT;
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	arena_install();
	rc = opt_parse(&opts, 1, argc - 1, argv + 1, &args, &err);
	if (rc == 0)
		rc = start(&p, &o, &env, &err);
	if (rc == 0)
		rc = serve(&p, &o, &set, &err);
	if (rc < 0)
		fprintf(stderr, "webhook_server: %s\n", err.msg);
	stop(&p);
	opt_args_release(&args);
	return rc < 0;
}
