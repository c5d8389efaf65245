/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 0);
}

/* The guest stores to its page. */
static void fault(struct race *r, struct race_hold *mine)
{
	race_gmem_get(r, mine, 2);
	race_poke(mine, 0, 9);
}

static void populate(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_gmem_populate(r, mine, 1, 2, 7);
}

/* Zeroed by the fault or filled, and then stored to. */
static void check(struct race *r)
{
	race_check(r->note[0] == 1 || r->note[0] == 2);
	race_check(race_gmem_value(r, 1) == 7);
	race_check(race_peek(&r->hold[0], 0) == 9);
	race_check(race_gmem_frame(r, 2) == r->hold[0].pages[0]);
}

SCENARIO(gmem_pfn_vs_populate,
	.claim = "what a fault prepares is the guest's: populate does not fill it",
	.reference = "K21, B17",
	.setup = setup,
	.threads = { { "fault", fault }, { "populate", populate } },
	.check = check)
