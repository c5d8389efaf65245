/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
}

static void parent(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

/* Its reads are over when it lets go of the page. */
static void child(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_load_child(r, 0);
	race_check(!pf_munmap(r->mms[0], race_at(0), race_bytes(4)));
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 100);
	race_check(race_load(r, 0) == 7);
}

SCENARIO(cow_read_vs_reuse,
	.claim = "the last owner reuses a page when others have read it",
	.setup = setup,
	.threads = { { "parent", parent }, { "child", child } },
	.check = check)
