/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	race_check(h[0].nr == 2 && h[1].nr == 2);
	for (long i = 0; i < 2; i++)
		race_check(h[0].pages[i] == h[1].pages[i]);
	race_check(race_all_same(r, &h[0], 0));
}

SCENARIO(first_touch_pins,
	.claim = "two that pin an untouched page pin the same one",
	.setup = race_setup_empty,
	.threads = { { "one", pin }, { "two", pin } },
	.check = check)
