/* SPDX-License-Identifier: Apache-2.0 */
/* quantity: resource quantities of the Kubernetes API ("100m", "2Gi", "8"), exact in thousandths.
 */
#ifndef WIRE_QUANTITY_H
#define WIRE_QUANTITY_H
#include "wire/json.h"

/* Value in thousandths, rounded up; saturates at INT64_MAX. FAIL_INPUT when it is no quantity. */
MUST_USE int quantity_parse(const char *text, int64_t *milli, struct err *err);
/* From a JSON string or number; false when absent or no quantity. */
bool quantity_get(const cJSON *v, int64_t *milli);
#endif
