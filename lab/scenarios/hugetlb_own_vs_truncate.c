/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

#include <errno.h>

/* A private area of a hole: its pages are its own. */
static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_PRIVATE);
}

static void store(struct race *r, struct race_hold *mine)
{
	int err = race_populate(r, mine, 0, RACE_HUGE, true);

	race_check(!err || err == -EFAULT);
}

static void cut(struct race *r, struct race_hold *mine)
{
	race_resize_file(r, mine, 0);
}

static void check(struct race *r)
{
	race_check(!race_mapped(r->mm, 0));
	race_check(race_pool_is(r, 1, 1));
}

SCENARIO(hugetlb_own_vs_truncate,
	.claim = "a private area gets no page of its own above the size",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "write", store }, { "truncate", cut } },
	.check = check)
