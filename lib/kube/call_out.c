/* SPDX-License-Identifier: Apache-2.0 */
/* call_out: what a request sends: credentials, headers, method, TLS, proxy. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "kube/call_int.h"
#include "wire/base64.h"

#define CONNECT_WAIT_MS 30000 /* as Go's dialer */
#define DEAD_PEER_MS 45000    /* data that nobody acknowledges for so long ends a connection */

static int add_header(struct kube_call *c, const char *line, struct err *err)
{
	struct curl_slist *list = curl_slist_append(c->headers, line);

	if (!list)
		return err_nomem(err);
	c->headers = list;
	return 0;
}

PRINTF(3, 4) static int headerf(struct kube_call *c, struct err *err, const char *fmt, ...)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_OBJECT);
	va_list ap;
	int rc;

	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	if (buf_check(&line, err) < 0)
		return -1;
	for (size_t i = 0; i < line.len; i++) {
		unsigned char ch = (unsigned char)line.data[i];

		if ((ch < 0x20 && ch != '\t') || ch == 0x7f) {
			rc = err_set(err, FAIL_NET,
				     "Unable to connect to the server: net/http: invalid header "
				     "field value for \"%.*s\"",
				     (int)strcspn(line.data, ":"), line.data);
			buf_wipe(&line);
			return rc;
		}
	}
	rc = add_header(c, buf_text(&line), err);
	buf_wipe(&line);
	return rc;
}

/* Percent-encodes what a header name can not hold, as Impersonate-Extra- needs it. */
static void extra_key(struct buf *out, const char *key, size_t n)
{
	static const char token[] = "!#$&'*+-.^_`|~"; /* without % */

	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)key[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
		    (ch >= '0' && ch <= '9') || (ch && strchr(token, ch)))
			buf_char(out, (char)ch);
		else
			buf_printf(out, "%%%02X", ch);
	}
}

static int impersonation(struct kube_call *c, struct err *err)
{
	const struct kube_config *cfg = c->k->config;

	if (!cfg->as)
		return 0;
	if (headerf(c, err, "Impersonate-User: %s", cfg->as) < 0)
		return -1;
	if (cfg->as_uid && headerf(c, err, "Impersonate-Uid: %s", cfg->as_uid) < 0)
		return -1;
	for (size_t i = 0; i < cfg->as_groups.n; i++)
		if (headerf(c, err, "Impersonate-Group: %s", cfg->as_groups.v[i]) < 0)
			return -1;
	for (size_t i = 0; i < cfg->as_extras.n; i++) {
		const char *extra = cfg->as_extras.v[i];
		const char *eq = strchr(extra, '=');
		AUTO(buf) struct buf key = BUF_INIT(LIMIT_TEXT);

		if (!eq)
			continue;
		extra_key(&key, extra, (size_t)(eq - extra));
		if (buf_check(&key, err) < 0 ||
		    headerf(c, err, "Impersonate-Extra-%s: %s", buf_text(&key), eq + 1) < 0)
			return -1;
	}
	return 0;
}

/* RFC 6455. The key only tells a WebSocket server from another; curl speaks HTTP/1.1 already. */
static int upgrade(struct kube_call *c, struct err *err)
{
	AUTO(buf) struct buf key = BUF_INIT(64);
	unsigned char random[16];

	if (clock_random(random, sizeof(random)) < 0)
		return err_os(err, errno, "no random bytes");
	base64_encode(&key, random, sizeof(random));
	return headerf(c, err, "Connection: Upgrade") < 0 ||
			       headerf(c, err, "Upgrade: websocket") < 0 ||
			       headerf(c, err, "Sec-WebSocket-Version: 13") < 0 ||
			       headerf(c, err, "Sec-WebSocket-Key: %s", buf_text(&key)) < 0 ||
			       headerf(c, err, "Sec-WebSocket-Protocol: %s", c->req.upgrade) < 0
		       ? -1
		       : 0;
}

int call_set_headers(struct kube_call *c, struct err *err)
{
	AUTO(buf) struct buf authorization = BUF_INIT(LIMIT_OBJECT);
	int rc;

	curl_slist_free_all(c->headers);
	c->headers = NULL;
	if (headerf(c, err, "Accept: %s", c->req.accept) < 0 || headerf(c, err, "Expect:") < 0)
		return -1;
	if (c->body && headerf(c, err, "Content-Type: %s", c->req.content_type) < 0)
		return -1;
	if (c->req.upgrade && upgrade(c, err) < 0)
		return -1;
	if (c->k->host_header && add_header(c, c->k->host_header, err) < 0)
		return -1;
	if (impersonation(c, err) < 0)
		return -1;
	rc = auth_header(&c->k->auth, &authorization, err);
	if (rc == 0 && authorization.len)
		rc = headerf(c, err, "Authorization: %s", buf_text(&authorization));
	buf_wipe(&authorization);
	return rc;
}

static int on_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	unsigned ms = DEAD_PEER_MS;
	int on = 1;

	(void)arg;
	(void)purpose;
	/*
	 * A peer that is gone without a word is noticed within a minute, also by a watch
	 * that only listens. Neither call matters when it fails.
	 */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

static int set_proxy(struct kube_call *c)
{
	const char *proxy = c->k->config->proxy_url;
	CURL *e = c->t.easy;
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	if (!proxy)
		/* Go does not ask a proxy for this machine; curl would. */
		return c->k->loopback ? (int)curl_easy_setopt(e, CURLOPT_PROXY, "") : CURLE_OK;
	/* Names are resolved by the SOCKS server, as in Go. */
	if (str_starts(proxy, "socks5://"))
		buf_printf(&text, "socks5h%s", proxy + strlen("socks5"));
	else
		buf_str(&text, proxy);
	if (text.fail != FAIL_NONE ||
	    curl_easy_setopt(e, CURLOPT_PROXY, buf_text(&text)) != CURLE_OK)
		return CURLE_OUT_OF_MEMORY;
	return (int)curl_easy_setopt(e, CURLOPT_NOPROXY, "");
}

#define SET(option, value)                                                              \
	do {                                                                            \
		CURLcode rc_ = curl_easy_setopt(c->t.easy, option, value);              \
		if (rc_ != CURLE_OK)                                                    \
			return err_set(err, FAIL_CONFIG, "cannot set up a request: %s", \
				       curl_easy_strerror(rc_));                        \
	} while (0)

/*
 * Gives curl the body once. With the body in its hands curl would send a write a second
 * time when a kept connection breaks before the answer; the first may have been done.
 */
static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct kube_call *c = arg;
	size_t left = c->req.body_bytes - c->sent_bytes;

	n = size * n < left ? size * n : left;
	memcpy(to, c->body + c->sent_bytes, n);
	c->sent_bytes += n;
	return n;
}

static int set_method(struct kube_call *c, struct err *err)
{
	if (c->body) {
		c->sent_bytes = 0;
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_READFUNCTION, on_read);
		SET(CURLOPT_READDATA, (void *)c);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->req.body_bytes);
	}
	if (!str_eq(c->method, "GET"))
		SET(CURLOPT_CUSTOMREQUEST, c->method);
	return 0;
}

int call_set_options(struct kube_call *c, struct err *err)
{
	const struct kube *k = c->k;
	AUTO(buf) struct buf url = BUF_INIT(LIMIT_OBJECT);

	buf_printf(&url, "%s%s", k->base, c->path);
	if (buf_check(&url, err) < 0)
		return -1;
	SET(CURLOPT_URL, buf_text(&url));
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else /* Ubuntu 22.04 */
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_WAIT_MS);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TCP_KEEPIDLE, 15L);
	SET(CURLOPT_TCP_KEEPINTVL, 15L);
	SET(CURLOPT_SOCKOPTFUNCTION, on_socket);
	SET(CURLOPT_USERAGENT, k->user_agent);
	SET(CURLOPT_HTTPHEADER, c->headers);
	SET(CURLOPT_ERRORBUFFER, c->errbuf);
	/* One connection each: a stalled stream can not hold up another. */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (!c->req.on_data && !k->config->disable_compression)
		SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	if (k->connect_to)
		SET(CURLOPT_CONNECT_TO, k->connect_to);
	if (set_proxy(c) != CURLE_OK)
		return err_set(err, FAIL_CONFIG, "cannot use the proxy \"%s\"",
			       k->config->proxy_url ? k->config->proxy_url : "");
	if (set_method(c, err) < 0)
		return -1;
	if (!k->https)
		return 0;
	return tls_setup(c->t.easy, k->config->insecure, &k->config->ca_pem, auth_cert(&k->auth),
			 auth_key(&k->auth), &c->k->tls, err);
}

void call_log_request(struct kube_call *c)
{
	const struct kube *k = c->k;

	if (k->opts.verbosity < 7)
		return;
	kube_log(k, 7, "%s %s%s", c->method, k->base, c->path);
	kube_log(k, 7, "Request Headers:");
	for (const struct curl_slist *h = c->headers; h; h = h->next)
		if (str_starts(h->data, "Authorization:"))
			kube_log(k, 7, "    Authorization: %.*s <masked>",
				 (int)strcspn(h->data + 15, " "), h->data + 15);
		else if (!str_starts(h->data, "Expect:"))
			kube_log(k, 7, "    %s", h->data);
	if (c->body && k->opts.verbosity >= 8)
		kube_log(k, 8, "Request Body: %s",
			 strstr(c->path, "/secrets") ? "<masked>" : c->body);
}
