/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, RACE_HUGE, PINFOLD_PROT_READ);
	race_protect(r, mine, 0, RACE_HUGE, RACE_RW);
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

SCENARIO(case_D10,
	.claim = "nothing is left of what is discarded while it is protected",
	.reference = "case_D10",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "mprotect", protect }, { "dontneed", discard } },
	.check = check)
