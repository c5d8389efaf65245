/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 3, 0);
	race_check(!pf_guest_memfd_allocate(r->gmem, PINFOLD_PAGE_SIZE,
					    PINFOLD_PAGE_SIZE));
}

/* It locks page 1, and may find that page 0 is not absent any more. */
static void whole(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_gmem_populate(r, mine, 0, 3, 5);
}

/* It locks pages 0 and 1. */
static void behind(struct race *r, struct race_hold *mine)
{
	race_check(!race_gmem_allocate(r, mine, 0, 1));
	r->note[1] = race_gmem_populate(r, mine, 0, 3, 7);
}

static void check(struct race *r)
{
	const bool first = r->note[0] > 0;

	race_check(r->note[!first] == 3 && r->note[first] < 0);
	for (unsigned long i = 0; i < 3; i++)
		race_check(race_gmem_value(r, i) == (first ? 5 : 7));
}

SCENARIO(gmem_populate_mixed,
	.claim = "what is allocated is filled together with what is absent",
	.reference = "B17, K21",
	.setup = setup,
	.threads = { { "whole", whole }, { "behind", behind } },
	.check = check)
