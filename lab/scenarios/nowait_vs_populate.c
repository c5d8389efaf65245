/* SPDX-License-Identifier: MIT */
#include "lab/scenario.h"

static void setup(struct race *r)
{
	race_setup_empty(r);
	race_store(r, 0, 2, 100);
	race_drain(r);
}

static void pin(struct race *r, struct race_hold *mine)
{
	race_next_fault(RACE_FAULT_RETRY);
	race_pin(r, mine, 0, 4, PINFOLD_FOLL_WRITE | PINFOLD_FOLL_NOWAIT);
}

static void populate(struct race *r, struct race_hold *mine)
{
	race_check(!race_populate(r, mine, 2, 2, true));
}

static void check(struct race *r)
{
	const struct race_hold *h = &r->hold[0];

	race_check(h->nr == 4 || h->nr == 3 || h->nr == 2);
	race_check(race_all_same(r, h, 0));
}

SCENARIO(nowait_vs_populate,
	.claim = "with NOWAIT a pin ends at a fault that would wait",
	.setup = setup,
	.threads = { { "pin", pin }, { "populate", populate } },
	.check = check)
