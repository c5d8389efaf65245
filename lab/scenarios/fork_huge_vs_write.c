/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	r->note[0] = race_load_child(r, 0);
	race_done(mine);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 100 || r->note[0] == 7);
	race_check((long)race_load_child(r, 0) == r->note[0]);
	race_check(race_load(r, 0) == 7);
}

SCENARIO(fork_huge_vs_write,
	.claim = "a store to a huge page comes before a fork or does not reach the child",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "fork", fork_it }, { "write", store } },
	.check = check)
