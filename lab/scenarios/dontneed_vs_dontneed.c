/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void discard_and_read(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
	race_check(race_load(r, 1) == 0);
}

static void check(struct race *r)
{
	for (unsigned long i = 0; i < 4; i++)
		race_check(race_load(r, i) == 0);
}

SCENARIO(dontneed_vs_dontneed,
	.claim = "two that discard one page drop it once",
	.setup = race_setup_pages,
	.threads = { { "one", discard }, { "two", discard_and_read } },
	.check = check)
