/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void populate(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 0, 2, true));
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2 && race_values(h, 0, 0));
	race_check(race_all_same(r, h, 0));
}

SCENARIO(pin_vs_populate,
	.claim = "of two that touch a page first, both get the one that stays",
	.setup = race_setup_empty,
	.threads = { { "pin", pin }, { "populate", populate } },
	.check = check)
