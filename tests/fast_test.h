/* SPDX-License-Identifier: MIT */
/*
 * Short calls of the lockless walk on the state of helper_gup.h, and the way it
 * ended.
 */
#ifndef TESTS_FAST_TEST_H
#define TESTS_FAST_TEST_H

#include "tests/helper_gup.h"

#include "host/exits.h"
#include "mm/gfp.h"
#include "mm/gup_internal.h"
#include "mm/huge_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GET		FOLL_GET
#define PIN		FOLL_PIN
#define WRITE		FOLL_WRITE
#define LONGTERM	FOLL_LONGTERM

static u64 exits_before[NR_GUP_EXITS];

/* walk() - the lockless part alone, into got[] */
static inline long walk(unsigned long page, unsigned long nr,
			unsigned int flags)
{
	memcpy(exits_before, gup_exits, sizeof(exits_before));
	memset(got, 0xa5, sizeof(got));
	return gup_fast(gs->mm, state_address(gs, page), nr, flags, got);
}

/* fast() - the whole call, faults by the script */
static inline long fast(unsigned long page, unsigned long nr,
			unsigned int flags)
{
	long ret;

	memcpy(exits_before, gup_exits, sizeof(exits_before));
	current->mm = gs->mm;
	fault_script_forget(&gup_faults);
	fault_script_start(&gup_faults);
	ret = flags & FOLL_PIN ?
	      pin_user_pages_fast(state_address(gs, page), nr,
				  flags & ~FOLL_PIN, got) :
	      get_user_pages_fast(state_address(gs, page), nr,
				  flags & ~FOLL_GET, got);
	fault_script_stop();
	current->mm = NULL;
	return ret;
}

static inline long fast_only(unsigned long page, unsigned long nr,
			     unsigned int flags)
{
	long ret;

	memcpy(exits_before, gup_exits, sizeof(exits_before));
	current->mm = gs->mm;
	fault_script_forget(&gup_faults);
	fault_script_start(&gup_faults);
	ret = get_user_pages_fast_only(state_address(gs, page), nr, flags, got);
	fault_script_stop();
	current->mm = NULL;
	assert_int_equal(gup_faults.nr_records, 0);
	return ret;
}

static inline void let_go(long nr, unsigned int flags)
{
	if (flags & FOLL_PIN)
		unpin_user_pages(got, nr);
	else
		put(nr);
}

/* The last call left by this exit once, and by no other; -1: by none. */
static inline void assert_exit(int which)
{
	for (int i = GUP_FAST_ABSENT; i < NR_GUP_EXITS; i++) {
		u64 times = gup_exits[i] - exits_before[i];

		/* A run that was cut short is no end of the walk. */
		if (i == GUP_FAST_CLIPPED && which != GUP_FAST_CLIPPED)
			continue;
		if (times != (i == which))
			fail_msg("exit '%s' %lu times", gup_exit_names[i],
				 (unsigned long)times);
	}
}

#define assert_pins_live(nr) \
	assert_int_equal(nr_foll_pin_acquired(gs->machine) - \
			 nr_foll_pin_released(gs->machine), (nr))

#endif
