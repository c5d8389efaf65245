/* SPDX-License-Identifier: MIT */
/*
 * What memory is to the engine.
 */
#ifndef LAB_EXPLORE_OBJECT_H
#define LAB_EXPLORE_OBJECT_H

#include "host/types.h"

struct machine;

/* object_watch() - the machine whose memory is to be named */
void object_watch(const struct machine *machine);

/* object_describe() - what lies at @addr, in @text */
void object_describe(const void *addr, char *text, size_t room);

#endif
