/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

#include <errno.h>

static void setup(struct race *r)
{
	race_map(r, 2 * RACE_HUGE, 1, RACE_RW);
	race_check(!pf_mm_create(r->machine, &r->mms[0]));
}

static int promise(struct pf_mm *mm, struct race_hold *mine)
{
	const int flags = PINFOLD_MAP_FIXED | PINFOLD_MAP_HUGETLB;
	pf_addr_t place;
	int err = pf_mmap(mm, race_at(0), race_bytes(RACE_HUGE), RACE_RW,
			  flags, &place);

	mine->succeeded += !err;
	return err;
}

static void one(struct race *r, struct race_hold *mine)
{
	r->note[0] = promise(r->mm, mine);
}

static void two(struct race *r, struct race_hold *mine)
{
	r->note[1] = promise(r->mms[0], mine);
}

static void check(struct race *r)
{
	race_check(!r->note[0] + !r->note[1] == 1);
	race_check(r->note[0] + r->note[1] == -ENOMEM);
	race_check(race_load(r, 0) == (r->note[0] ? (u64)-1 : 0));
}

SCENARIO(hugetlb_two_mmaps,
	.claim = "the pool's only page is promised to one of two",
	.machine = { .hugetlb_2m_pages = 1 },
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
