/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void clear(struct race *r, struct race_hold *mine)
{
	race_check(!pf_clear_soft_dirty(r->mm));
	race_done(mine);
}

static void write(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 777);
	/* Cleared before, and so told; or after, and then it is not. */
	race_write(r, mine, 2, 0, 778);
}

static void check(struct race *r)
{
	u64 entries[4];

	race_check(!pf_pagemap(r->mm, race_at(0), 4, entries));
	race_check(!(entries[0] & PINFOLD_PM_SOFT_DIRTY));
	/* The first store is told: so is the second. */
	race_check(!(entries[1] & PINFOLD_PM_SOFT_DIRTY) ||
		   (entries[2] & PINFOLD_PM_SOFT_DIRTY));
	race_check(race_load(r, 1) == 777 && race_load(r, 2) == 778);
}

SCENARIO(soft_dirty_vs_write,
	.claim = "a store after soft-dirty was cleared is told",
	.setup = race_setup_pages,
	.threads = { { "write", write }, { "clear", clear } },
	.check = check)
