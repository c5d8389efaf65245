/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static long child_store(struct race *r, unsigned long page, u64 word)
{
	return pf_write(r->mms[0], race_at(page), &word, sizeof(word));
}

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 1, PINFOLD_FOLL_LONGTERM);
}

static void child(struct race *r, struct race_hold *mine)
{
	race_check(child_store(r, 0, 8) == 8);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == 1);
	race_check(race_values(&r->hold[0], 100, 0));
	race_check(race_same(r, &r->hold[0], 0, 0));
	race_check(race_load_child(r, 0) == 8);
}

SCENARIO(cow_unshare_vs_write,
	.claim = "a pin for reading gets a page of its own while others store",
	.reference = "gup_A9",
	.setup = setup,
	.threads = { { "pin", pin }, { "child", child } },
	.check = check)
