/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 1, PINFOLD_FOLL_WRITE);
}

static void check(struct race *r)
{
	const struct race_hold *h = r->hold;

	for (long t = 0; t < 3; t++)
		race_check(h[t].nr == 1 && h[t].pages[0] == h[0].pages[0]);
	race_check(race_same(r, &h[2], 0, 0));
}

SCENARIO(first_touch_three,
	.claim = "three that pin an untouched page pin the same one",
	.setup = race_setup_empty,
	.threads = { { "one", pin }, { "two", pin }, { "three", pin } },
	.check = check)
