/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 1, 0, 2);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == 1 && race_load(r, 1) == 2);
}

SCENARIO(hugetlb_first_touch,
	.claim = "two first touches need one page of the pool, not two",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
