/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 2, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put_dirty(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_map(r, 0, 2, RACE_RW);
	race_check(race_load(r, 0) == 0 && race_load(r, 1) == 0);
}

SCENARIO(unpin_dirty_vs_munmap,
	.claim = "a page is marked dirty while it is still held",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "munmap", unmap } },
	.check = check)
