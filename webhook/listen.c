/* SPDX-License-Identifier: Apache-2.0 */
/* server_listen: where the listening sockets of both ports come from. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "webhook/server.h"

#define BACKLOG 1024

static int bind_to(const struct addrinfo *a, int *out)
{
	const int on = 1, off = 0;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int why;

	if (fd < 0)
		return errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (a->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
		*out = fd;
		return 0;
	}
	why = errno;
	(void)close(fd);
	return why;
}

/* "host:port", "[v6]:port" or ":port" into two strings; false when it is none of them. */
static bool split(const char *listen, char *host, size_t host_size, const char **port)
{
	const char *colon = strrchr(listen, ':');
	size_t n;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	*port = colon + 1;
	n = (size_t)(colon - listen);
	if (n >= 2 && listen[0] == '[' && colon[-1] == ']') {
		listen++;
		n -= 2;
	} else if (memchr(listen, ':', n)) {
		return false;
	}
	if (n >= host_size)
		return false;
	memcpy(host, listen, n);
	host[n] = '\0';
	return true;
}

int server_listen(const char *listen, int *fd, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	char host[256];
	const char *port;
	int why = 0, rc;

	if (!split(listen, host, sizeof(host), &port))
		return err_set(err, FAIL_USAGE,
			       "\"%s\" is no address to listen on: give [HOST]:PORT", listen);
	/* Without a host: one IPv6 socket that takes IPv4, too; where there is no IPv6, IPv4. */
	if (!*host)
		hints.ai_family = AF_INET6;
	for (;;) {
		rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
		if (rc == 0) {
			for (const struct addrinfo *a = list; a; a = a->ai_next) {
				why = bind_to(a, fd);
				if (why == 0)
					break;
			}
			freeaddrinfo(list);
			if (why == 0)
				return 0;
		}
		if (hints.ai_family != AF_INET6)
			break;
		hints.ai_family = AF_INET;
	}
	if (rc != 0)
		return err_set(err, FAIL_USAGE, "cannot listen on \"%s\": %s", listen,
			       gai_strerror(rc));
	return err_os(err, why, "cannot listen on \"%s\"", listen);
}
