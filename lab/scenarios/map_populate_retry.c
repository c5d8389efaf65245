/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 8, 1, RACE_RW);
}

static void map(struct race *r, struct race_hold *mine)
{
	const int flags = PINFOLD_MAP_FIXED | PINFOLD_MAP_POPULATE;
	pf_addr_t place;

	race_next_fault(RACE_FAULT_RETRY);
	race_check(!pf_mmap(r->mm, race_at(0), race_bytes(4), RACE_RW, flags,
				&place));
	race_done(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 2);
}

static void check(struct race *r)
{
	const u64 first = race_load(r, 0);

	race_check(first == 0 || first == (u64)-1);
	race_check(race_load(r, 1) == first && race_load(r, 3) == 0);
}

SCENARIO(map_populate_retry,
	.claim = "mmap that populates goes on with the areas that are left",
	.reference = "case_L1",
	.setup = setup,
	.threads = { { "mmap", map }, { "munmap", unmap } },
	.check = check)
