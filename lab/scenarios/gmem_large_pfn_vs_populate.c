/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

#include <errno.h>

/* Allocated as one folio, which populate splits, and the fault prepares. */
static void setup(struct race *r)
{
	race_gmem(r, 4, 2);
	race_check(!race_gmem_allocate(r, &r->hold[0], 0, 4));
}

static void fault(struct race *r, struct race_hold *mine)
{
	race_gmem_get(r, mine, 2);
}

static void populate(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_gmem_populate(r, mine, 1, 1, 7);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 1 || r->note[0] == -EEXIST);
	race_check(race_gmem_value(r, 1) == (r->note[0] == 1 ? 7 : 0));
	race_check(!race_gmem_value(r, 2));
	race_check(race_gmem_frame(r, 2) == r->hold[0].pages[0]);
}

SCENARIO(gmem_large_pfn_vs_populate,
	.claim = "a folio that is split to be filled, or prepared as a whole",
	.reference = "K21, K12",
	.setup = setup,
	.threads = { { "fault", fault }, { "populate", populate } },
	.check = check)
