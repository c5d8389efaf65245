/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void populate(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 0, 4, true));
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 0 || race_load(r, i) == 100 + i);
	race_store(r, 0, 4, 200);
	race_check(race_load(r, 3) == 203);
}

SCENARIO(populate_vs_dontneed,
	.claim = "populating ends, though the pages go again",
	.setup = race_setup_pages,
	.threads = { { "populate", populate }, { "dontneed", discard } },
	.check = check)
