/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/strs.h"

#define METRICS_MOST (1u << 20)

struct serve {
	struct loop *loop;
	struct serve_opts opts;
	struct MHD_Daemon *daemon; /* in epoll mode, without a thread */
	struct fdwatch *watch;
	struct timer *timer;
};

static enum MHD_Result answer(struct MHD_Connection *conn, unsigned code, const struct buf *text)
{
	/* MHD takes the text as it is: it copies. */
	struct MHD_Response *r = MHD_create_response_from_buffer(
		text->len, (void *)(uintptr_t)buf_text(text), MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	(void)MHD_add_response_header(r, "Content-Type", "text/plain; version=0.0.4");
	enum MHD_Result rc = MHD_queue_response(conn, code, r);

	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_bytes, void **state)
{
	struct serve *s = arg;
	AUTO(buf) struct buf text = BUF_INIT(METRICS_MOST);
	unsigned code = MHD_HTTP_OK;

	(void)version;
	(void)body;
	if (!*state) { /* the headers are here, the answer comes at the next call */
		*state = s;
		return MHD_YES;
	}
	if (*body_bytes) {
		*body_bytes = 0;
		return MHD_YES;
	}
	if (!str_eq(method, MHD_HTTP_METHOD_GET) && !str_eq(method, MHD_HTTP_METHOD_HEAD)) {
		code = MHD_HTTP_METHOD_NOT_ALLOWED;
		buf_str(&text, "only GET\n");
	} else if (str_eq(url, "/healthz")) {
		buf_str(&text, "ok\n");
	} else if (str_eq(url, "/readyz")) {
		code = s->opts.ready(s->opts.arg, &text) ? MHD_HTTP_OK
							 : MHD_HTTP_SERVICE_UNAVAILABLE;
	} else if (str_eq(url, "/metrics")) {
		s->opts.metrics(s->opts.arg, &text);
	} else {
		code = MHD_HTTP_NOT_FOUND;
		buf_str(&text, "there are /healthz, /readyz and /metrics\n");
	}
	return answer(conn, code, &text);
}

static void turn(void *arg);

static void on_timer(void *arg)
{
	struct serve *s = arg;

	s->timer = NULL;
	turn(s);
}

/* MHD does what it can without waiting, and says when it wants to be called again. */
static void turn(void *arg)
{
	struct serve *s = arg;
	MHD_UNSIGNED_LONG_LONG ms = 0;

	(void)MHD_run(s->daemon); /* fails only when it is being stopped */
	loop_cancel(s->loop, TAKE(s->timer));
	if (MHD_get_timeout(s->daemon, &ms) == MHD_YES)
		s->timer = loop_after(s->loop, ms > 60000 ? 60000 : (int64_t)ms, on_timer, s);
}

static int bind_to(const struct addrinfo *a, int *saved)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0;

	if (fd < 0) {
		*saved = errno;
		return -1;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* a wish */
	if (a->ai_family == AF_INET6) /* and IPv4 through the same socket */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 64) == 0)
		return fd;
	*saved = errno;
	(void)close(fd); /* nothing was sent */
	return -1;
}

/* A listening socket; -1 with err. Without a host: all addresses, IPv6 first. */
static int listen_on(const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':'), *from = text;
	AUTO_FREE char *host = NULL;
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *list;
	int fd = -1, saved = 0;

	if (!colon || !colon[1])
		return err_set(err, FAIL_USAGE, "--listen must be HOST:PORT or :PORT, not \"%s\"",
			       text);
	size_t n = (size_t)(colon - text);

	if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
		from++;
		n -= 2;
	}
	host = strndup(from, n);
	if (!host)
		return err_nomem(err);
	int rc = getaddrinfo(n ? host : NULL, colon + 1, &hints, &list);

	if (rc != 0)
		return err_set(err, FAIL_USAGE, "--listen %s: %s", text, gai_strerror(rc));
	for (int v6 = 1; v6 >= 0; v6--) {
		for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
			if ((a->ai_family == AF_INET6) == v6)
				fd = bind_to(a, &saved);
		}
	}
	freeaddrinfo(list);
	return fd < 0 ? err_os(err, saved, "cannot listen on %s", text) : fd;
}

int serve_new(struct loop *loop, const char *listen, const struct serve_opts *opts,
	      struct serve **out, struct err *err)
{
	AUTO_PTR(serve) struct serve *s = calloc(1, sizeof(*s));
	const union MHD_DaemonInfo *info;
	int fd;

	if (!s)
		return err_nomem(err);
	s->loop = loop;
	s->opts = *opts;
	fd = listen_on(listen, err);
	if (fd < 0)
		return -1;
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, s,
				     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, 32u,
				     MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
	if (!s->daemon) {
		(void)close(fd); /* nothing was sent */
		return err_set(err, FAIL_OS, "cannot start the HTTP server on %s", listen);
	}
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return err_set(err, FAIL_OS, "the HTTP server has no descriptor to wait on");
	s->watch = loop_watch_fd(loop, info->epoll_fd, turn, s);
	if (!s->watch)
		return err_nomem(err);
	*out = TAKE(s);
	return 0;
}

void serve_free(struct serve *s)
{
	if (!s)
		return;
	if (s->watch)
		loop_unwatch_fd(s->loop, s->watch);
	loop_cancel(s->loop, s->timer);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	free(s);
}
