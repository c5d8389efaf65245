/* SPDX-License-Identifier: MIT */
/*
 * The controller's side of the scheduled back-end (host/sched.h).
 */
#ifndef LAB_EXPLORE_SCHED_H
#define LAB_EXPLORE_SCHED_H

#include "host/sched.h"
#include "lab/explore/run.h"

/* sched_ops_install() - @bug is told of failed assertions */
void sched_ops_install(void (*bug)(const char *what));

/* run_block() - the running task waits; returns when it may look again */
void run_block(enum task_state state, const u32 *word);

#endif
