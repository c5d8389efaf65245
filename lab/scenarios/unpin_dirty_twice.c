/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 1, PINFOLD_FOLL_WRITE);
	race_pin(r, &r->hold[1], 0, 1, PINFOLD_FOLL_WRITE);
	race_pin(r, &r->hold[2], 0, 1, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put_dirty(mine);
}

static void check(struct race *r)
{
	race_check(race_values(&r->hold[2], 100, 0));
	race_check(race_same(r, &r->hold[2], 0, 0));
	race_check(pf_page_maybe_dma_pinned(r->hold[2].pages[0]));
}

SCENARIO(unpin_dirty_twice,
	.claim = "two that mark one page dirty wait for its lock and get it",
	.setup = setup,
	.threads = { { "one", unpin }, { "two", unpin } },
	.check = check)
