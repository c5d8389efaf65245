/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_SHARED);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_memfd_pin(r, mine, 0);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 0, 7));
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == 1);
	race_check(race_values(&r->hold[0], 7, 1));
	race_check(race_pool_is(r, 0, 0));
}

SCENARIO(hugetlb_memfd_pin_vs_touch,
	.claim = "both find the one page that the pool has promised",
	.reference = "case_H6",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "write", store } },
	.check = check)
