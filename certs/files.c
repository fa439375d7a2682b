/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/files.h"

#include "base/file.h"

void files_release(struct files *f)
{
	buf_release(&f->cert);
	buf_wipe(&f->key);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(buf_text(a), buf_text(b), a->len) == 0;
}

static int look(struct files *f, struct buf *cert, struct buf *key,
		int (*install)(void *arg, const struct buf *cert, const struct buf *key,
			       struct err *err),
		void *arg, struct err *err)
{
	if (file_read(f->cert_path, cert, err) < 0 || file_read(f->key_path, key, err) < 0)
		return -1;
	if (same(cert, &f->cert) && same(key, &f->key))
		return 0;
	if (install(arg, cert, key, err) < 0)
		return err_wrap(err, "\"%s\" and \"%s\"", f->cert_path, f->key_path);
	files_release(f);
	f->cert = *cert;
	f->key = *key;
	*cert = BUF_INIT(0);
	*key = BUF_INIT(0);
	return 1;
}

int files_look(struct files *f,
	       int (*install)(void *arg, const struct buf *cert, const struct buf *key,
			      struct err *err),
	       void *arg, struct err *err)
{
	struct buf cert = BUF_INIT(256 << 10), key = BUF_INIT(256 << 10);
	int rc = look(f, &cert, &key, install, arg, err);

	buf_release(&cert);
	buf_wipe(&key);
	return rc;
}
