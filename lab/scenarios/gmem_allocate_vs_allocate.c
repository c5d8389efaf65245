/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 1);
}

static void low(struct race *r, struct race_hold *mine)
{
	race_check(!race_gmem_allocate(r, mine, 0, 3));
}

static void high(struct race *r, struct race_hold *mine)
{
	race_check(!race_gmem_allocate(r, mine, 1, 3));
}

/* All of it is there, and nothing is prepared yet. */
static void check(struct race *r)
{
	struct race_hold *mine = &r->hold[0];

	race_check(race_gmem_populate(r, mine, 0, 4, 7) == 4);
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_gmem_value(r, i) == 7);
}

SCENARIO(gmem_allocate_vs_allocate,
	.claim = "two who allocate the same both succeed",
	.reference = "K22",
	.setup = setup,
	.threads = { { "low", low }, { "high", high } },
	.check = check)
