/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge(r);
	race_pin(r, &r->hold[0], 1, 3, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 2, 1);
}

static void check(struct race *r)
{
	race_check(race_load(r, 1) == 101 && race_load(r, 3) == 103);
	race_check(race_load(r, 2) == 0);
}

SCENARIO(unpin_huge_vs_dontneed_part,
	.claim = "pins of a huge page are dropped while it is split",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "unpin", unpin }, { "dontneed", discard } },
	.check = check)
