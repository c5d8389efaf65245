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

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

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

struct backend_thread {
	pthread_t pthread;
	void (*fn)(void *);
	void *arg;
};

static void *thread_main(void *data)
{
	struct backend_thread *t = data;

	t->fn(t->arg);
	return NULL;
}

int backend_thread_create(struct backend_thread **thread, void (*fn)(void *),
			  void *arg)
{
	struct backend_thread *t = malloc(sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	*t = (struct backend_thread){ .fn = fn, .arg = arg };
	err = pthread_create(&t->pthread, NULL, thread_main, t);
	if (err) {
		free(t);
		return -err;
	}
	*thread = t;
	return 0;
}

void backend_thread_join(struct backend_thread *t)
{
	pthread_join(t->pthread, NULL);
	free(t);
}

#endif
