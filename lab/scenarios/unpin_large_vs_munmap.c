/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 4, PINFOLD_FOLL_WRITE);
	race_pin(r, &r->hold[1], 2, 2, PINFOLD_FOLL_WRITE);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void unpin_dirty(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put_dirty(mine);
}

static void unmap(struct race *r, struct race_hold *mine)
{
	race_munmap(r, mine, 0, 4);
}

static void check(struct race *r)
{
	race_setup_pages(r);
	race_check(race_load(r, 2) == 102);
}

SCENARIO(unpin_large_vs_munmap,
	.claim = "a large folio goes with the last of its pins and mappings",
	.machine = { .thp_always = 1ul << 2 },
	.setup = setup,
	.threads = { { "unpin", unpin }, { "dirty", unpin_dirty },
			 { "munmap", unmap } },
	.check = check)
