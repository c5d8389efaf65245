/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void hint(struct race *r, struct race_hold *mine)
{
	race_check(pf_numa_hint(r->mm, race_at(0), race_bytes(RACE_HUGE)) >= 0);
	race_done(mine);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 0);
}

SCENARIO(numa_hint_vs_dontneed,
	.claim = "nothing is left of what is discarded while it is marked",
	.reference = "case_D10",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "hint", hint }, { "dontneed", discard } },
	.check = check)
