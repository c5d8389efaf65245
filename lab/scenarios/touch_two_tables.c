/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 0, 4, RACE_RW);
	race_map(r, RACE_HUGE, 4, RACE_RW);
	race_store(r, RACE_HUGE, 2, 0);
	race_drain(r);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
	race_write(r, mine, 1, 0, 2);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, RACE_HUGE, 4);
	race_write(r, mine, RACE_HUGE + 2, 0, 3);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 1 && race_load(r, 1) == 2);
	race_check(race_load(r, RACE_HUGE) == 0);
	race_check(race_load(r, RACE_HUGE + 2) == 3);
}

SCENARIO(touch_two_tables,
	.claim = "two tables of one mm have their locks, their sums are one",
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
