/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

/* The parent's own page in a private area of the file. */
static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_PRIVATE);
	race_store(r, 0, 1, 100);
}

static void fork_it(struct race *r, struct race_hold *mine)
{
	race_check(!pf_mm_fork(r->mm, &r->mms[0]));
	race_done(mine);
}

static void cut(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 0);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 0) && !race_mapped(r->mms[0], 0));
	/* The child's mapping, if it was the last, brings no promise back. */
	race_check(race_pool_is(r, 2, 0) || race_pool_is(r, 2, 1));
}

SCENARIO(hugetlb_fork_vs_truncate,
	.claim = "parent and child have nothing above the size",
	.machine = { .hugetlb_2m_pages = 2 },
	.setup = setup,
	.threads = { { "fork", fork_it }, { "truncate", cut } },
	.check = check)
