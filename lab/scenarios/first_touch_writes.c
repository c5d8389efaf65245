/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

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
}

SCENARIO(first_touch_writes,
	.claim = "of two first stores to a page none goes with the slower",
	.setup = race_setup_empty,
	.threads = { { "one", one }, { "two", two } },
	.check = check)
