/* SPDX-License-Identifier: MIT */
/*
 * The real back-end: spinning, futexes, pthreads.
 */
#ifndef PINFOLD_SCHED
#include "host/backend.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The holder may have been preempted, so give the CPU away after a while. */
void backend_spin_contended(u32 *word)
{
	unsigned int spins = 0;

	do {
		while (READ_ONCE(*word)) {
			cpu_relax();
			if (++spins % 128 == 0)
				sched_yield();
		}
	} while (xchg_acquire(word, 1) != 0);
}

void backend_wait(u32 *word, u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void backend_wake_all(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
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
	t->fn = fn;
	t->arg = arg;
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
