/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_huge(r);
	race_pin(r, &r->hold[0], 0, 2, 0);
	race_pin(r, &r->hold[1], 1, 2, 0);
}

static void unpin(struct race *r __maybe_unused, struct race_hold *mine)
{
	race_put(mine);
}

SCENARIO(unpin_huge_vs_unpin,
	.claim = "a huge page that two let go of is pinned no more",
	.machine = { RACE_THP },
	.setup = setup,
	.threads = { { "one", unpin }, { "two", unpin } })
