/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_pages(r);
	race_map(r, 16, 4, RACE_RW);
	race_store(r, 16, 4, 200);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 16, 4, PINFOLD_FOLL_WRITE);
}

static void move(struct race *r, struct race_hold *mine)
{
	race_move(r, mine, 0, 4, 16);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	if (race_peek(h, 0) == 100)
		race_check(race_all_same(r, h, 16));
	else
		race_check(race_values(h, 216, 1) && !race_same(r, h, 0, 16));
	race_check(race_load(r, 19) == 103);
}

SCENARIO(pin_vs_move_over,
	.claim = "what a move covers is pinned before it, or is what moved",
	.setup = setup,
	.threads = { { "pin", pin }, { "mremap", move } },
	.check = check)
