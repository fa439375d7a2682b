/* SPDX-License-Identifier: Apache-2.0 */
/* observe_int: what observe.c and world.c share. Nobody else includes it. */
#ifndef CONTROLLER_OBSERVE_INT_H
#define CONTROLLER_OBSERVE_INT_H
#include "controller/observe.h"

void observe_newer_free(struct newer *n);
void observe_taken_free(struct taken *t);
/* A string of an object's metadata; "" when absent. */
const char *observe_meta(const cJSON *obj, const char *key);
/* resourceVersion as a number; 0 when absent. */
int64_t observe_version(const cJSON *obj);
#endif
