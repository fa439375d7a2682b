/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load generator for admission webhooks: kept-alive connections that post one
 * body again and again, TLS by OpenSSL, one thread a connection.
 *
 *	load --connect=HOST:PORT --body=FILE [--path=/mutate] [--ca=FILE | --plain]
 *	     [--connections=N] [--rate=R] [--seconds=S] [--pid=PID] [--status=CODE]
 *	     [--expect=TEXT] [--name=TEXT]
 *
 * Without --rate each connection sends as fast as it gets answers. With it,
 * times of sending are fixed beforehand and latency counts from them, so that a
 * server that stalls cannot hide it. Prints one line; --pid adds the CPU time that the server used
 * for each request and its memory. Exit status 1 when a request failed.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/opt.h"

#define ANSWER_MAX (16u << 20)

struct options {
	const char *connect, *path, *body, *ca, *expect, *name;
	int64_t connections, rate, seconds, pid, status;
	bool plain, close;
};

static const struct opt table[] = {
	OPT_STR(struct options, connect, 0, "connect", "HOST:PORT", "server"),
	OPT_STR(struct options, path, 0, "path", "PATH", "path of the URL"),
	OPT_STR(struct options, body, 0, "body", "FILE", "what is posted"),
	OPT_STR(struct options, ca, 0, "ca", "FILE", "CA of the server"),
	OPT_INT(struct options, status, 0, "status", "CODE", 100, 599, "status of each answer"),
	OPT_STR(struct options, expect, 0, "expect", "TEXT", "text that each answer must hold"),
	OPT_STR(struct options, name, 0, "name", "TEXT", "first word of the line"),
	OPT_INT(struct options, connections, 'c', "connections", "N", 1, 2000, "connections"),
	OPT_INT(struct options, rate, 'r', "rate", "R", 0, 1000000, "requests a second over all"),
	OPT_INT(struct options, seconds, 's', "seconds", "S", 1, 3600, "how long"),
	OPT_INT(struct options, pid, 0, "pid", "PID", 0, INT32_MAX, "the server's process"),
	OPT_BOOL(struct options, plain, 0, "plain", "without TLS"),
	OPT_BOOL(struct options, close, 0, "reconnect", "a new connection for each request"),
	OPT_END,
};

struct shared {
	const struct options *o;
	SSL_CTX *tls; /* NULL: plain */
	char *host, *port;
	struct buf request;
	int64_t start_ns;
};

struct client {
	struct shared *s;
	size_t index;
	pthread_t thread;
	int fd;
	SSL *ssl;
	struct buf answer;
	int64_t *took_ns; /* owned */
	size_t n, size, failed;
	char why[128]; /* of the first failure */
};

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can not fail */
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* --- one connection ------------------------------------------------------------ */

static void hang_up(struct client *c)
{
	SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
}

static bool fail(struct client *c, const char *why)
{
	if (!c->failed++)
		snprintf(c->why, sizeof(c->why), "%s (errno %d) %.80s", why, errno,
			 buf_text(&c->answer));
	hang_up(c);
	return false;
}

static bool dial(struct client *c)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval limit = { .tv_sec = 20 };
	struct addrinfo *list;
	int on = 1;

	if (getaddrinfo(c->s->host, c->s->port, &hints, &list) != 0)
		return fail(c, "no such host");
	c->fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, list->ai_addr, list->ai_addrlen) < 0) {
		freeaddrinfo(list);
		return fail(c, "connect");
	}
	freeaddrinfo(list);
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only faster */
	(void)setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!c->s->tls)
		return true;
	c->ssl = SSL_new(c->s->tls);
	if (!c->ssl || !SSL_set_fd(c->ssl, c->fd) ||
	    !SSL_set_tlsext_host_name(c->ssl, "localhost") || SSL_connect(c->ssl) != 1)
		return fail(c, "TLS handshake");
	return true;
}

static bool send_all(struct client *c, const struct buf *b)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = c->ssl ? SSL_write(c->ssl, b->data + done, (int)(b->len - done))
				   : send(c->fd, b->data + done, b->len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool receive(struct client *c)
{
	char piece[65536];
	ssize_t n = c->ssl ? SSL_read(c->ssl, piece, sizeof(piece))
			   : recv(c->fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return false;
	buf_add(&c->answer, piece, (size_t)n);
	return c->answer.fail == FAIL_NONE;
}

/* Up to the last chunk; no JSON looks like its end. */
static bool read_chunks(struct client *c)
{
	static const char last[] = "\r\n0\r\n\r\n";
	const size_t n = sizeof(last) - 1;

	while (c->answer.len < n || memcmp(c->answer.data + c->answer.len - n, last, n) != 0)
		if (!receive(c))
			return false;
	return true;
}

/* Reads one answer; false on the end of the stream. */
static bool read_answer(struct client *c, bool *last)
{
	const char *end, *length;
	int64_t body = 0;

	buf_clear(&c->answer);
	while (!(end = strstr(buf_text(&c->answer), "\r\n\r\n")))
		if (!receive(c))
			return false;
	if (strcasestr(c->answer.data, "transfer-encoding: chunked"))
		return read_chunks(c);
	length = strcasestr(c->answer.data, "content-length: ");
	if (!length || length > end ||
	    num_parse(length + 16, strspn(length + 16, "0123456789"), 0, ANSWER_MAX, &body, NULL) <
		    0)
		return false;
	*last = strcasestr(c->answer.data, "connection: close");
	for (size_t head = (size_t)(end + 4 - c->answer.data); c->answer.len < head + (size_t)body;)
		if (!receive(c))
			return false;
	return true;
}

static int64_t field(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	int64_t n = 0;

	if (!p)
		return 0;
	p += strlen(name);
	p += strspn(p, " \t");
	return num_parse(p, strspn(p, "0123456789"), 0, INT64_MAX, &n, NULL) < 0 ? 0 : n;
}

static bool ask(struct client *c)
{
	bool last = false;

	if (c->fd < 0 && !dial(c))
		return false;
	if (!send_all(c, &c->s->request))
		return fail(c, "send");
	if (!read_answer(c, &last))
		return fail(c, "receive");
	if (!str_starts(c->answer.data, "HTTP/1.1 ") ||
	    field(c->answer.data, "HTTP/1.1") != c->s->o->status)
		return fail(c, "status");
	if (c->s->o->expect && !strstr(c->answer.data, c->s->o->expect))
		return fail(c, "answer");
	if (last || c->s->o->close)
		hang_up(c);
	return true;
}

static void keep(struct client *c, int64_t ns)
{
	if (c->n == c->size) {
		size_t size = c->size ? c->size * 2 : 4096;
		int64_t *v = reallocarray(c->took_ns, size, sizeof(*v));

		if (!v)
			return;
		c->took_ns = v;
		c->size = size;
	}
	c->took_ns[c->n++] = ns;
}

static void *run(void *arg)
{
	struct client *c = arg;
	const struct options *o = c->s->o;
	int64_t end = c->s->start_ns + o->seconds * INT64_C(1000000000);

	/* Connect before the clock starts: a handshake is no part of a request. */
	if (!o->close)
		(void)dial(c); /* counted when it fails, and tried again */
	sleep_until(c->s->start_ns);
	for (int64_t k = (int64_t)c->index;; k += o->connections) {
		int64_t at =
			o->rate ? c->s->start_ns + k * INT64_C(1000000000) / o->rate : now_ns();

		if (at >= end)
			break;
		if (o->rate)
			sleep_until(at);
		if (ask(c))
			keep(c, now_ns() - at);
		else if (c->failed > 1000)
			break;
	}
	hang_up(c);
	return NULL;
}

/* --- the server's process ---------------------------------------------------------- */

struct usage {
	double cpu_s;
	int64_t rss_kib, peak_kib;
};

static struct usage usage_of(int64_t pid)
{
	AUTO(buf) struct buf stat = BUF_INIT(1 << 16), status = BUF_INIT(1 << 16);
	char path[64];
	struct usage u = { 0 };
	const char *p;
	int64_t ticks[2] = { 0 };

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	if (!pid || file_read(path, &stat, NULL) < 0)
		return u;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/status", pid);
	if (file_read(path, &status, NULL) < 0)
		return u;
	p = strrchr(buf_text(&stat), ')'); /* the name may hold anything */
	for (int i = 0; p && i < 12; i++)
		p = strchr(p + 1, ' ');
	for (int i = 0; p && i < 2; i++) {
		(void)!num_parse(p + 1, strspn(p + 1, "0123456789"), 0, INT64_MAX, &ticks[i], NULL);
		p = strchr(p + 1, ' ');
	}
	u.cpu_s = (double)(ticks[0] + ticks[1]) / (double)sysconf(_SC_CLK_TCK);
	u.rss_kib = field(buf_text(&status), "VmRSS:");
	u.peak_kib = field(buf_text(&status), "VmHWM:");
	return u;
}

/* --- the report ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double at(const int64_t *v, size_t n, double share)
{
	size_t i = (size_t)((double)n * share);

	return n ? (double)v[i < n ? i : n - 1] / 1e6 : 0;
}

static size_t report(const struct options *o, const struct client *c, double seconds,
		     struct usage before, struct usage after)
{
	size_t n = 0, failed = 0, k = 0;
	int64_t *all;

	for (int64_t i = 0; i < o->connections; i++) {
		n += c[i].n;
		failed += c[i].failed;
		if (c[i].failed)
			fprintf(stderr, "connection %" PRId64 ": %zu failed, first: %s\n", i,
				c[i].failed, c[i].why);
	}
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return failed + 1;
	for (int64_t i = 0; i < o->connections; i++) {
		memcpy(all + k, c[i].took_ns, c[i].n * sizeof(*all));
		k += c[i].n;
	}
	qsort(all, n, sizeof(*all), by_value);
	printf("%s requests=%zu failed=%zu per_s=%.0f p50_ms=%.3f p99_ms=%.3f p999_ms=%.3f "
	       "max_ms=%.3f",
	       o->name, n, failed, (double)n / seconds, at(all, n, 0.5), at(all, n, 0.99),
	       at(all, n, 0.999), at(all, n, 1));
	if (o->pid)
		printf(" cpu_us=%.1f per_core_s=%.0f rss_mib=%.1f peak_mib=%.1f",
		       n ? (after.cpu_s - before.cpu_s) / (double)n * 1e6 : 0,
		       after.cpu_s > before.cpu_s ? (double)n / (after.cpu_s - before.cpu_s) : 0,
		       (double)after.rss_kib / 1024, (double)after.peak_kib / 1024);
	printf("\n");
	free(all);
	return failed;
}

static int prepare(struct shared *s, struct err *err)
{
	AUTO(buf) struct buf body = BUF_INIT(64u << 20);
	const char *colon = strrchr(s->o->connect, ':');

	if (!colon || !s->o->body)
		return err_set(err, FAIL_USAGE, "--connect=HOST:PORT and --body=FILE are required");
	s->host = strndup(s->o->connect, (size_t)(colon - s->o->connect));
	s->port = strdup(colon + 1);
	if (file_read(s->o->body, &body, err) < 0)
		return -1;
	buf_printf(&s->request,
		   "POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\n"
		   "Content-Type: application/json\r\nAccept: application/json\r\n"
		   "Content-Length: %zu\r\n\r\n",
		   s->o->path, body.len);
	buf_add(&s->request, buf_text(&body), body.len);
	if (s->o->plain)
		return buf_check(&s->request, err);
	s->tls = SSL_CTX_new(TLS_client_method());
	if (!s->tls || (s->o->ca && !SSL_CTX_load_verify_locations(s->tls, s->o->ca, NULL)))
		return err_set(err, FAIL_INPUT, "the CA does not load");
	SSL_CTX_set_verify(s->tls, s->o->ca ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	return buf_check(&s->request, err);
}

static size_t load(struct shared *s)
{
	const struct options *o = s->o;
	struct client *c = calloc((size_t)o->connections, sizeof(*c));
	struct usage before, after;
	size_t failed;
	int64_t end;

	if (!c)
		return 1;
	s->start_ns = now_ns() + 200000000 + o->connections * 2000000;
	for (int64_t i = 0; i < o->connections; i++) {
		c[i] = (struct client){
			.s = s, .index = (size_t)i, .fd = -1, .answer = BUF_INIT(ANSWER_MAX)
		};
		if (pthread_create(&c[i].thread, NULL, run, &c[i]) != 0)
			return 1;
	}
	sleep_until(s->start_ns);
	before = usage_of(o->pid);
	for (int64_t i = 0; i < o->connections; i++)
		pthread_join(c[i].thread, NULL);
	end = now_ns();
	after = usage_of(o->pid);
	failed = report(o, c, (double)(end - s->start_ns) / 1e9, before, after);
	for (int64_t i = 0; i < o->connections; i++) {
		free(c[i].took_ns);
		buf_release(&c[i].answer);
	}
	free(c);
	return failed;
}

int main(int argc, char **argv)
{
	struct options o = { .path = "/mutate?timeout=5s",
			     .status = 200,
			     .name = "load",
			     .connections = 16,
			     .seconds = 5,
			     .connect = "" };
	const struct opt_set opts = { .opts = table, .into = &o };
	struct opt_args args = { .dashdash = -1 };
	struct shared s = { .o = &o, .request = BUF_INIT(64u << 20) };
	struct err err = ERR_INIT;
	int rc = opt_parse(&opts, 1, argc - 1, argv + 1, &args, &err);

	signal(SIGPIPE, SIG_IGN);
	if (rc == 0)
		rc = prepare(&s, &err);
	if (rc < 0)
		fprintf(stderr, "load: %s\n", err.msg);
	else if (load(&s))
		rc = -1;
	SSL_CTX_free(s.tls);
	free(s.host);
	free(s.port);
	buf_release(&s.request);
	opt_args_release(&args);
	return rc < 0;
}
