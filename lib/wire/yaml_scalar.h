/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_scalar: what a YAML 1.1 scalar means, by the rules of the reader in kubectl. */
#ifndef WIRE_YAML_SCALAR_H
#define WIRE_YAML_SCALAR_H
#include "base/err.h"

enum yaml_type {
	YAML_STR,
	YAML_NULL,
	YAML_BOOL,
	YAML_INT,   /* in int64 */
	YAML_UINT,  /* above int64, in uint64 */
	YAML_FLOAT, /* also infinities and NaN */
	YAML_TIME,  /* stays text */
	YAML_MERGE, /* "<<" */
};

struct yaml_scalar {
	enum yaml_type type;
	bool truth;       /* YAML_BOOL */
	int64_t integer;  /* YAML_INT */
	uint64_t natural; /* YAML_UINT */
	double number;    /* YAML_FLOAT; of an INT or UINT the same value */
};

/* What a plain scalar without a tag is. */
struct yaml_scalar yaml_resolve(const char *text, size_t n);
/* True for text like 1:30, which older readers take for a number. */
bool yaml_is_base60(const char *text);
#endif
