/* SPDX-License-Identifier: Apache-2.0 */
#include <curl/curl.h>
#include <errno.h>

#include "kube/problem.h"
#include "unit.h"

static void assert_http(int http, const char *status, const char *body, const char *want)
{
	AUTO_JSON cJSON *json = status ? unit_json(status) : NULL;
	struct err err = ERR_INIT;

	assert_int_equal(problem_http(&err, http, json, body, strlen(body)), -1);
	assert_int_equal(err.fail, FAIL_HTTP);
	assert_int_equal(err.http, http);
	assert_string_equal(err.msg, want);
}

static void a_status_is_worded_as_kubectl_words_it(void **state)
{
	assert_http(404,
		    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"pods \\\"a\\\" not "
		    "found\"}",
		    "", "Error from server (NotFound): pods \"a\" not found");
	assert_http(500, "{\"kind\":\"Status\",\"message\":\"it broke\"}", "",
		    "Error from server: it broke");
	assert_http(
		401,
		"{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}",
		"", "error: You must be logged in to the server (Unauthorized)");
	assert_http(403,
		    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"a\\u001b[31m\"}",
		    "", "Error from server (Forbidden): a\\x1b[31m");
}

static void an_invalid_object_is_told_cause_by_cause(void **state)
{
	assert_http(422,
		    "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"m\",\"details\":"
		    "{\"kind\":\"TrainingJob\",\"name\":\"x\",\"causes\":[{\"field\":\"spec.a\","
		    "\"message\":\"Required value\"}]}}",
		    "", "The TrainingJob \"x\" is invalid: spec.a: Required value");
	assert_http(422,
		    "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"m\",\"details\":"
		    "{\"kind\":\"TrainingJob\",\"name\":\"x\",\"causes\":[{\"field\":\"a\","
		    "\"message\":\"bad\\n\"},{\"field\":\"b\",\"message\":\"worse\"}]}}",
		    "", "The TrainingJob \"x\" is invalid: \n* a: bad\\x0a\n* b: worse");
	assert_http(422, "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"m\"}", "",
		    "The request is invalid: m");
}

static void more_causes_than_fit_are_cut_at_a_line(void **state)
{
	AUTO(buf) struct buf text = BUF_INIT(65536);
	AUTO_JSON cJSON *status = NULL;
	struct err err = ERR_INIT;

	buf_str(&text, "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"details\":{\"causes\":[");
	for (int i = 0; i < 500; i++)
		buf_printf(&text, "%s{\"field\":\"spec.f%d\",\"message\":\"Required value\"}",
			   i ? "," : "", i);
	buf_str(&text, "]}}");
	status = unit_json(buf_text(&text));
	(void)problem_http(&err, 422, status, "", 0); /* always -1 */
	assert_true(strlen(err.msg) < sizeof(err.msg));
	assert_true(strlen(err.msg) > sizeof(err.msg) - 40);
	assert_string_equal(err.msg + strlen(err.msg) - 14, "Required value");
}

static void an_answer_without_a_status_gets_the_usual_words(void **state)
{
	assert_http(404, NULL, "404 page not found\n",
		    "Error from server (NotFound): the server could not find the requested "
		    "resource");
	assert_http(401, NULL, "",
		    "error: You must be logged in to the server (the server has asked for the "
		    "client to provide credentials)");
	assert_http(502, NULL, "<html>bad gateway</html>\n",
		    "Error from server (InternalError): an error on the server (\"<html>bad "
		    "gateway</html>\") has prevented the request from succeeding");
	assert_http(500, NULL, "",
		    "Error from server (InternalError): an error on the server (\"unknown\") has "
		    "prevented the request from succeeding");
	assert_http(302, NULL, "", "Error from server: the server answered with HTTP status 302");
	assert_http(503, "{\"kind\":\"Pod\",\"message\":\"no Status\"}", "{}",
		    "Error from server (ServiceUnavailable): the server is currently unable to "
		    "handle the request");
}

static void assert_net(int code, int os, const char *host, const char *detail, const char *want)
{
	struct err err = ERR_INIT;

	assert_int_equal(problem_net(&err, code, os, host, detail), -1);
	assert_int_equal(err.fail, FAIL_NET);
	assert_string_equal(err.msg, want);
}

static void a_failed_transfer_is_worded_as_kubectl_words_it(void **state)
{
	assert_net(CURLE_COULDNT_CONNECT, ECONNREFUSED, "localhost:8080", "x",
		   "The connection to the server localhost:8080 was refused - did you specify the "
		   "right host or port?");
	assert_net(CURLE_COULDNT_RESOLVE_HOST, 0, "no.such:6443", "x",
		   "Unable to connect to the server: dial tcp: lookup no.such: no such host");
	assert_net(CURLE_COULDNT_RESOLVE_HOST, 0, "no.such", "x",
		   "Unable to connect to the server: dial tcp: lookup no.such: no such host");
	assert_net(CURLE_GOT_NOTHING, 0, "h", "x", "Unable to connect to the server: EOF");
	assert_net(CURLE_RECV_ERROR, ECONNRESET, "h", "x",
		   "Unable to connect to the server: read: connection reset by peer");
	assert_net(CURLE_PEER_FAILED_VERIFICATION, 0, "h",
		   "tls: failed to verify certificate: x509: certificate signed by unknown "
		   "authority",
		   "Unable to connect to the server: tls: failed to verify certificate: x509: "
		   "certificate signed by unknown authority");
	assert_net(CURLE_SSL_CONNECT_ERROR, 0, "h", "",
		   "Unable to connect to the server: SSL connect error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(a_status_is_worded_as_kubectl_words_it),
		UNIT_CASE(an_invalid_object_is_told_cause_by_cause),
		UNIT_CASE(more_causes_than_fit_are_cut_at_a_line),
		UNIT_CASE(an_answer_without_a_status_gets_the_usual_words),
		UNIT_CASE(a_failed_transfer_is_worded_as_kubectl_words_it),
	};
	UNIT_MAIN(tests);
}
