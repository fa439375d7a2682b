/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: one structured line an event, for the servers (text as logfmt, or JSON).
 * Library code below the programs does not log; it returns err. Values are
 * escaped; a value is never an object's body or a secret. Each line is one
 * write(2), so lines of several threads do not mix; a struct log is read-only
 * after set-up and may be shared by threads.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include "base/clock.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

struct log {
	int fd; /* borrowed */
	enum log_level level;
	enum log_format format;
	const struct clock *clock;
};

/*
 * log_event(log, LOG_INFO, "job started", "job", "ns/a", "workers", "3", NULL):
 * pairs of key and value, both strings (a NULL value is left out), ended by a NULL key.
 */
void log_event(const struct log *log, enum log_level level, const char *msg, ...)
	__attribute__((sentinel));
/* "text" or "json", "debug".."error"; false when the word is another. */
bool log_format_parse(const char *word, enum log_format *out);
bool log_level_parse(const char *word, enum log_level *out);
#endif
