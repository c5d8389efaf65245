/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_pin(r, &r->hold[0], 0, 2, PINFOLD_FOLL_WRITE);
	race_pin(r, &r->hold[1], 0, 2, PINFOLD_FOLL_WRITE);
	race_munmap(r, &r->hold[0], 0, 4);
}

static void unpin(struct race *r __maybe_unused,
		 struct race_hold *mine)
{
	race_put(mine);
}

static void check(struct race *r)
{
	race_map(r, 0, 2, RACE_RW);
	race_check(race_load(r, 0) == 0 && race_load(r, 1) == 0);
}

SCENARIO(unpin_vs_unpin,
	.claim = "of two last pins one frees the page",
	.setup = setup,
	.threads = { { "one", unpin }, { "two", unpin } },
	.check = check)
