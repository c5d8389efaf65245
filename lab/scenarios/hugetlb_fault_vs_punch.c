/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 1, 100);
}

static void look(struct race *r, struct race_hold *mine)
{
	r->note[0] = (long)race_load(r, 0);
	race_done(mine);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	race_check(r->note[0] == 100 || r->note[0] == 0);
	race_check(race_maps_the_file(r, r->mm, 0));
	race_check(race_pool_is(r, !race_file_folio(r, 0), 0));
	race_check(race_load(r, 0) == 0);
}

SCENARIO(hugetlb_fault_vs_punch,
	.claim = "a hole in a hugetlb file is empty, and the pool has its page",
	.reference = "case_H12",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "read", look }, { "punch", punch } },
	.check = check)
