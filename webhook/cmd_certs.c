/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/cmd_certs.h"

#include "base/clock.h"
#include "base/file.h"
#include "certs/issue.h"
#include "certs/renew.h"

static int write_one(const char *dir, const char *name, const struct buf *text, unsigned mode,
		     struct buf *out, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(4096);

	buf_printf(&path, "%s/%s", dir, name);
	if (buf_check(&path, err) < 0 ||
	    file_write(buf_text(&path), buf_text(text), text->len, mode, err) < 0)
		return -1;
	buf_printf(out, "%s\n", buf_text(&path));
	return 0;
}

int cmd_certs(const struct certs_options *o, struct buf *out, struct err *err)
{
	AUTO(renew_state) struct renew_state s = RENEW_STATE_INIT;
	int64_t now_s = clock_wall_ms(clock_system()) / 1000;

	if (!o->out || !o->dns.n)
		return err_set(err, FAIL_USAGE, "--out and at least one --dns are required");
	if (o->cert_life_s < 60 || o->ca_life_s < 60)
		return err_set(err, FAIL_USAGE, "--cert-life and --ca-life must be at least 60s");
	if (issue_ca(now_s, o->ca_life_s, &s.ca, &s.ca_key, err) < 0 ||
	    issue_server(&o->dns, now_s, o->cert_life_s, &s.ca, &s.ca_key, &s.cert, &s.key, err) <
		    0)
		return -1;
	if (file_mkdirs(o->out, err) < 0 ||
	    write_one(o->out, "ca.crt", &s.ca, 0644, out, err) < 0 ||
	    write_one(o->out, "ca.key", &s.ca_key, 0600, out, err) < 0 ||
	    write_one(o->out, "tls.crt", &s.cert, 0644, out, err) < 0 ||
	    write_one(o->out, "tls.key", &s.key, 0600, out, err) < 0)
		return -1;
	return 0;
}
