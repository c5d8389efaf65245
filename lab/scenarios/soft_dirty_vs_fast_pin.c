/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void clear(struct race *r, struct race_hold *mine)
{
	race_check(!pf_clear_soft_dirty(r->mm));
	race_done(mine);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_all_same(r, h, 0));
	race_check(race_values(h, 100, 1));
}

SCENARIO(soft_dirty_vs_fast_pin,
	.claim = "a page pinned fast while soft-dirty is cleared stays the one mapped",
	.reference = "gup_X16",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "clear", clear } },
	.check = check)
