/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void populate(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_populate(r, mine, 0, 4, true);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 2, 2, PINFOLD_PROT_READ);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 0 || r->note[0] == -EINVAL);
	race_pin(r, &r->hold[0], 0, 4,
		 PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOFAULT);
	race_check(r->hold[0].nr == 2);
	race_check(race_load(r, 3) == 0);
}

SCENARIO(populate_vs_mprotect,
	.claim = "populating for writing refuses what became read-only",
	.setup = race_setup_empty,
	.threads = { { "populate", populate }, { "mprotect", protect } },
	.check = check)
