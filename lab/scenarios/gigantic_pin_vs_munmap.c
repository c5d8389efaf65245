/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	pf_addr_t place;

	race_check(!pf_mmap(r->mm, race_at(0), 1ul << 30, RACE_RW,
				PINFOLD_MAP_FIXED | PINFOLD_MAP_HUGETLB |
				PINFOLD_MAP_HUGE_1GB, &place));
	race_check(!race_populate(r, &r->hold[0], 0, 1, false));
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1000, 2, PINFOLD_FOLL_WRITE);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_check(!pf_munmap(r->mm, race_at(0), 1ul << 30));
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == -EFAULT);
	for (long i = 0; i < h->nr; i++)
		race_check(pf_page_folio_order(h->pages[i]) == 18);
	race_check(h->nr < 2 || pf_page_pfn(h->pages[1]) ==
				pf_page_pfn(h->pages[0]) + 1);
}

SCENARIO(gigantic_pin_vs_munmap,
	.claim = "a pin of a PUD leaf holds the gigantic page when it goes",
	.machine = { .metadata_only = true, .hugetlb_1g_pages = 1 },
	.setup = setup,
	.threads = { { "pin", pin }, { "munmap", unmap } },
	.check = check)
