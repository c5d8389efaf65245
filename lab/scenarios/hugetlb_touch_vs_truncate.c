/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

/* Nothing is promised, so the file knows of no place. */
static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW,
		      PINFOLD_MAP_SHARED | PINFOLD_MAP_NORESERVE);
}

static void store(struct race *r, struct race_hold *mine)
{
	r->note[0] = race_touch_in(r, mine, r->mm, 0, 7);
}

static void cut(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 0);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 0));
	race_check(!race_file_folio(r, 0));
	race_check(race_pool_is(r, 1, 0));
}

SCENARIO(hugetlb_touch_vs_truncate,
	.claim = "no page comes above the size of a hugetlb file",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "write", store }, { "truncate", cut } },
	.check = check)
