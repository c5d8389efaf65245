/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOFAULT);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 2, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 2);
	race_check(race_values(h, 100, 1));
	race_check(race_same(r, h, 1, 1));
	race_check(race_load(r, 2) == 0);
}

SCENARIO(nofault_vs_dontneed,
	.claim = "without faults a pin ends before what was discarded",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
