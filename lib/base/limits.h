/* SPDX-License-Identifier: Apache-2.0 */
/* limits: every cap of the project in one place. Bytes unless the name says otherwise. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIMIT_OBJECT (3u << 20)       /* one object, as the API server's request limit */
#define LIMIT_REVIEW (7u << 20)       /* an AdmissionReview: object and oldObject, and change */
#define LIMIT_ANSWER (64u << 20)      /* one answer of the API server (a page of a list) */
#define LIMIT_KUBECONFIG (16u << 20)  /* one kubeconfig file */
#define LIMIT_FILE (16u << 20)        /* one manifest file given by a user */
#define LIMIT_LINE (1u << 20)         /* one line of a log or of a watch stream of logs */
#define LIMIT_WATCH_EVENT (16u << 20) /* one line of a watch stream */
#define LIMIT_TEXT (64u << 10)        /* a message, a URL, a cell */
#define LIMIT_MESSAGE (32u << 10)     /* what an admission answer or a condition says */
#define LIMIT_JSON_DEPTH 512          /* levels of nesting */
#define LIMIT_YAML_NODES 1000000      /* nodes after aliases are followed */
#define LIMIT_YAML_DEPTH 512          /* levels of nesting */
#define LIMIT_ITEMS 1000000           /* entries of a map or list of ours */
#endif
