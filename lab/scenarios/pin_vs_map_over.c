/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void map_over(struct race *r, struct race_hold *mine)
{
	race_map(r, 0, 4, RACE_RW);
	race_done(mine);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	race_check(race_values(h, 100, 1) ||
		   (race_values(h, 0, 0) && race_all_same(r, h, 0)));
	race_check(race_load(r, 0) == 0);
}

SCENARIO(pin_vs_map_over,
	.claim = "a pin is all of the old area, or all of the one over it",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "mmap", map_over } },
	.check = check)
