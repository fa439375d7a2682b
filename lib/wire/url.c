/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/url.h"

#include "base/num.h"
#include "base/strs.h"

static bool unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

void url_encode(struct buf *out, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (unreserved(*text))
			buf_char(out, *text);
		else
			buf_add(out, (const char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
	}
}

int url_segment(struct buf *url, const char *text, struct err *err)
{
	if (!*text)
		return err_set(err, FAIL_INPUT, "a name may not be empty");
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return err_set(err, FAIL_INPUT, "invalid name \"%s\": may not be '%s'", text, text);
	if (strpbrk(text, "/%"))
		return err_set(err, FAIL_INPUT, "invalid name \"%s\": may not contain '%c'", text,
			       *strpbrk(text, "/%"));
	buf_char(url, '/');
	url_encode(url, text);
	return buf_check(url, err);
}

void url_query(struct buf *url, const char *key, const char *value)
{
	buf_char(url, strchr(buf_text(url), '?') ? '&' : '?');
	url_encode(url, key);
	buf_char(url, '=');
	url_encode(url, value);
}

void url_release(struct url *u)
{
	free(u->scheme);
	free(u->host);
	free(u->port);
	free(u->path);
	*u = (struct url){ 0 };
}

static int bad(const char *text, const char *why, struct err *err)
{
	return err_set(err, FAIL_INPUT, "\"%s\" is not a URL: %s", text, why);
}

static int copy(const char *from, size_t n, char **to, struct err *err)
{
	*to = strndup(from, n);
	return *to ? 0 : err_nomem(err);
}

/* host[:port] or [host]:port, n bytes. */
static int split_authority(const char *text, const char *s, size_t n, struct url *u,
			   struct err *err)
{
	const char *host = s;
	const char *host_end;
	const char *end = s + n;
	int64_t port;

	if (memchr(s, '@', n))
		return bad(text, "no user name or password belongs there", err);
	if (n && *s == '[') {
		host++;
		host_end = memchr(s, ']', n);
		if (!host_end)
			return bad(text, "missing ']' in host", err);
		s = host_end + 1;
	} else {
		host_end = memchr(s, ':', n);
		s = host_end = host_end ? host_end : end;
	}
	if (host == host_end)
		return bad(text, "no host", err);
	for (const char *c = host; c < host_end; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("\"<>\\^`{|}", *c))
			return bad(text, "a character that no host has", err);
	if (s < end && (*s != ':' || (s + 1 < end && num_parse(s + 1, (size_t)(end - s) - 1, 1,
							       65535, &port, NULL) < 0)))
		return bad(text, "the port is not a number from 1 to 65535", err);
	s += s < end;
	if (copy(host, (size_t)(host_end - host), &u->host, err) < 0 ||
	    copy(s, (size_t)(end - s), &u->port, err) < 0)
		return -1;
	return 0;
}

int url_split(const char *text, struct url *out, struct err *err)
{
	AUTO(url) struct url u = { 0 };
	const char *s;
	size_t n;

	if (strncasecmp(text, "https://", 8) == 0)
		s = text + 8;
	else if (strncasecmp(text, "http://", 7) == 0)
		s = text + 7;
	else
		return bad(text, "it must start with https:// or http://", err);
	if (strpbrk(s, "?#"))
		return bad(text, "no query or fragment belongs there", err);
	n = strcspn(s, "/");
	if (str_copy(s - text == 8 ? "https" : "http", &u.scheme, err) < 0 ||
	    split_authority(text, s, n, &u, err) < 0 || str_copy(s + n, &u.path, err) < 0)
		return -1;
	*out = u;
	u = (struct url){ 0 };
	return 0;
}
