/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge_empty(r);
	race_map(r, RACE_HUGE, RACE_HUGE, RACE_RW);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
	race_discard(r, mine, 1, 1);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, RACE_HUGE, 0, 2);
	race_discard(r, mine, RACE_HUGE + 1, 1);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 1 && race_load(r, 1) == 0);
	race_check(race_load(r, RACE_HUGE) == 2);
}

SCENARIO(huge_deposits,
	.claim = "neighbouring huge pages leave and take their spare tables",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
