/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "base/limits.h"
#include "kube/client_int.h"
#include "wire/url.h"

#define WARNINGS_MAX 1000

void kube_log(const struct kube *k, int level, const char *fmt, ...)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_ANSWER);
	va_list ap;

	if (level > k->opts.verbosity || !k->opts.on_log)
		return;
	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	k->opts.on_log(k->opts.log_arg, level, buf_text(&line));
}

static void pass_warning(struct kube *k, const char *text)
{
	struct err ignored = ERR_INIT;

	/* A server with endless different warnings does not make us keep them all. */
	if (strs_has(&k->warnings, text) || k->warnings.n >= WARNINGS_MAX)
		return;
	if (strs_add(&k->warnings, text, &ignored) < 0)
		return;
	if (k->opts.on_warning)
		k->opts.on_warning(k->opts.warning_arg, text);
}

/* `299 agent "text" ["date"], 299 - "text"`: each text with code 299. */
void kube_read_warnings(struct kube *k, const char *s)
{
	while (*s) {
		AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
		bool shown;

		s += strspn(s, " \t,");
		shown = str_starts(s, "299 ");
		s = strchr(s, '"');
		if (!s)
			return;
		for (s++; *s && *s != '"'; s++) {
			if (*s == '\\' && s[1])
				s++;
			buf_char(&text, *s);
		}
		if (!*s)
			return;
		s++;
		if (shown && text.len)
			pass_warning(k, buf_text(&text));
		if (str_starts(s, " \"")) { /* the date */
			s = strchr(s + 2, '"');
			if (!s)
				return;
			s++;
		}
	}
}

static bool is_loopback(const char *host)
{
	return str_eq(host, "localhost") || str_starts(host, "127.") || str_eq(host, "::1");
}

/* tls-server-name: curl is given that name, and told where it really is. */
static int set_server_name(struct kube *k, const struct url *u, struct buf *base, struct err *err)
{
	const char *name = k->config->tls_server_name;
	const char *port = u->port[0] ? u->port : "443";
	bool v6 = strchr(u->host, ':');
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	buf_printf(base, "%s://%s:%s%s", u->scheme, name, port, u->path);
	buf_printf(&text, "%s:%s:%s%s%s:%s", name, port, v6 ? "[" : "", u->host, v6 ? "]" : "",
		   port);
	if (buf_check(&text, err) < 0)
		return -1;
	k->connect_to = curl_slist_append(NULL, buf_text(&text));
	if (!k->connect_to)
		return err_nomem(err);
	buf_clear(&text);
	buf_printf(&text, "Host: %s", k->host);
	return buf_finish(&text, &k->host_header, err);
}

static int set_base(struct kube *k, struct err *err)
{
	AUTO(url) struct url u = { 0 };
	AUTO(buf) struct buf base = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf host = BUF_INIT(LIMIT_TEXT);
	const char *name = k->config->tls_server_name;
	bool v6;

	if (url_split(k->config->server, &u, err) < 0) {
		if (err && err->fail == FAIL_INPUT)
			err->fail = FAIL_CONFIG;
		return err_wrap(err, "server \"%s\"", k->config->server);
	}
	v6 = strchr(u.host, ':');
	k->https = str_eq(u.scheme, "https");
	k->loopback = is_loopback(u.host);
	buf_printf(&host, "%s%s%s%s%s", v6 ? "[" : "", u.host, v6 ? "]" : "", u.port[0] ? ":" : "",
		   u.port);
	if (buf_finish(&host, &k->host, err) < 0)
		return -1;
	if (k->https && name) {
		if (set_server_name(k, &u, &base, err) < 0)
			return -1;
	} else {
		buf_printf(&base, "%s://%s%s", u.scheme, k->host, u.path);
	}
	(void)snprintf(k->tls.host, sizeof(k->tls.host), "%s", k->https && name ? name : u.host);
	while (base.len > 0 && base.data[base.len - 1] == '/')
		buf_cut(&base, base.len - 1);
	return buf_finish(&base, &k->base, err);
}

static int fill(struct kube *k, const struct kube_opts *opts, struct err *err)
{
	const struct kube_config *c = k->config;

	k->opts = *opts;
	if (str_copy(opts->user_agent ? opts->user_agent : "kubectl-etjob", &k->user_agent, err) <
		    0 ||
	    str_copy(opts->field_manager ? opts->field_manager : "kubectl-etjob", &k->field_manager,
		     err) < 0)
		return -1;
	k->opts.user_agent = k->user_agent;
	k->opts.field_manager = k->field_manager;
	if (!c->server)
		return err_set(err, FAIL_CONFIG, "no server is configured");
	if (set_base(k, err) < 0)
		return -1;
	if (!k->https)
		return 0;
	if (c->ca_pem.len && tls_check_ca(&c->ca_pem, err) < 0)
		return -1;
	if (c->cert_pem.len && tls_check_pair(&c->cert_pem, &c->key_pem, err) < 0)
		return -1;
	return 0;
}

int kube_new(struct loop *loop, const struct kube_config *config, const struct kube_opts *opts,
	     struct kube **out, struct err *err)
{
	struct kube *k = calloc(1, sizeof(*k));

	if (!k)
		return err_nomem(err);
	k->loop = loop;
	k->config = config;
	auth_init(&k->auth, config, loop_clock(loop));
	if (fill(k, opts, err) < 0) {
		kube_free(k);
		return -1;
	}
	*out = k;
	return 0;
}

void kube_free(struct kube *k)
{
	if (!k)
		return;
	while (k->calls)
		kube_call_free(k->calls);
	curl_slist_free_all(k->connect_to);
	auth_release(&k->auth);
	strs_release(&k->warnings);
	free(k->host_header);
	free(k->base);
	free(k->host);
	free(k->user_agent);
	free(k->field_manager);
	free(k);
}

struct loop *kube_loop(struct kube *k)
{
	return k->loop;
}

const struct kube_config *kube_config_of(const struct kube *k)
{
	return k->config;
}

uint64_t kube_requests(const struct kube *k)
{
	return k->requests;
}

bool kube_is(const struct err *err, int http)
{
	return err->fail == FAIL_HTTP && err->http == http;
}

void kube_resp_release(struct kube_resp *r)
{
	cJSON_Delete(r->json);
	r->json = NULL;
	r->reason = "";
	buf_release(&r->body);
}

/* --- synchronous ---------------------------------------------------------- */

struct sync {
	bool done;
	struct kube_resp *resp;
	struct err *err;
	bool failed;
};

static void on_sync_done(void *arg, struct kube_resp *resp, const struct err *err)
{
	struct sync *s = arg;

	s->done = true;
	s->failed = err->fail != FAIL_NONE;
	if (s->failed && s->err)
		*s->err = *err;
	*s->resp = *resp;
	/* The contents moved: the engine must not free them. */
	resp->json = NULL;
	resp->body = BUF_INIT(resp->body.cap);
}

int kube_do(struct kube *k, const struct kube_req *req, struct kube_resp *resp, struct err *err)
{
	struct kube_req r = *req;
	struct sync s = { .resp = resp, .err = err };
	struct kube_call *call = NULL;
	bool was_stopping = loop_stopping(k->loop);

	*resp = (struct kube_resp){ .reason = "", .retry_after_ms = -1 };
	r.on_done = on_sync_done;
	r.arg = &s;
	if (req->on_data)
		return err_set(err, FAIL_USAGE, "a stream has no synchronous form");
	if (kube_start(k, &r, &call, err) < 0)
		return -1;
	while (!s.done) {
		if (loop_once(k->loop, 60000, err) < 0) {
			if (!s.done)
				kube_cancel(k, call);
			return -1;
		}
		if (!s.done && !was_stopping && loop_stopping(k->loop)) {
			kube_cancel(k, call);
			return err_set(err, FAIL_CANCELED, "interrupted");
		}
	}
	return s.failed ? -1 : 0;
}
