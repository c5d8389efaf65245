/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 2);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 1 && race_load(r, 1) == 2);
	race_check(race_load(r, 2) == 0);
}

SCENARIO(first_touch_huge,
	.claim = "of two first stores to a huge page none goes with the slower",
	.machine = { RACE_THP },
	.setup = race_setup_huge_empty,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
