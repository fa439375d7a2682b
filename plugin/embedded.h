/* SPDX-License-Identifier: Apache-2.0 */
/* embedded: what manifests/base installs, as text in the program (made by the Makefile). */
#ifndef PLUGIN_EMBEDDED_H
#define PLUGIN_EMBEDDED_H
#include <stddef.h>

extern const char embedded_install[];
extern const size_t embedded_install_bytes;
#endif
