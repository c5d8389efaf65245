/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge_empty(r);
	race_protect(r, &r->hold[1], 0, RACE_HUGE, PINFOLD_PROT_READ);
	race_check(race_load(r, 1) == 0);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_FORCE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
	race_check(race_load(r, 2) == 0);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_values(h, 0, 0));
	race_poke(h, 0, 7);
	race_map(r, RACE_HUGE, RACE_HUGE, PINFOLD_PROT_READ);
	race_check(race_load(r, RACE_HUGE + 1) == 0);
	race_check(race_load(r, 0) == 0 && race_load(r, 2) == 0);
}

SCENARIO(case_B1_huge,
	.claim = "a forced write never reaches the huge page of zeroes",
	.reference = "case_B1",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
