/* SPDX-License-Identifier: Apache-2.0 */
/* files: a certificate and key that somebody else keeps in files, read again when they change. */
#ifndef CERTS_FILES_H
#define CERTS_FILES_H
#include "base/buf.h"

struct files {
	const char *cert_path, *key_path; /* borrowed */
	struct buf cert, key;             /* as they were handed out last; key is wiped */
};
#define FILES_CHECK_MS 5000 /* between two looks: a mounted Secret changes by a rename */
#define FILES_INIT(cert_file, key_file)               \
	((struct files){ .cert_path = (cert_file),    \
			 .key_path = (key_file),      \
			 .cert = BUF_INIT(256 << 10), \
			 .key = BUF_INIT(256 << 10) })
void files_release(struct files *f);
/*
 * Reads both; when they differ from the last time, hands them to install. Only after it
 * took them do they count as seen, so a half-written pair is tried again.
 * Returns 1 when something new was installed, 0 when nothing changed, -1 on failure.
 */
MUST_USE int files_look(struct files *f,
			int (*install)(void *arg, const struct buf *cert, const struct buf *key,
				       struct err *err),
			void *arg, struct err *err);
#endif
