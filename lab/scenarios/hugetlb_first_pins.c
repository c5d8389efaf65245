/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_LONGTERM);
}

static void read(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	race_check(h[0].pages[0] == h[1].pages[0]);
	race_check(race_all_same(r, &h[0], 0));
}

SCENARIO(hugetlb_first_pins,
	.claim = "the pool's only page is pinned to write and to read",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "write", pin }, { "read", read } },
	.check = check)
