/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	if (race_peek(h, 0))
		race_check(race_values(h, 100, 1) && !race_load(r, 0));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 0));
	race_check(pf_page_folio_order(h->pages[3]) == 2);
}

SCENARIO(pin_large_vs_dontneed,
	.claim = "a run of a large folio is grabbed as long as it is mapped",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
