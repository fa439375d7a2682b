/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz: one harness a parser. With clang the harness is a libFuzzer program;
 * with any other compiler driver.c replays the corpus through it. A harness
 * checks what must hold for any bytes, beside not crashing.
 */
#ifndef FUZZ_H
#define FUZZ_H
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Ends the program, loudly: the input is a finding. */
#define FUZZ_CHECK(cond)                                                                        \
	do {                                                                                    \
		if (!(cond)) {                                                                  \
			(void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
				      #cond);                                                   \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* -1 if and only if err is set. */
#define FUZZ_RC(rc, err) FUZZ_CHECK(((rc) == -1) == ((err)->fail != FAIL_NONE))
#endif
