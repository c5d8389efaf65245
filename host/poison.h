/* SPDX-License-Identifier: MIT */
/*
 * Memory that nobody may touch: frames and objects that are free.
 *
 * Under a controller (PINFOLD_SCHED) each access is checked; elsewhere nothing.
 */
#ifndef HOST_POISON_H
#define HOST_POISON_H

#include "host/compiler.h"
#include "host/sched.h"

static inline void host_poison(const void *addr __maybe_unused,
			       size_t bytes __maybe_unused)
{
#ifdef PINFOLD_SCHED
	if (sched_ops)
		sched_ops->poison(addr, bytes);
#endif
}

static inline void host_unpoison(const void *addr __maybe_unused,
				 size_t bytes __maybe_unused)
{
#ifdef PINFOLD_SCHED
	if (sched_ops)
		sched_ops->unpoison(addr, bytes);
#endif
}

#endif
