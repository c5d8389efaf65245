/* SPDX-License-Identifier: MIT */
/*
 * The arena of objects, between heap.c and who runs schedules.
 */
#ifndef LAB_EXPLORE_HEAP_H
#define LAB_EXPLORE_HEAP_H

#include "host/types.h"

void heap_begin(void);
/* heap_setup_done() - objects from here on vanish with heap_undo() */
void heap_setup_done(void);
void heap_undo(void);
/* heap_object() - bytes of the object around @addr, or 0 */
size_t heap_object(const void *addr, size_t *offset);
/* heap_frame_was_free() - when the run began; -1: no watched frame */
int heap_frame_was_free(const void *addr);

#endif
