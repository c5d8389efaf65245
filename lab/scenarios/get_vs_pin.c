/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void get(struct race *r, struct race_hold *mine)
{
	race_get(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	race_check(h[0].pages[1] == h[1].pages[1]);
	race_check(pf_page_maybe_dma_pinned(h[0].pages[0]));
	race_put(&r->hold[1]);
	race_check(!pf_page_maybe_dma_pinned(h[0].pages[0]));
	race_check(race_all_same(r, &h[0], 0));
}

SCENARIO(get_vs_pin,
	.claim = "references and pins of one page are counted apart",
	.setup = race_setup_empty,
	.threads = { { "get", get }, { "pin", pin } },
	.check = check)
