/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge_empty(r);
	race_map(r, RACE_HUGE, RACE_HUGE, RACE_RW);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_check(race_load(r, 0) == 0);
	race_done(mine);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_check(race_load(r, RACE_HUGE) == 0);
	race_done(mine);
}

/* One huge page of zeroes and its PMD entries: a pin counts each. */
static void check(struct race *r)
{
	race_pin(r, &r->hold[0], 0, 1, 0);
	race_pin(r, &r->hold[1], RACE_HUGE, 1, 0);
	race_check(r->hold[0].nr == 1 && r->hold[1].nr == 1);
	race_check(r->hold[0].pages[0] == r->hold[1].pages[0]);
}

SCENARIO(huge_zero_first_touch,
	.claim = "two that read first make one huge page of zeroes",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
