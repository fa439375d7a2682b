/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim: what the informers keep of an object. At 10,000 pods the copies are
 * nearly all of the controller's memory, so only what plan reads stays.
 */
#ifndef CONTROLLER_TRIM_H
#define CONTROLLER_TRIM_H
#include "controller/observe.h"

/* For struct informer_opts: cuts in place, and adds the kind that items of a list lack. */
typedef void (*trim_fn)(cJSON *obj);
trim_fn trim_for(enum seen kind);
#endif
