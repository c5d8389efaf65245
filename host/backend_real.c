/* SPDX-License-Identifier: MIT */
/*
 * The real back-end: spinning and futexes.
 */
#ifndef PINFOLD_SCHED
#include "host/backend.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
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

#endif
