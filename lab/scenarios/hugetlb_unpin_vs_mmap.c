/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_map_hugetlb(r, 0, RACE_HUGE);
	race_pin(r, &r->hold[0], 1, 2, PINFOLD_FOLL_WRITE);
	race_munmap(r, &r->hold[0], 0, RACE_HUGE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void map(struct race *r, struct race_hold *mine)
{
	const int flags = PINFOLD_MAP_FIXED | PINFOLD_MAP_HUGETLB;
	pf_addr_t place;

	r->note[0] = pf_mmap(r->mm, race_at(0), race_bytes(RACE_HUGE), RACE_RW,
				 flags, &place);
	mine->succeeded += !r->note[0];
}

static void check(struct race *r)
{
	race_check(r->note[0] == 0 || r->note[0] == -ENOMEM);
	race_check(race_load(r, 1) == (r->note[0] ? (u64)-1 : 0));
}

SCENARIO(hugetlb_unpin_vs_mmap,
	.claim = "the pool promises a page that is back, and no other",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "unpin", unpin }, { "mmap", map } },
	.check = check)
