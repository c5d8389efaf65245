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

	race_check(!pf_mmap(r->mm, race_at(0), race_bytes(4), RACE_RW, flags,
				&place));
	race_done(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 1, 2);
}

static void check(struct race *r)
{
	const u64 middle = race_load(r, 1);

	race_check(race_load(r, 0) == 0 && race_load(r, 3) == 0);
	race_check(middle == 0 || middle == (u64)-1);
	race_check(race_load(r, 2) == middle);
}

SCENARIO(map_populate_vs_munmap,
	.claim = "mmap that populates succeeds, even if the area is cut then",
	.setup = setup,
	.threads = { { "mmap", map }, { "munmap", unmap } },
	.check = check)
