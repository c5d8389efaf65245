/* SPDX-License-Identifier: MIT */
/*
 * The scheduled back-end: every blocking point passes one controller.
 *
 * The controller is a single monitor.  A thread that cannot go on sleeps in it
 * and every release wakes all sleepers to look again, so all choices of who
 * runs next are made in this file and nowhere else.
 *
 * Limit: the host's scheduler still picks among the runnable threads.
 */
#ifdef PINFOLD_SCHED
#include "host/backend.h"

#include <pthread.h>

static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

bool backend_spin_trylock(u32 *word)
{
	bool got;

	pthread_mutex_lock(&monitor);
	got = READ_ONCE(*word) == 0;
	if (got)
		xchg_acquire(word, 1);
	pthread_mutex_unlock(&monitor);
	return got;
}

void backend_spin_lock(u32 *word)
{
	pthread_mutex_lock(&monitor);
	while (READ_ONCE(*word))
		pthread_cond_wait(&changed, &monitor);
	xchg_acquire(word, 1);
	pthread_mutex_unlock(&monitor);
}

void backend_spin_unlock(u32 *word)
{
	pthread_mutex_lock(&monitor);
	smp_store_release(word, 0);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&monitor);
}

/* One sleep only: a wake-up without a change is legal, a lost one is not. */
void backend_wait(u32 *word, u32 value)
{
	pthread_mutex_lock(&monitor);
	if (READ_ONCE(*word) == value)
		pthread_cond_wait(&changed, &monitor);
	pthread_mutex_unlock(&monitor);
}

void backend_wake_all(u32 *word __maybe_unused)
{
	pthread_mutex_lock(&monitor);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&monitor);
}

#endif
