/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_store(r, 0, 4, 100);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void protect(struct race *r, struct race_hold *mine)
{
	race_protect(r, mine, 0, RACE_HUGE, PINFOLD_PROT_READ);
	race_protect(r, mine, 0, RACE_HUGE, RACE_RW);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == -EFAULT);
	race_check(race_values(h, 100, 1));
	race_check(race_all_same(r, h, 0));
}

SCENARIO(hugetlb_mprotect_vs_pin,
	.claim = "a pinned page of the pool stays its mm's through mprotect",
	.reference = "inv_O5",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "mprotect", protect } },
	.check = check)
