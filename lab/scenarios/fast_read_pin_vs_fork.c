/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, 0);
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

/* The child has the bytes, and none of the pages: stores do not reach it. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
	for (unsigned long i = 0; i < 2; i++)
		race_check(race_load_child(r, i) == 100 + i);
}

SCENARIO(fast_read_pin_vs_fork,
	.claim = "what is pinned to read while a fork copies it is not shared",
	.reference = "inv_O5",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "fork", fork_it } },
	.check = check)
