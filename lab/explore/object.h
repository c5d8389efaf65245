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

/* object_race() - the run's struct race, whose own lock nobody needs to see */
struct race;
void object_race(const struct race *race);
bool object_is_quiet(const void *addr);

/*
 * object_value() - a value that was stored, in @text: a number, or what it
 * points to, so that traces of two processes are alike
 */
void object_value(u64 value, char *text, size_t room);

/* object_describe() - what lies at @addr, in @text */
void object_describe(const void *addr, char *text, size_t room);

#endif
