/* SPDX-License-Identifier: MIT */
/*
 * The seam between the engine and whatever runs its threads.
 *
 * Everything that can block goes through these few calls, and there are two
 * sets of them: backend_real.c (futexes and pthreads) and backend_sched.c
 * (PINFOLD_SCHED: every blocking point is known to one controller, which then
 * decides who runs).  Locks, wait queues and the folio lock are written on
 * top, once.
 */
#ifndef HOST_BACKEND_H
#define HOST_BACKEND_H

#include "host/atomic.h"
#include "host/types.h"

/* A spin lock word: 0 free, 1 taken. */
#ifndef PINFOLD_SCHED
void backend_spin_contended(u32 *word);

static inline bool backend_spin_trylock(u32 *word)
{
	return READ_ONCE(*word) == 0 && xchg_acquire(word, 1) == 0;
}

static inline void backend_spin_lock(u32 *word)
{
	if (unlikely(xchg_acquire(word, 1) != 0))
		backend_spin_contended(word);
}

static inline void backend_spin_unlock(u32 *word)
{
	smp_store_release(word, 0);
}
#else
bool backend_spin_trylock(u32 *word);
void backend_spin_lock(u32 *word);
void backend_spin_unlock(u32 *word);
void backend_relax(void);
void backend_might_sleep(void);
struct waiter *backend_waiter(void);
#endif

/*
 * backend_wait() - sleep while *@word is @value
 *
 * May return early for no reason.  The caller re-checks what it waits for.
 */
void backend_wait(u32 *word, u32 value);

/* backend_wake_all() - wake every sleeper on @word */
void backend_wake_all(u32 *word);

struct backend_thread;

/* backend_thread_create() - 0 or a negative errno */
int __must_check backend_thread_create(struct backend_thread **thread,
				       void (*fn)(void *), void *arg);
void backend_thread_join(struct backend_thread *thread);

#endif
