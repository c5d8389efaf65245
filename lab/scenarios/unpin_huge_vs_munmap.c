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
	race_put_dirty(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	race_map(r, 0, RACE_HUGE, RACE_RW);
	race_check(race_load(r, 1) == 0);
}

SCENARIO(unpin_huge_vs_munmap,
	.claim = "a huge page that is freed is pinned by nobody",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "unpin", unpin }, { "munmap", unmap } },
	.check = check)
