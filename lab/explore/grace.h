/* SPDX-License-Identifier: MIT */
/*
 * RCU under the controller: read sections, grace periods, callbacks.
 *
 * A grace period ends when every read section that was open at its start has
 * ended.  Callbacks are run one after the other by a task of their own, at any
 * time that a schedule likes from then on.
 */
#ifndef LAB_EXPLORE_GRACE_H
#define LAB_EXPLORE_GRACE_H

#include "lab/explore/run.h"

struct rcu_head;

void grace_run_begin(void);
void grace_run_end(void);
/* grace_run_all() - while no threads run: run what is queued */
void grace_run_all(void);

void grace_read_lock(uintptr_t pc);
void grace_read_unlock(uintptr_t pc);
void grace_synchronize(uintptr_t pc);
void grace_call(struct rcu_head *head, void (*func)(struct rcu_head *),
		uintptr_t pc);
void grace_barrier(uintptr_t pc);

/* TASK_GRACE: is what it waits for over? */
bool grace_is_over(const struct task *t);
bool grace_callback_is_due(void);
void grace_run_callback(void);

#endif
