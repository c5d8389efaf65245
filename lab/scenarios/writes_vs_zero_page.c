/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_check(race_load(r, 0) == 0);
}

static void one(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 0, 1);
}

static void two(struct race *r, struct race_hold *mine)
{
	race_write(r, mine, 0, 1, 2);
}

static void check(struct race *r)
{
	u64 words[2];

	race_check(pf_read(r->mm, race_at(0), words, 16) == 16);
	race_check(words[0] == 1 && words[1] == 2);
	race_map(r, 8, 1, RACE_RW);
	race_check(race_load(r, 8) == 0);
}

SCENARIO(writes_vs_zero_page,
	.claim = "two that replace the zero page store to one copy",
	.setup = setup,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
