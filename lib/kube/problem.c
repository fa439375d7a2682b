/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/problem.h"

#include <curl/curl.h>
#include <errno.h>

#include "base/limits.h"

/* What a client says of an answer that is no Status object. */
static const struct generic {
	int http;
	const char *reason;
	const char *text;
} generics[] = {
	{ 400, "BadRequest", "the server rejected our request for an unknown reason" },
	{ 401, "Unauthorized", "the server has asked for the client to provide credentials" },
	{ 403, "Forbidden", "the server does not allow access to the requested resource" },
	{ 404, "NotFound", "the server could not find the requested resource" },
	{ 405, "MethodNotAllowed",
	  "the server does not allow this method on the requested resource" },
	{ 406, "NotAcceptable",
	  "the server was unable to respond with a content type that the "
	  "client supports" },
	{ 409, "Conflict", "the server reported a conflict" },
	{ 410, "Expired", "the requested version of the resource is too old" },
	{ 413, "RequestEntityTooLarge", "the request entity is too large" },
	{ 415, "UnsupportedMediaType", "the body of the request was in an unknown format" },
	{ 422, "Invalid", "the server rejected our request due to an error in our request" },
	{ 429, "TooManyRequests",
	  "the server has received too many requests and has asked us to "
	  "try again later" },
	{ 503, "ServiceUnavailable", "the server is currently unable to handle the request" },
	{ 504, "Timeout",
	  "the server was unable to return a response in the time allotted, but "
	  "may still be processing the request" },
};

static int set_http(struct err *err, int http, const char *reason, const char *text)
{
	if (str_eq(reason, "Unauthorized"))
		err_set(err, FAIL_HTTP, "error: You must be logged in to the server (%s)", text);
	else if (reason[0])
		err_set(err, FAIL_HTTP, "Error from server (%s): %s", reason, text);
	else
		err_set(err, FAIL_HTTP, "Error from server: %s", text);
	if (err)
		err->http = http;
	return -1;
}

static int without_status(struct err *err, int http, const char *body, size_t n)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	for (size_t i = 0; i < ARRAY_LEN(generics); i++)
		if (generics[i].http == http)
			return set_http(err, http, generics[i].reason, generics[i].text);
	while (n > 0 && (body[n - 1] == '\n' || body[n - 1] == '\r' || body[n - 1] == ' '))
		n--;
	if (http >= 500) {
		/* A server's page may be long: its first words tell which server spoke. */
		buf_printf(&text,
			   "an error on the server (\"%.*s\") has prevented the request "
			   "from succeeding",
			   n ? (int)(n < 512 ? n : 512) : 7, n ? body : "unknown");
		return set_http(err, http, "InternalError", buf_text(&text));
	}
	buf_printf(&text, "the server answered with HTTP status %d", http);
	return set_http(err, http, "", buf_text(&text));
}

/*
 * The causes, one a line after the first when there are several: this is the one
 * message that has newlines, because kubectl prints it so.
 */
static int invalid(struct err *err, int http, const cJSON *status)
{
	const cJSON *details = json_get(status, "details");
	const cJSON *causes = json_get(details, "causes");
	const char *kind = json_get_str(details, "kind", "");
	const char *name = json_get_str(details, "name", "");
	const char *message = json_get_str(status, "message", "");
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	size_t n = json_len(causes), used;
	const cJSON *cause;

	if (kind[0] && name[0])
		buf_printf(&text, "The %s \"%s\" is invalid", kind, name);
	else if (kind[0] || name[0])
		buf_printf(&text, "The %s is invalid", kind[0] ? kind : name);
	else
		buf_str(&text, "The request is invalid");
	if (n == 1) {
		cause = json_index(causes, 0);
		buf_printf(&text, ": %s: %s", json_get_str(cause, "field", ""),
			   json_get_str(cause, "message", ""));
	} else if (n == 0 && message[0]) {
		buf_printf(&text, ": %s", message);
	} else if (n > 1) {
		buf_str(&text, ": ");
	}
	err_set(err, FAIL_HTTP, "%s", buf_text(&text));
	if (!err)
		return -1;
	err->http = http;
	if (n < 2)
		return -1;
	used = strlen(err->msg);
	json_each (cause, causes) {
		AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);
		AUTO(buf) struct buf shown = BUF_INIT(LIMIT_TEXT);

		buf_printf(&line, "* %s: %s", json_get_str(cause, "field", ""),
			   json_get_str(cause, "message", ""));
		buf_visible(&shown, buf_text(&line), line.len);
		if (used + shown.len + 2 > sizeof(err->msg))
			break;
		err->msg[used++] = '\n';
		memcpy(err->msg + used, buf_text(&shown), shown.len + 1);
		used += shown.len;
	}
	return -1;
}

int problem_http(struct err *err, int http, const cJSON *status, const char *body, size_t n)
{
	const char *reason = json_get_str(status, "reason", "");
	const char *message = json_get_str(status, "message", "");

	if (!str_eq(json_get_str(status, "kind", ""), "Status"))
		return without_status(err, http, body, n);
	if (str_eq(reason, "Invalid"))
		return invalid(err, http, status);
	if (!message[0])
		return without_status(err, http, "", 0);
	return set_http(err, http, reason, message);
}

static const char *net_text(int code, int os)
{
	switch (code) {
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return "EOF";
	case CURLE_SEND_FAIL_REWIND: /* it would have been sent again */
		return "read: connection reset by peer";
	case CURLE_OPERATION_TIMEDOUT:
		return "net/http: request canceled (Client.Timeout exceeded while awaiting "
		       "headers)";
	case CURLE_OUT_OF_MEMORY:
		return "out of memory";
	case CURLE_TOO_MANY_REDIRECTS:
		return "stopped after too many redirects";
	default:
		break;
	}
	if (code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR && code != CURLE_SSL_CONNECT_ERROR)
		return NULL;
	if (os == ECONNRESET)
		return "read: connection reset by peer";
	return os ? err_os_text(os) : NULL;
}

int problem_net(struct err *err, int curl_code, int os_errno, const char *host, const char *detail)
{
	const char *text = net_text(curl_code, os_errno);

	if (curl_code == CURLE_COULDNT_CONNECT && os_errno == ECONNREFUSED)
		return err_set(err, FAIL_NET,
			       "The connection to the server %s was refused - did you specify the "
			       "right host or port?",
			       host);
	if (curl_code == CURLE_COULDNT_RESOLVE_HOST) {
		const char *colon = strrchr(host, ':');
		size_t n = colon && !strchr(colon, ']') ? (size_t)(colon - host) : strlen(host);

		return err_set(err, FAIL_NET,
			       "Unable to connect to the server: dial tcp: lookup %.*s: no such "
			       "host",
			       (int)n, host);
	}
	if (curl_code == CURLE_COULDNT_CONNECT && os_errno)
		return err_set(err, FAIL_NET, "Unable to connect to the server: dial tcp %s: %s",
			       host, os_errno == ETIMEDOUT ? "i/o timeout" : err_os_text(os_errno));
	if (!text)
		text = detail && detail[0] ? detail : curl_easy_strerror((CURLcode)curl_code);
	return err_set(err, FAIL_NET, "Unable to connect to the server: %s", text);
}
