/* SPDX-License-Identifier: MIT */
#include "lab/scenario_file.h"

static void setup(struct race *r)
{
	race_file(r, 1, 0);
}

static void seal(struct race *r, struct race_hold *mine)
{
	r->note[0] = !pf_file_add_seals(r->file, PINFOLD_SEAL_WRITE);
	race_done(mine);
}

static void map(struct race *r, struct race_hold *mine)
{
	pf_addr_t place;

	r->note[1] = !pf_mmap_file(r->mm, race_at(0), race_bytes(1), RACE_RW,
				   PINFOLD_MAP_SHARED | PINFOLD_MAP_FIXED,
				   r->file, 0, &place);
	if (r->note[1])
		r->note[2] = race_touch_in(r, mine, r->mm, 0, 7);
	race_done(mine);
}

static void check(struct race *r)
{
	race_check(r->note[0] + r->note[1] <= 1);
	race_check(r->note[2] == r->note[1]);
}

SCENARIO(file_seal_vs_map,
	.claim = "a file is sealed against writing, or an area may write to it",
	.setup = setup,
	.threads = { { "seal", seal }, { "mmap", map } },
	.check = check)
