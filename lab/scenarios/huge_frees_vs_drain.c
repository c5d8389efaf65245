/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge(r);
	race_map(r, RACE_HUGE, RACE_HUGE, RACE_RW);
	race_store(r, RACE_HUGE, 1, 200);
	race_drain(r);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, RACE_HUGE, RACE_HUGE);
	race_write(r, mine, RACE_HUGE + 1, 0, 7);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 0 && race_load(r, RACE_HUGE) == 0);
	race_check(race_load(r, RACE_HUGE + 1) == 7);
}

SCENARIO(huge_frees_vs_drain,
	.claim = "huge pages that overflow a CPU's list are not lost",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
