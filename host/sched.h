/* SPDX-License-Identifier: MIT */
/*
 * What a controller of the scheduled back-end provides (PINFOLD_SCHED).
 *
 * While sched_ops is set, everything that can block, everything that ends a
 * grace period and every frame that is freed passes through it, and it alone
 * decides who runs.  While it is NULL, threads are the host's.
 */
#ifndef HOST_SCHED_H
#define HOST_SCHED_H

#include "host/types.h"

struct rcu_head;
struct waiter;

struct sched_ops {
	/* @pc: who called the back-end */
	bool (*spin_trylock)(u32 *word, void *pc);
	void (*spin_lock)(u32 *word, void *pc);
	void (*spin_unlock)(u32 *word, void *pc);
	void (*wait)(u32 *word, u32 value, void *pc);
	void (*wake_all)(u32 *word);
	void (*relax)(void *pc);
	void (*might_sleep)(void *pc);
	struct waiter *(*waiter)(void);

	void (*rcu_read_lock)(void *pc);
	void (*rcu_read_unlock)(void *pc);
	void (*synchronize_rcu)(void *pc);
	void (*call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *),
			 void *pc);
	void (*rcu_barrier)(void *pc);

	/* [addr, addr + bytes) may not be touched; may be touched again */
	void (*poison)(const void *addr, size_t bytes);
	void (*unpoison)(const void *addr, size_t bytes);

	/* an assertion failed; does not return */
	void (*bug)(const char *what);
};

#ifdef PINFOLD_SCHED
extern const struct sched_ops *sched_ops;
#endif

#endif
