/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin_fast(r, mine, 0, 4, PINFOLD_FOLL_WRITE);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

/* Old pages as far as the walk came, new ones behind them. */
static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];
	long old = 0;

	race_check(h->nr == 4);
	while (old < 4 && race_peek(h, old) == (u64)(100 + old))
		old++;
	for (long i = 0; i < 4; i++)
		race_check(race_same(r, h, i, i) == (i >= old));
	for (long i = old; i < 4; i++)
		race_check(race_peek(h, i) == 0);
}

SCENARIO(fast_pin_vs_dontneed,
	.claim = "a fast pin has no page that was discarded before",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
