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

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 2);
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 7 && race_load(r, 1) == 0);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(unpin_dirty_vs_dontneed,
	.claim = "a page marked dirty as it goes is none that comes after it",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "dontneed", discard } },
	.check = check)
