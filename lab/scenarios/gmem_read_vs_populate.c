/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	struct race_hold *mine = &r->hold[0];

	race_gmem(r, 4, 0);
	race_gmem_populate(r, mine, 3, 1, 5);
}

/* The frame that held 5 is the one that is filled with 7. */
static void populate(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 3, 1);
	race_check(race_gmem_populate(r, mine, 1, 1, 7) == 1);
}

/* It takes the index's lock as well: else no turn is within that. */
static void look(struct race *r, struct race_hold *mine)
{
	u64 value = race_gmem_value(r, 1);

	race_check(!value || value == 7);
	race_check(!race_gmem_allocate(r, mine, 2, 1));
}

static void check(struct race *r)
{
	race_check(race_gmem_value(r, 1) == 7 && !race_gmem_value(r, 3));
}

SCENARIO(gmem_read_vs_populate,
	.claim = "a page is found with all its bytes, or reads as zero",
	.reference = "I12, B17",
	.setup = setup,
	.threads = { { "populate", populate }, { "read", look } },
	.check = check)
