/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_pin(r, &r->hold[0], 1, 2, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put_dirty(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_check(race_load(r, 1) == 0);
}

SCENARIO(hugetlb_unpin_vs_munmap,
	.claim = "the last of pin and leaf brings the pool's page back, once",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "unpin", unpin }, { "munmap", unmap } },
	.check = check)
