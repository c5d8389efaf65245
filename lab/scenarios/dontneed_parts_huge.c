/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void first(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 1, 1);
}

static void second(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 2, 1);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 100 && race_load(r, 3) == 103);
	race_check(race_load(r, 1) == 0 && race_load(r, 2) == 0);
}

SCENARIO(dontneed_parts_huge,
	.claim = "two that discard parts of a huge page split it once",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "first", first }, { "second", second } },
	.check = check)
