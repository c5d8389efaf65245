/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 2, PINFOLD_FOLL_LONGTERM);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 2);
	if (race_peek(h, 0))
		race_check(race_values(h, 100, 1) && !race_load(r, 0));
	else
		race_check(race_all_same(r, h, 0));
}

SCENARIO(longterm_read_vs_dontneed,
	.claim = "a longterm pin for reading is never the zero page",
	.reference = "case_A6",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
