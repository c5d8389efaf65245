/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void longterm(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_LONGTERM);
}

static void brief(struct race *r, struct race_hold *mine)
{
	if (race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE) > 0)
		race_put(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_values(h, 0, 0));
	race_check(race_all_same(r, h, 0));
	race_check(pf_page_maybe_dma_pinned(h->pages[0]));
}

SCENARIO(longterm_vs_short,
	.claim = "a short pin that comes and goes leaves the longterm one",
	.setup = race_setup_empty,
	.threads = { { "longterm", longterm }, { "short", brief } },
	.check = check)
