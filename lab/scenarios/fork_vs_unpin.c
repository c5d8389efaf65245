/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 1, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r, struct race_hold *mine)
{
	(void)r;
	race_put(mine);
	race_done(mine);
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void check(struct race *r)
{
	struct race_hold empty = { 0 };

	race_check(race_load_child(r, 0) == 100);
	race_write(r, &empty, 0, 0, 7);
	race_check(race_load(r, 0) == 7 && race_load_child(r, 0) == 100);
}

SCENARIO(fork_vs_unpin,
	.claim = "a page is copied or shared, whichever a fork saw of its pin",
	.setup = setup,
	.threads = { { "unpin", unpin }, { "fork", fork_it } },
	.check = check)
