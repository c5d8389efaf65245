/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	if (race_peek(h, 0))
		race_check(race_values(h, 100, 1) && !race_load(r, 0));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 0));
}

SCENARIO(fast_pin_huge_vs_dontneed,
	.claim = "a leaf that goes is found by a fast pin whole, or not",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
