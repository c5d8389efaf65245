/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 1, 2);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	const bool fresh = h->nr == 4 && !race_peek(h, 1);

	race_check(h->nr == 4);
	race_check(race_peek(h, 0) == 100 && race_peek(h, 3) == 103);
	race_check(race_peek(h, 1) == (fresh ? 0 : 101));
	race_check(race_same(r, h, 0, 0) && race_same(r, h, 3, 3));
	race_check(race_same(r, h, 1, 1) == fresh);
	race_check(race_same(r, h, 2, 2) == fresh);
}

SCENARIO(pin_large_vs_dontneed_part,
	.claim = "a hole in a large folio ends the run before it",
	.machine = { .thp_always = 1ul << 2 },
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
