/* SPDX-License-Identifier: MIT */
/*
 * Race points: places in a walk where others may get in between.
 *
 * In the lab build (PINFOLD_LAB) the calling thread's hook runs there and does
 * what another thread might have done by then, so that a test can force an
 * interleaving; elsewhere the calls vanish.
 */
#ifndef HOST_RACE_POINT_H
#define HOST_RACE_POINT_H

#include "host/compiler.h"

enum race_point {
	RACE_FAST_READ,		/* an entry is read, nothing more */
	RACE_FAST_GUESSED,	/* its folio is guessed, nothing is held */
	RACE_FAST_HELD,		/* the folio is held, the entry not looked at */
	RACE_FAST_WALKED,	/* all is held, the sequence not looked at */
	RACE_SLOW_SPLIT,	/* a leaf is to be split, its lock is dropped */
};

#ifdef PINFOLD_LAB
typedef void (*race_hook_fn)(void *arg, enum race_point point);
/* The calling thread's hook; NULL: none. */
extern __thread race_hook_fn race_hook;
extern __thread void *race_hook_arg;

static inline void race_point(enum race_point point)
{
	if (unlikely(race_hook))
		race_hook(race_hook_arg, point);
}
#else
#define race_point(point)	((void)(point))
#endif

#endif
