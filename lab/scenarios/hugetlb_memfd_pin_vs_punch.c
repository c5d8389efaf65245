/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 1, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_memfd_pin(r, mine, 0);
}

static void punch(struct race *r, struct race_hold *mine)
{
	race_punch(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	race_check(r->hold[0].nr == 1);
	/* The old page, or a new one, which is the pool's only one as well. */
	race_check(race_values(&r->hold[0], race_file_folio(r, 0) ? 0 : 100,
			       1));
	race_check(race_pool_is(r, 0, 0));
}

SCENARIO(hugetlb_memfd_pin_vs_punch,
	.claim = "a pin is of the page before the hole, or of one after it",
	.reference = "case_H6",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "punch", punch } },
	.check = check)
