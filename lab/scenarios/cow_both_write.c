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

static void parent(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 7);
}

static void child(struct race *r, struct race_hold *mine)
{
	race_check(child_store(r, 0, 8) == 8);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 7 && race_load_child(r, 0) == 8);
	race_check(race_load(r, 1) == 101 && race_load_child(r, 1) == 101);
}

SCENARIO(cow_both_write,
	.claim = "two who share a page and store at once part, and lose nothing",
	.setup = setup,
	.threads = { { "parent", parent }, { "child", child } },
	.check = check)
