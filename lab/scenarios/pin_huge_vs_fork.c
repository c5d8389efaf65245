/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
	race_check(race_load_child(r, 0) == 100 && race_load_child(r, 1) == 101);
}

SCENARIO(pin_huge_vs_fork,
	.claim = "a page of a huge one, pinned before or after a fork stays the parent's",
	.reference = "inv_O5",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "fork", fork_it } },
	.check = check)
