/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void leave(struct race *r, struct race_hold *mine)
{
	race_check(!pf_munmap(r->mms[0], race_at(0), race_bytes(4)));
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
}

SCENARIO(read_pin_shared,
	.claim = "a page pinned to read is the one that its owner stores to later",
	.reference = "gup_A9",
	.setup = setup,
	.threads = { { "pin", pin }, { "child", leave } },
	.check = check)
