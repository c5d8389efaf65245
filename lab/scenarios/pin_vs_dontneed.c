/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

/* The table is emptied in one hold of its lock, and looked at in one. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	if (race_peek(h, 0))
		race_check(race_values(h, 100, 1) && !race_load(r, 0));
	else
		race_check(race_values(h, 0, 0) && race_all_same(r, h, 0));
}

SCENARIO(pin_vs_dontneed,
	.claim = "a pin is all of the discarded pages, or all of the new ones",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
