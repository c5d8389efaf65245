/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_SHARED);
}

static void store(struct race *r, struct race_hold *mine)
{
	race_check(race_touch_in(r, mine, r->mm, 0, 7));
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const bool there = race_file_folio(r, 0);

	race_check(race_maps_the_file(r, r->mm, 0));
	/* Before the store there was only a promise, and no hole takes that. */
	race_check(race_pool_is(r, !there, 0));
	race_check(race_load(r, 0) == (there ? 7 : 0));
}

SCENARIO(hugetlb_write_vs_punch,
	.claim = "a promised page comes before or after the hole, and is counted",
	.reference = "case_H12",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "write", store }, { "punch", punch } },
	.check = check)
