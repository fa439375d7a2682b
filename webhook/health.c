/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/health.h"

#include <microhttpd.h>

#include "webhook/server.h"

#define CONNECTIONS 64
#define TIMEOUT_S 15
#define ANSWER_BYTES ((size_t)1 << 20)

struct health {
	struct health_opts opts;
	struct MHD_Daemon *daemon;
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *type,
			     struct buf *body)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result sent;

	if (!r)
		return MHD_NO;
	*body = BUF_INIT(0); /* the response owns the bytes now */
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type); /* worth no failure */
	sent = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return sent;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version UNUSED,
				  const char *data UNUSED, size_t *n, void **state)
{
	static const char text[] = "text/plain; charset=utf-8";
	struct health *h = cls;
	AUTO(buf) struct buf body = BUF_INIT(ANSWER_BYTES);
	const char *why = NULL;

	if (!*state) {
		*state = h; /* any value that is not NULL: the head was seen */
		return MHD_YES;
	}
	if (*n) {
		*n = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		buf_str(&body, "only GET\n");
		return reply(c, 405, text, &body);
	}
	if (strcmp(url, "/metrics") == 0) {
		h->opts.metrics(h->opts.arg, &body);
		return body.fail == FAIL_NONE
			       ? reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", &body)
			       : MHD_NO;
	}
	if (strcmp(url, "/healthz") == 0)
		why = h->opts.alive(h->opts.arg);
	else if (strcmp(url, "/readyz") == 0)
		why = h->opts.ready(h->opts.arg);
	else {
		buf_str(&body, "only /healthz, /readyz and /metrics are here\n");
		return reply(c, 404, text, &body);
	}
	buf_printf(&body, "%s\n", why ? why : "ok");
	return reply(c, why ? 503 : 200, text, &body);
}

int health_start(const struct health_opts *opts, struct health **out, struct err *err)
{
	struct health *h;
	int fd;

	if (server_listen(opts->listen, &fd, err) < 0)
		return -1;
	h = calloc(1, sizeof(*h));
	if (!h) {
		(void)close(fd);
		return err_nomem(err);
	}
	h->opts = *opts;
	h->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, h,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)8192, MHD_OPTION_THREAD_STACK_SIZE, (size_t)256 << 10, MHD_OPTION_END);
	if (!h->daemon) {
		(void)close(fd);
		free(h);
		return err_set(err, FAIL_OS, "cannot start the health port (libmicrohttpd %s)",
			       MHD_get_version());
	}
	*out = h;
	return 0;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon); /* closes the listening socket, too */
	free(h);
}
