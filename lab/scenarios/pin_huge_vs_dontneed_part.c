/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 1, 3, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 2, 1);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 3);
	race_check(race_peek(h, 0) == 101 && race_peek(h, 2) == 103);
	race_check(race_same(r, h, 0, 1) && race_same(r, h, 2, 3));
	if (race_peek(h, 1))
		race_check(race_peek(h, 1) == 102 && !race_load(r, 2));
	else
		race_check(race_same(r, h, 1, 2));
}

SCENARIO(pin_huge_vs_dontneed_part,
	.claim = "a split to discard one page leaves the others as pinned",
	.machine = { RACE_THP },
	.setup = race_setup_huge,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
