/* SPDX-License-Identifier: Apache-2.0 */
/* jobs: documents for the tests of lib/etjob, and small changes to them. */
#ifndef JOBS_H
#define JOBS_H
#include "base/buf.h"
#include "wire/json.h"

/* A good TrainingJob "et" in "ml": 2 workers, 1 to 4, one GPU each. The caller owns it. */
cJSON *jobs_good(void);
/* The same, Running, with target and current workers et-worker-0 and -1, and uid "u1". */
cJSON *jobs_running(void);
/* Adds (or replaces) what is at pointer; text NULL removes it. Ends the test on failure. */
void jobs_set(cJSON **job, const char *pointer, const char *text);
/* The first fields of a path in short: "L" launcher template spec, "W" worker's. */
#define L "/spec/etReplicaSpecs/launcher/template/spec"
#define W "/spec/etReplicaSpecs/worker/template/spec"
#define WORKER "/spec/etReplicaSpecs/worker"
#define LAUNCHER "/spec/etReplicaSpecs/launcher"
/* Pseudo-random, seeded. */
uint64_t jobs_random(uint64_t *seed);
/* A random job that validates. */
cJSON *jobs_random_valid(uint64_t *seed);
#endif
