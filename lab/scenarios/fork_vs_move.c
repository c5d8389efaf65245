/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static u64 child_load(struct race *r, unsigned long page)
{
	u64 word = -1;

	if (pf_read(r->mms[0], race_at(page), &word, sizeof(word)) !=
	    sizeof(word))
		return -1;
	return word;
}

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
	race_check((child_load(r, 0) == 100) != (child_load(r, 8) == 100));
}

SCENARIO(fork_vs_move,
	.claim = "a child has moved pages here or there, not both, not neither",
	.setup = race_setup_pages,
	.threads = { { "fork", fork_it }, { "move", move } },
	.check = check)
