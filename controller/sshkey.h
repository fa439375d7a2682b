/* SPDX-License-Identifier: Apache-2.0 */
/* sshkey: a key pair for a job's launcher and workers: ECDSA P-256, which old and FIPS images
 * accept too. */
#ifndef CONTROLLER_SSHKEY_H
#define CONTROLLER_SSHKEY_H
#include "base/buf.h"

/*
 * Appends the private key as PKCS#8 PEM, and the public key as a line for authorized_keys
 * ("ecdsa-sha2-nistp256 AAAA... etjob\n"). The caller wipes private_pem (buf_wipe).
 */
MUST_USE int sshkey_make(struct buf *private_pem, struct buf *public_line, struct err *err);
#endif
