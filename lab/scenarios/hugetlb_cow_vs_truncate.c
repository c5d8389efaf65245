/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

#include <errno.h>

/* The file's page, mapped by a private area that has a copy promised. */
static void setup(struct race *r)
{
	race_hugetlb_file(r);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_SHARED);
	race_store(r, 0, 1, 100);
	race_map_file(r, 0, RACE_HUGE, RACE_RW, PINFOLD_MAP_PRIVATE);
	race_check(race_load(r, 0) == 100);
}

static void store(struct race *r, struct race_hold *mine)
{
	/* Without a reference to the copy, which would keep it off the pool. */
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
	race_check(!race_file_folio(r, 0));
	race_check(race_pool_is(r, 3, 1));
}

SCENARIO(hugetlb_cow_vs_truncate,
	.claim = "no copy stays above the size, and its promise is whole",
	.machine = { .hugetlb_2m_pages = 3 },
	.setup = setup,
	.threads = { { "write", store }, { "truncate", cut } },
	.check = check)
