/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 2);
}

/* One folio of four pages, or the pages that are missing. */
static void allocate(struct race *r, struct race_hold *mine)
{
	race_check(!race_gmem_allocate(r, mine, 0, 4));
}

static void populate(struct race *r, struct race_hold *mine)
{
	race_check(race_gmem_populate(r, mine, 1, 2, 7) == 2);
}

static void check(struct race *r)
{
	race_check(!race_gmem_value(r, 0) && !race_gmem_value(r, 3));
	race_check(race_gmem_value(r, 1) == 7 && race_gmem_value(r, 2) == 7);
}

SCENARIO(gmem_allocate_vs_populate,
	.claim = "what is allocated and not prepared is filled, and no more",
	.reference = "K21, B17",
	.setup = setup,
	.threads = { { "allocate", allocate }, { "populate", populate } },
	.check = check)
