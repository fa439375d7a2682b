/* SPDX-License-Identifier: Apache-2.0 */
/* problem: what went wrong with a request, in kubectl's words. */
#ifndef KUBE_PROBLEM_H
#define KUBE_PROBLEM_H
#include "wire/json.h"

/*
 * Sets err (FAIL_HTTP, err->http) from an error answer; status is the Status object or
 * NULL, body the raw text then. Examples: `Error from server (NotFound): ...`,
 * `The TrainingJob "x" is invalid: ...`, `error: You must be logged in to the server
 * (Unauthorized)`. The text holds the whole line that a program prints: a program
 * that prints an err of FAIL_HTTP or FAIL_NET from here adds no prefix.
 * Returns -1.
 */
int problem_http(struct err *err, int http, const cJSON *status, const char *body, size_t n);
/*
 * From a failed transfer: curl's code, the server's host:port and curl's own text.
 * `The connection to the server H was refused - did you specify the right host or port?`,
 * `Unable to connect to the server: ...`. Returns -1.
 */
int problem_net(struct err *err, int curl_code, int os_errno, const char *host, const char *detail);
#endif
