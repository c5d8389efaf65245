/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 2, 0);
	race_map_file(r, 0, 2, RACE_RW, PINFOLD_MAP_PRIVATE);
	race_store(r, 0, 2, 100);
	(void)race_load(r, 1);
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void shorten(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 1);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 1) && !race_mapped(r->mms[0], 1));
	race_check(race_load_child(r, 0) == 100);
}

SCENARIO(file_fork_vs_truncate,
	.claim = "a child is not left with what its parent lost to a truncation",
	.setup = setup,
	.threads = { { "fork", fork_it }, { "truncate", shorten } },
	.check = check)
