/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void pin(struct race *r, struct race_hold *mine)
{
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOWAIT);
}

static void discard(struct race *r, struct race_hold *mine)
{
	race_discard(r, mine, 0, 4);
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4);
	race_check(race_values(h, 100, 1) ||
		   (race_values(h, 0, 0) && race_all_same(r, h, 0)));
}

SCENARIO(nowait_vs_dontneed,
	.claim = "faults that need not wait happen with NOWAIT, too",
	.setup = race_setup_pages,
	.threads = { { "pin", pin }, { "dontneed", discard } },
	.check = check)
