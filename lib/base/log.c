/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/buf.h"
#include "base/limits.h"

static const char *const level_words[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

bool log_level_parse(const char *word, enum log_level *out)
{
	for (size_t i = 0; i < ARRAY_LEN(level_words); i++) {
		if (strcmp(word, level_words[i]) == 0) {
			*out = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool log_format_parse(const char *word, enum log_format *out)
{
	if (strcmp(word, "text") != 0 && strcmp(word, "json") != 0)
		return false;
	*out = word[0] == 't' ? LOG_TEXT : LOG_JSON;
	return true;
}

/* RFC 3339 with milliseconds. */
static void add_time(struct buf *b, int64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm = { 0 };
	char text[32];

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		text[0] = '\0';
	buf_printf(b, "%s.%03dZ", text, (int)(unix_ms % 1000));
}

/* logfmt: a value is quoted when it is not one plain word. */
static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f || strchr("\"=\\", *s))
			return false;
	return true;
}

static void add_pair(struct buf *b, enum log_format format, const char *key, const char *value)
{
	if (b->len > 1) /* after the opening brace, or at the start of a text line */
		buf_char(b, format == LOG_JSON ? ',' : ' ');
	if (format == LOG_JSON) {
		buf_json(b, key, strlen(key));
		buf_char(b, ':');
		buf_json(b, value, strlen(value));
		return;
	}
	buf_printf(b, "%s=", key);
	if (is_plain(value))
		buf_str(b, value);
	else
		buf_json(b, value, strlen(value));
}

void log_event(const struct log *log, enum log_level level, const char *msg, ...)
{
	AUTO(buf) struct buf line = BUF_INIT(LIMIT_TEXT);
	AUTO(buf) struct buf when = BUF_INIT(64);
	const char *key;
	va_list ap;

	if (level < log->level)
		return;
	if (log->format == LOG_JSON)
		buf_char(&line, '{');
	add_time(&when, clock_wall_ms(log->clock));
	add_pair(&line, log->format, "time", buf_text(&when));
	add_pair(&line, log->format, "level", level_words[level]);
	add_pair(&line, log->format, "msg", msg);
	va_start(ap, msg);
	while ((key = va_arg(ap, const char *))) {
		const char *value = va_arg(ap, const char *);

		if (value)
			add_pair(&line, log->format, key, value);
	}
	va_end(ap);
	buf_str(&line, log->format == LOG_JSON ? "}\n" : "\n");
	if (buf_check(&line, NULL) < 0) {
		static const char lost[] = "level=error msg=\"a log line was lost\"\n";

		(void)!write(log->fd, lost, sizeof(lost) - 1);
		return;
	}
	/* One write, so that lines of several threads do not mix; nobody to tell when it fails. */
	(void)!write(log->fd, line.data, line.len);
}
