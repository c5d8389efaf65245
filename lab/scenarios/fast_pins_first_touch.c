/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	race_check(h[0].pages[0] == h[1].pages[0]);
	race_check(h[0].pages[1] == h[1].pages[1]);
	race_check(race_all_same(r, &h[0], 0));
}

SCENARIO(fast_pins_first_touch,
	.claim = "two fast pins of an untouched page are of the same",
	.setup = race_setup_empty,
	.threads = { { "one", pin }, { "two", pin } },
	.check = check)
