/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_SPLIT_PMD);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	if (race_peek(h, 0))
		race_check(race_values(h, 101, 1) && !race_load(r, 1));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 1));
}

SCENARIO(split_pin_vs_dontneed,
	.claim = "a leaf that is split while it goes gives old pages or new",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
