/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 4, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == (u64)-1);
	race_map(r, 0, 4, RACE_RW);
	race_check(race_load(r, 0) == 0);
}

SCENARIO(unpin_vs_munmap,
	.claim = "the last of pin and mapping frees the page, once",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "munmap", unmap } },
	.check = check)
