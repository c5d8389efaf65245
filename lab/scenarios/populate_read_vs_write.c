/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void read(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 0, 2, false));
}

static void write(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 0, 2, true));
}

/* Made resident for writing: without a fault it can be pinned. */
static void check(struct race *r)
{
	race_pin(r, &r->hold[0], 0, 2,
		 PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOFAULT);
	race_check(r->hold[0].nr == 2);
	race_check(race_all_same(r, &r->hold[0], 0));
}

SCENARIO(populate_read_vs_write,
	.claim = "who populates for writing gets pages, zero page or not",
	.setup = race_setup_empty,
	.threads = { { "read", read }, { "write", write } },
	.check = check)
