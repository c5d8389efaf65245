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
	race_pin_fast(r, mine, 1, 2,
			  PINFOLD_FOLL_WRITE | PINFOLD_FOLL_LONGTERM);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const int flags = PINFOLD_MAP_FIXED | PINFOLD_MAP_HUGETLB;
	const struct race_hold *h = &r->hold[0];
	pf_addr_t place;

	race_check(h->nr == 2 || h->nr == -EFAULT);
	race_check(race_values(h, 101, 1));
	race_check(pf_mmap(r->mm, race_at(0), race_bytes(RACE_HUGE), RACE_RW,
			   flags, &place) == (h->nr == 2 ? -ENOMEM : 0));
}

SCENARIO(fast_pin_hugetlb_vs_munmap,
	.claim = "a page of the pool is not free while a fast pin has it",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
