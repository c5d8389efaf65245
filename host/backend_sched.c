/* SPDX-License-Identifier: MIT */
/*
 * The scheduled back-end: every blocking point passes one controller.
 *
 * It is either sched_ops (the explorer's), or, while there is none, a monitor:
 * a thread that cannot go on sleeps in it and every release wakes all sleepers
 * to look again.
 */
#ifdef PINFOLD_SCHED
#include "host/backend.h"

#include "host/sched.h"
#include "host/wait.h"

#include <pthread.h>

#define CALLER	__builtin_return_address(0)

const struct sched_ops *sched_ops;

static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

bool backend_spin_trylock(u32 *word)
{
	bool got;

	if (sched_ops)
		return sched_ops->spin_trylock(word, CALLER);
	pthread_mutex_lock(&monitor);
	got = READ_ONCE(*word) == 0;
	if (got)
		xchg_acquire(word, 1);
	pthread_mutex_unlock(&monitor);
	return got;
}

void backend_spin_lock(u32 *word)
{
	if (sched_ops) {
		sched_ops->spin_lock(word, CALLER);
		return;
	}
	pthread_mutex_lock(&monitor);
	while (READ_ONCE(*word))
		pthread_cond_wait(&changed, &monitor);
	xchg_acquire(word, 1);
	pthread_mutex_unlock(&monitor);
}

void backend_spin_unlock(u32 *word)
{
	if (sched_ops) {
		sched_ops->spin_unlock(word, CALLER);
		return;
	}
	pthread_mutex_lock(&monitor);
	smp_store_release(word, 0);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&monitor);
}

/* One sleep only: a wake-up without a change is legal, a lost one is not. */
void backend_wait(u32 *word, u32 value)
{
	if (sched_ops) {
		sched_ops->wait(word, value, CALLER);
		return;
	}
	pthread_mutex_lock(&monitor);
	if (READ_ONCE(*word) == value)
		pthread_cond_wait(&changed, &monitor);
	pthread_mutex_unlock(&monitor);
}

void backend_wake_all(u32 *word)
{
	if (sched_ops) {
		sched_ops->wake_all(word);
		return;
	}
	pthread_mutex_lock(&monitor);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&monitor);
}

void backend_relax(void)
{
	if (sched_ops)
		sched_ops->relax(CALLER);
}

void backend_might_sleep(void)
{
	if (sched_ops)
		sched_ops->might_sleep(CALLER);
}

/* A thread's signals, where another can find them. */
struct waiter *backend_waiter(void)
{
	static __thread struct waiter self;

	return sched_ops ? sched_ops->waiter() : &self;
}

#endif
