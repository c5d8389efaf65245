/* SPDX-License-Identifier: MIT */
/*
 * Read-copy update: liburcu's "bp" flavour, so that an embedder's threads need
 * no registration.
 *
 * Inline in release builds; out of line elsewhere, with the checks of the rule
 * below and with happens-before annotations under ThreadSanitizer, which
 * cannot follow liburcu's own barriers.
 *
 * Rule: no grace period is waited for inside a read section or under a spin
 * lock; debug builds abort.
 */
#ifndef HOST_RCU_H
#define HOST_RCU_H

#include "host/bug.h"

#if !DEBUG_BUILD && !TSAN_BUILD && !defined(PINFOLD_SCHED)
#define RCU_INLINE 1
#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE
#endif
#else
#define RCU_INLINE 0
#endif

#include <urcu/urcu-bp.h>

#undef rcu_read_lock
#undef rcu_read_unlock
#undef synchronize_rcu
#undef call_rcu
#undef rcu_barrier

#if RCU_INLINE
static inline void rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

static inline void rcu_read_unlock(void)
{
	urcu_bp_read_unlock();
}
#else
void rcu_read_lock(void);
void rcu_read_unlock(void);
#endif

/* synchronize_rcu() - wait until every read section now running has ended */
void synchronize_rcu(void);

/*
 * call_rcu() - run @func(@head) in another thread after a grace period
 *
 * @func begins with rcu_callback_begin() and ends with rcu_callback_end().
 */
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void rcu_callback_begin(void);
void rcu_callback_end(void);

/* rcu_barrier() - wait until every callback so far has run */
void rcu_barrier(void);

#endif
