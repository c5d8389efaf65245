/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

/* case_A5: references that a child takes, and keeps when it unmaps. */
static void child(struct race *r, struct race_hold *mine)
{
	race_check(pf_get_user_pages_unlocked(r->mms[0], race_at(0), 1,
					      mine->pages, 0) == 1);
	mine->nr = 1;
	race_check(!pf_munmap(r->mms[0], race_at(0), race_bytes(4)));
	race_done(mine);
}

static void parent(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	race_check(race_peek(&r->hold[0], 0) == 100);
	race_check(race_load(r, 0) == 7);
}

SCENARIO(cow_get_vs_write,
	.claim = "what one side stores is not seen through the other's reference",
	.reference = "case_A5",
	.setup = setup,
	.threads = { { "child", child }, { "parent", parent } },
	.check = check)
