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
	race_put(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[1];

	race_check(h->nr == 2 && race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
	race_check(pf_page_maybe_dma_pinned(h->pages[0]));
}

SCENARIO(unpin_vs_pin,
	.claim = "a pin that goes takes nothing from one that comes",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "pin", pin } },
	.check = check)
