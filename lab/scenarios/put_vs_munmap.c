/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_get(r, &r->hold[0], 0, 4, 0);
}

static void put(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_check(race_load(r, 0) == (u64)-1);
	race_map(r, 0, 4, RACE_RW);
	race_check(race_load(r, 3) == 0);
}

SCENARIO(put_vs_munmap,
	.claim = "the last of reference and mapping frees the page, once",
	.setup = setup,
	.threads = { { "put", put }, { "munmap", unmap } },
	.check = check)
