/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 1, PINFOLD_FOLL_WRITE);
}

static void discard_and_write(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 1);
	race_write(r, mine, 0, 0, 7);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 1);
	race_check(race_peek(h, 0) == 100 || race_peek(h, 0) == 7);
	race_check(race_load(r, 0) == 7);
	race_check(race_same(r, h, 0, 0) == (race_peek(h, 0) == 7));
}

SCENARIO(fast_pin_vs_dontneed_touch,
	.claim = "a fast pin sees a later store unless its page was discarded",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "write", discard_and_write } },
	.check = check)
