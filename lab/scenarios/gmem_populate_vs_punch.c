/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 0);
}

static void populate(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_gmem_populate(r, mine, 0, 3, 7);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 1, 1);
}

/* The hole is behind the page, or the page behind the hole. */
static void check(struct race *r)
{
	race_check(r->note[0] == 3);
	race_check(race_gmem_value(r, 0) == 7 && race_gmem_value(r, 2) == 7);
	race_check(!race_gmem_value(r, 1) || race_gmem_value(r, 1) == 7);
}

SCENARIO(gmem_populate_vs_punch,
	.claim = "who fills pages while one is punched fills all the others",
	.reference = "K1, G8",
	.setup = setup,
	.threads = { { "populate", populate }, { "punch", punch } },
	.check = check)
