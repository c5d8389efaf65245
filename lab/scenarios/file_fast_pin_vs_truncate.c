/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 2, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE |
		      PINFOLD_FOLL_LONGTERM);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 1);
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr >= 1);
	race_check(race_peek(&r->hold[0], 0) == 100);
	race_check(r->hold[0].nr == 1 || race_peek(&r->hold[0], 1) == 101);
	race_check(!race_mapped(r->mm, 1));
}

SCENARIO(file_fast_pin_vs_truncate,
	.claim = "a lockless pin has a page of the file, or one that was",
	.setup = setup,
	.threads = { { "pin", pin }, { "truncate", shorten } },
	.check = check)
