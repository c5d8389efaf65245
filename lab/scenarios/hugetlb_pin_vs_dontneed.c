/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_store(r, 0, 4, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	if (race_peek(h, 0))
		race_check(race_values(h, 101, 1));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 1));
}

SCENARIO(hugetlb_pin_vs_dontneed,
	.claim = "the pool's only page is pinned, or is back for the fault",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
