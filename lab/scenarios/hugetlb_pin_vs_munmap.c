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
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	pf_addr_t place;

	race_check(h->nr == 2 || h->nr == -EFAULT);
	race_check(race_values(h, 101, 1));
	/* The pool's only page: back, or not yet. */
	race_check(pf_mmap(r->mm, race_at(0), race_bytes(RACE_HUGE), RACE_RW,
			   PINFOLD_MAP_FIXED | PINFOLD_MAP_HUGETLB, &place) ==
		   (h->nr == 2 ? -ENOMEM : 0));
}

SCENARIO(hugetlb_pin_vs_munmap,
	.claim = "a page of the pool is back when pin and area are gone",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
