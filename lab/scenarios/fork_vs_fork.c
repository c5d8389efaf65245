/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void fork_first(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void fork_second(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[1]));
	race_done(mine);
}

static void check(struct race *r)
{
	struct race_hold empty = { 0 };

	race_write(r, &empty, 0, 0, 7);
	race_check(race_load(r, 0) == 7 && race_load_child(r, 0) == 100);
	pf_mm_destroy(r->mms[0]);
	r->mms[0] = NULL;
}

SCENARIO(fork_vs_fork,
	.claim = "two forks at once are two children",
	.setup = race_setup_pages,
	.threads = { { "first", fork_first }, { "second", fork_second } },
	.check = check)
