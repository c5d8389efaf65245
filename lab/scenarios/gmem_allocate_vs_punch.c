/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

static void setup(struct race *r)
{
	race_gmem(r, 4, 0);
	(void)race_gmem_frame(r, 1);
}

static void allocate(struct race *r, struct race_hold *mine)
{
	race_check(!race_gmem_allocate(r, mine, 0, 3));
}

/* What was prepared is not, whoever puts a frame there then. */
static void punch(struct race *r, struct race_hold *mine)
{
	race_gmem_punch(r, mine, 1, 2);
	r->note[0] = race_gmem_populate(r, mine, 1, 1, 7);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 1 && race_gmem_value(r, 1) == 7);
}

SCENARIO(gmem_allocate_vs_punch,
	.claim = "a page allocated behind a hole is not prepared",
	.reference = "K1, I13, G3",
	.setup = setup,
	.threads = { { "allocate", allocate }, { "punch", punch } },
	.check = check)
