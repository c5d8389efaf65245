/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, 8);
}

static void check(struct race *r)
{
	race_check(race_load(r, 8) == 100 && race_load(r, 11) == 103);
	race_check((race_load_child(r, 0) == 100) != (race_load_child(r, 8) == 100));
}

SCENARIO(fork_vs_move,
	.claim = "a child has moved pages here or there, not both, not neither",
	.setup = race_setup_pages,
	.threads = { { "fork", fork_it }, { "move", move } },
	.check = check)
