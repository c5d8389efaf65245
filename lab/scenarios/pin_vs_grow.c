/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_map(r, 0, 2, RACE_RW);
	race_store(r, 0, 2, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void grow(struct race *r, struct race_hold *mine)
{
	race_resize(r, mine, 0, 2, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 || h->nr == 4);
	race_check(race_peek(h, 1) == 101);
	race_check(h->nr == 2 || race_peek(h, 2) == 0);
	race_check(race_all_same(r, h, 0));
	race_check(race_load(r, 3) == 0);
}

SCENARIO(pin_vs_grow,
	.claim = "a pin ends where the area ended, before or after it grew",
	.setup = setup,
	.threads = { { "pin", pin }, { "mremap", grow } },
	.check = check)
