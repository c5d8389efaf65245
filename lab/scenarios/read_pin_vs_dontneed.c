/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, 0);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_values(h, 100, 1) || race_values(h, 0, 0));
	race_check(race_load(r, 0) == 0);
	/* Nothing but the zero page is there to be read. */
	race_check(!race_same(r, h, 0, 0));
}

SCENARIO(read_pin_vs_dontneed,
	.claim = "a short pin for reading may be the zero page, which stays",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
