/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 2, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_SPLIT_PMD);
}

static void discard_and_write(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, RACE_HUGE);
	race_write(r, mine, 1, 0, 7);
}

/* The store may find the pieces, no leaf, or make a leaf of its own. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	race_check(race_peek(h, 0) == 101 || race_peek(h, 0) == 7);
	race_check(race_load(r, 1) == 7);
	race_check(race_all_same(r, h, 1) == (race_peek(h, 0) == 7));
}

SCENARIO(split_pin_vs_write,
	.claim = "a leaf that comes back while it is split loses no store",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "write", discard_and_write } },
	.check = check)
