/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth.h"

#include <errno.h>

#include "base/file.h"
#include "base/limits.h"
#include "wire/base64.h"

#define FILE_FRESH_MS 60000 /* a token file is read again after this */

void auth_init(struct auth *a, const struct kube_config *config, const struct clock *clock)
{
	*a = (struct auth){ .config = config, .clock = clock, .file_read_ms = -1 };
	a->file_token = BUF_INIT(LIMIT_OBJECT);
	a->cred = EXEC_CRED_INIT;
}

void auth_release(struct auth *a)
{
	buf_wipe(&a->file_token);
	exec_cred_release(&a->cred);
	a->have_cred = false;
}

/* Keeps the old token when the file can not be read just now. */
static int read_token_file(struct auth *a, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_OBJECT);
	struct err failed = ERR_INIT;
	size_t start = 0;

	a->file_read_ms = clock_mono_ms(a->clock);
	if (file_read(a->config->token_file, &text, &failed) < 0) {
		if (a->file_token.len || a->config->token)
			return 0;
		if (failed.fail == FAIL_OS)
			return err_set(err, FAIL_CONFIG, "open %s: %s", a->config->token_file,
				       err_os_text(failed.os));
		return err_set(err, FAIL_CONFIG, "%s", failed.msg);
	}
	while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]))
		buf_cut(&text, text.len - 1);
	while (start < text.len && strchr(" \t\r\n", text.data[start]))
		start++;
	if (start < text.len) {
		buf_wipe(&a->file_token);
		buf_add(&a->file_token, text.data + start, text.len - start);
	}
	buf_wipe(&text);
	return buf_check(&a->file_token, err);
}

static int run_exec(struct auth *a, struct err *err)
{
	struct exec_cred fresh = EXEC_CRED_INIT;

	if (exec_run(a->config, &fresh, err) < 0)
		return -1;
	exec_cred_release(&a->cred);
	a->cred = fresh;
	a->have_cred = true;
	return 0;
}

int auth_prepare(struct auth *a, struct err *err)
{
	const struct kube_config *c = a->config;

	if (c->exec) {
		if (a->have_cred && clock_wall_ms(a->clock) < a->cred.expires_ms)
			return 0;
		return run_exec(a, err);
	}
	if (c->token_file &&
	    (a->file_read_ms < 0 || clock_mono_ms(a->clock) - a->file_read_ms >= FILE_FRESH_MS))
		return read_token_file(a, err);
	return 0;
}

int auth_renew(struct auth *a, struct err *err)
{
	AUTO(buf) struct buf old = BUF_INIT(LIMIT_OBJECT);
	int changed;

	if (a->config->exec)
		return run_exec(a, err) < 0 ? -1 : 1;
	if (!a->config->token_file)
		return 0;
	buf_add(&old, a->file_token.data, a->file_token.len);
	if (read_token_file(a, err) < 0) {
		buf_wipe(&old);
		return -1;
	}
	changed = strcmp(buf_text(&old), buf_text(&a->file_token)) != 0;
	buf_wipe(&old);
	return changed;
}

int auth_header(const struct auth *a, struct buf *out, struct err *err)
{
	const struct kube_config *c = a->config;
	AUTO(buf) struct buf pair = BUF_INIT(LIMIT_TEXT);

	if (c->exec && a->cred.token.len) {
		buf_printf(out, "Bearer %s", buf_text(&a->cred.token));
	} else if (c->token_file && a->file_token.len) {
		buf_printf(out, "Bearer %s", buf_text(&a->file_token));
	} else if (c->token) {
		buf_printf(out, "Bearer %s", c->token);
	} else if (c->username || c->password) {
		buf_printf(&pair, "%s:%s", c->username ? c->username : "",
			   c->password ? c->password : "");
		if (buf_check(&pair, err) < 0)
			return -1;
		buf_str(out, "Basic ");
		base64_encode(out, pair.data, pair.len);
		buf_wipe(&pair);
	}
	return buf_check(out, err);
}

const struct buf *auth_cert(const struct auth *a)
{
	return a->config->exec && a->cred.cert_pem.len ? &a->cred.cert_pem : &a->config->cert_pem;
}

const struct buf *auth_key(const struct auth *a)
{
	return a->config->exec && a->cred.cert_pem.len ? &a->cred.key_pem : &a->config->key_pem;
}
