/* SPDX-License-Identifier: Apache-2.0 */
/* floats: doubles as text, laid out as Go lays them out in JSON and YAML. */
#ifndef WIRE_FLOATS_H
#define WIRE_FLOATS_H
#include "base/defs.h"

#define FLOAT_TEXT_SIZE 40

/* As encoding/json: the shortest text that reads back the same; e form below 1e-6 and from 1e21. */
void float_json(double d, char out[FLOAT_TEXT_SIZE]);
/*
 * As strconv's 'g' with the shortest precision: e form below 1e-4 and from 1e6,
 * two digits of exponent; `single` rounds to 32 bits first. Infinity is "+Inf".
 */
void float_g(double d, bool single, char out[FLOAT_TEXT_SIZE]);
#endif
