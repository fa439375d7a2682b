/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: the CA bundle in the two webhook configurations: is it there, and put it there. */
#ifndef CERTS_BUNDLE_H
#define CERTS_BUNDLE_H
#include "base/log.h"
#include "kube/client.h"

/* Whether every webhook of a configuration has exactly this bundle (PEM). */
bool bundle_holds(const cJSON *config, const struct buf *ca);
/*
 * *published: both configurations of that name hold the bundle. One that does
 * not exist counts as holding it: nobody is called through it.
 */
MUST_USE int bundle_published(struct kube *k, const char *config, const struct buf *ca,
			      bool *published, struct err *err);
/* Patches the bundle into the webhooks of both that do not hold it. */
MUST_USE int bundle_publish(struct kube *k, const char *config, const struct buf *ca,
			    const struct log *log, struct err *err);
#endif
