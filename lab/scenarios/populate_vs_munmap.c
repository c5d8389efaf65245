/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void populate(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_populate(r, mine, 0, 4, true);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 2, 2);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 0 || r->note[0] == -ENOMEM);
	race_pin(r, &r->hold[0], 0, 2,
		 PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOFAULT);
	race_check(r->hold[0].nr == 2);
	race_check(race_load(r, 2) == (u64)-1);
}

SCENARIO(populate_vs_munmap,
	.claim = "populating stops at a hole, and says so",
	.reference = "case_L1",
	.setup = race_setup_empty,
	.threads = { { "populate", populate }, { "munmap", unmap } },
	.check = check)
