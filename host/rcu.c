/* SPDX-License-Identifier: MIT */
#include "host/rcu.h"

#include "host/atomic.h"
#include "host/lockrank.h"
#include "host/sched.h"

/* Under a controller, grace periods are its own. */
#ifdef PINFOLD_SCHED
#define SCHEDULED	(sched_ops != NULL)
#define SCHED(call)	sched_ops->call
#define CALLER		__builtin_return_address(0)
#else
#define SCHEDULED	false
#define SCHED(call)	((void)0)
#endif

/* Callbacks queued, and how many of them a barrier is known to have seen run. */
static u32 callbacks, awaited;

#if TSAN_BUILD
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
static char grace_period;

/* What liburcu does inside, ThreadSanitizer sees only half of. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:liburcu-bp.so\n";
}
#define TSAN_ACQUIRE()	__tsan_acquire(&grace_period)
#define TSAN_RELEASE()	__tsan_release(&grace_period)
#else
#define TSAN_ACQUIRE()	((void)0)
#define TSAN_RELEASE()	((void)0)
#endif

#if !RCU_INLINE
static __thread int read_depth;

void rcu_read_lock(void)
{
	if (SCHEDULED) {
		SCHED(rcu_read_lock(CALLER));
		return;
	}
	urcu_bp_read_lock();
	read_depth++;
}

void rcu_read_unlock(void)
{
	if (SCHEDULED) {
		SCHED(rcu_read_unlock(CALLER));
		return;
	}
	VM_BUG_ON(read_depth <= 0);
	read_depth--;
	TSAN_RELEASE();
	urcu_bp_read_unlock();
}

static bool rcu_may_wait(void)
{
	return !read_depth && !lockrank_held(RANK_PTL) &&
	       !lockrank_held(RANK_XA) && !lockrank_held(RANK_LRU) && !lockrank_held(RANK_ZONE);
}
#else
static bool rcu_may_wait(void)
{
	return true;
}
#endif

void synchronize_rcu(void)
{
	if (SCHEDULED) {
		SCHED(synchronize_rcu(CALLER));
		return;
	}
	VM_BUG_ON(!rcu_may_wait());
	urcu_bp_synchronize_rcu();
	TSAN_ACQUIRE();
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	if (SCHEDULED) {
		SCHED(call_rcu(head, func, CALLER));
		return;
	}
	TSAN_RELEASE();
	urcu_bp_call_rcu(head, func);
	/* After queueing: a barrier that counts it also waits for it. */
	word_add(&callbacks, 1);
}

void rcu_callback_begin(void)
{
	TSAN_ACQUIRE();
}

void rcu_callback_end(void)
{
	TSAN_RELEASE();
}

void rcu_barrier(void)
{
	u32 nr = smp_load_acquire(&callbacks);

	if (SCHEDULED) {
		SCHED(rcu_barrier(CALLER));
		return;
	}
	VM_BUG_ON(!rcu_may_wait());
	/* liburcu's barrier takes 10 ms even with nothing to wait for. */
	if (smp_load_acquire(&awaited) != nr) {
		urcu_bp_barrier();
		smp_store_release(&awaited, nr);
	}
	TSAN_ACQUIRE();
}
