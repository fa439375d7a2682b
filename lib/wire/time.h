/* SPDX-License-Identifier: Apache-2.0 */
/* time: RFC 3339 times and Go durations, as the Kubernetes API writes them. */
#ifndef WIRE_TIME_H
#define WIRE_TIME_H
#include "base/buf.h"

/* "2026-01-02T03:04:05Z" (or with fraction and offset) to Unix milliseconds. FAIL_INPUT. */
MUST_USE int time_parse(const char *text, int64_t *unix_ms, struct err *err);
/* As above for API data: false when absent (NULL) or unreadable. */
bool time_get(const char *text, int64_t *unix_ms);
#define TIME_TEXT_SIZE 32
/* metav1.Time: seconds, UTC, "Z". */
void time_format(int64_t unix_ms, char out[TIME_TEXT_SIZE]);
/* metav1.MicroTime: "2026-01-02T03:04:05.000000Z". */
void time_format_micro(int64_t unix_ms, char out[TIME_TEXT_SIZE]);
/* "90", "90s", "10m", "1h30m", "1.5h", "500ms", "7d": seconds, rounded up; a bare number is
 * seconds. FAIL_INPUT. */
MUST_USE int duration_parse(const char *text, int64_t *seconds, struct err *err);
/* kubectl's ages: 5s, 2m30s, 45m, 3h10m, 5d3h, 2y40d (k8s.io/apimachinery duration.HumanDuration).
 */
void duration_human(int64_t seconds, char out[TIME_TEXT_SIZE]);
#endif
